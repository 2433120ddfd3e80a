"""What a report says of power cuts: the bound stands where the zero stands."""

from __future__ import annotations

from typing import Any

import pytest
from figures import changed, measurement, record
from report_charts import ID, composed
from sessions import put

from ioplan.records import PowerCutMade, RunRecord
from ioplan.results.store import Store

MADE = record(1, measurement(), cell={})
PROMISES = (
    *("lost_flushed", "lost_fua", "older_than_durable"),
    *("torn", "checksum", "misdirected", "foreign"),
)


def cut() -> RunRecord:
    return changed(MADE, power_cut=PowerCutMade(at_s=1.0, off_s=2.0))


def read(**found: int) -> RunRecord:
    known = dict.fromkeys(PROMISES, 0) | {"promised_by_flush": 5} | found
    facts: dict[str, Any] = {"verify": known}
    return changed(MADE, backend=MADE.backend.model_copy(update={"facts": facts}))


def judged(store: Store, *runs: RunRecord, id: str = ID) -> list[tuple[str, str]]:
    """The report's lines on a session of these runs."""
    made = [
        changed(one, seq=n, run_id=f"r{n}", step=n) for n, one in enumerate(runs, 1)
    ]
    found = composed(store, put(store, *made, id=id)).sections[0].remarks
    return [(one.outcome, one.text) for one in found if "power cut" in one.text]


@pytest.mark.parametrize(("cuts", "text"), [(1, "95 %"), (10, "26 %"), (59, "5.0 %")])
@pytest.mark.promise("durability.bound")
def test_zero_losses_are_a_bound(store: Store, cuts: int, text: str) -> None:
    """As docs/durability.md has them; 59 is the well-known least number for 5 %."""
    ((outcome, line),) = judged(store, *(cut(), read()) * cuts)
    assert outcome == "held" and f"at most {text} of such cuts" in line


@pytest.mark.parametrize("name", PROMISES)
def test_a_loss_is_counted_by_its_cut(store: Store, name: str) -> None:
    lost = read(**{name: 3})
    ((outcome, line),) = judged(store, cut(), lost, lost, cut(), read())
    assert outcome == "failed"
    assert line.startswith("a promise was broken by 1 of 2 power cuts")


def test_how_a_promise_was_broken_is_said(store: Store) -> None:
    torn = {"torn_writes": 2, "torn_unit_bytes": 8192}
    more = {"torn_writes": 1, "torn_unit_bytes": 12288}
    lost = read(lost_flushed=9, reordered=1, overtaken=1, **more)
    found = judged(store, cut(), read(**torn), cut(), lost)
    assert found == [
        (
            "failed",
            "a promise was broken by 1 of 2 power cuts; durable blocks were lost though "
            "writes issued after them survived; entries of a log were lost though writes "
            "that follow it survived; 3 writes torn, at multiples of 4KiB",
        )
    ]


def test_a_cut_after_which_nothing_promised_was_read_says_nothing(store: Store) -> None:
    """As where all is overwritten after it, or no flush ended before it."""
    nothing = read(promised_by_flush=0, rolled_back=4)
    runs = [cut(), nothing, cut(), nothing]
    text = "nothing that had been promised was read after 2 power cuts"
    assert judged(store, *runs) == [("undecided", text)]
    more = (cut(), read(promised_by_read=1))
    ((outcome, line),) = judged(store, *runs, *more, id="20261122-054512-aaaa")
    assert outcome == "held" and line.endswith(f"break one; {text}")
    assert line.startswith("no promise was broken by 1 power cut: with 95 %")


def test_what_was_not_read_says_nothing(store: Store) -> None:
    """Neither what was read before a cut."""
    assert judged(store, cut(), MADE, read(rolled_back=4)) == judged(
        store, cut(), read(), id="20261122-054512-aaaa"
    )
    assert judged(store, read(lost_fua=1), cut(), id="20261122-054512-bbbb") == []
