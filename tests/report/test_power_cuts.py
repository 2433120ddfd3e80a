"""What a report says of power cuts: the bound stands where the zero stands."""

from __future__ import annotations

from typing import Any

import pytest
from run_data import record

from ioplan.records import RunRecord
from ioplan.records.record import PowerCutMade
from ioplan.results.measure.zero_losses import BROKEN, bound
from ioplan.results.report.documents import Judged
from ioplan.results.report.power_cuts import survived


def cut(seq: int) -> RunRecord:
    made = PowerCutMade(at_s=1.0, off_s=2.0)
    return record(seq).model_copy(update={"power_cut": made})


def read(seq: int, **found: int) -> RunRecord:
    one = record(seq)
    promised = {"promised_by_flush": 5}
    facts: dict[str, Any] = {"verify": dict.fromkeys(BROKEN, 0) | promised | found}
    backend = one.backend.model_copy(update={"facts": facts})
    return one.model_copy(update={"backend": backend})


@pytest.mark.long_but_first
@pytest.mark.parametrize(
    ("cuts", "text"),
    [(1, "95 %"), (10, "26 %"), (59, "5.0 %"), (100, "3.0 %"), (1000, "0.30 %")],
)
@pytest.mark.promise("durability.bound")
def test_zero_losses_are_a_bound(cuts: int, text: str) -> None:
    """As docs/durability.md has them; 59 is the well-known least number for 5 %."""
    runs = [one for n in range(cuts) for one in (cut(2 * n + 1), read(2 * n + 2))]
    (line,) = survived({"a": runs})
    assert line.outcome == "held" and f"at most {text} of such cuts" in line.text
    assert pytest.approx(1 - (1 - bound(cuts)) ** cuts) == 0.95


@pytest.mark.parametrize("name", BROKEN)
def test_a_loss_is_counted_by_its_cut(name: str) -> None:
    runs = [cut(1), read(2, **{name: 3}), read(3, **{name: 3}), cut(4), read(5)]
    expected = Judged("failed", "a promise was broken by 1 of 2 power cuts")
    assert list(survived({"a": runs})) == [expected]


def test_how_a_promise_was_broken_is_said() -> None:
    torn = {"torn_writes": 2, "torn_unit_bytes": 8192}
    more = {"torn_writes": 1, "torn_unit_bytes": 12288}
    runs = [
        cut(1),
        read(2, **torn),
        cut(3),
        read(4, lost_flushed=9, reordered=1, overtaken=1, **more),
    ]
    (line,) = survived({"a": runs})
    assert line == Judged(
        "failed",
        "a promise was broken by 1 of 2 power cuts; durable blocks were lost though "
        "writes issued after them survived; entries of a log were lost though writes "
        "that follow it survived; 3 writes torn, at multiples of 4KiB",
    )


def test_a_cut_after_which_nothing_promised_was_read_says_nothing() -> None:
    """As where all is overwritten after it, or no flush ended before it."""
    nothing = {"promised_by_flush": 0, "rolled_back": 4}
    runs = [cut(1), read(2, **nothing), cut(3), read(4, **nothing)]
    text = "nothing that had been promised was read after 2 power cuts"
    assert list(survived({"a": runs})) == [Judged("undecided", text)]
    (line,) = survived({"a": [*runs, cut(5), read(6, promised_by_read=1)]})
    assert line.outcome == "held" and line.text.endswith(f"break one; {text}")
    assert line.text.startswith("no promise was broken by 1 power cut: with 95 %")


def test_what_was_not_read_says_nothing() -> None:
    assert list(survived({"a": [cut(1), record(2), read(3, rolled_back=4)]})) == [
        *survived({"a": [cut(1), read(2)]})
    ]
    assert list(survived({"a": [cut(1)], "b": [read(2, lost_fua=1)]})) == []
