"""A clause that nobody knows is refused or reported, and never dropped."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import ioplan

from ioplan import PlanError
from ioplan.language.clause_table import HEAD_SLOTS, SLOTS
from ioplan_importer.outline import (
    Length,
    PlanOutline,
    StreamOutline,
    TestOutline,
    spec,
)
from ioplan_importer.writer import plan_text

KNOWN = {"pattern": "random", "size": "4KiB", "mix": "100/0", "qd": "qd 4"}


def written(clauses: dict[str, str]) -> str:
    streams = (StreamOutline("a", clauses),)
    test = TestOutline("t", streams, Length("for 2s"))
    return plan_text(PlanOutline("p", (test,)), "p.ioplan")


def test_a_clause_that_the_language_lacks_is_refused_in_what_is_written() -> None:
    assert "random 4KiB 100/0, qd 4" in written(KNOWN)
    with pytest.raises(PlanError, match="unknown clause 'prio'"):
        written({**KNOWN, "prio": "prio 3"})


def test_a_clause_without_a_place_in_the_order_is_written() -> None:
    assert "qd 4, on hosts alpha" in written({"hosts": "on hosts alpha", **KNOWN})


def test_clauses_are_in_the_order_of_the_language() -> None:
    """Whatever the order in which they were found; a base and a head come first."""
    head = ["base", *(slot for slot in SLOTS if slot in HEAD_SLOTS)]
    rest = [slot for slot in SLOTS if slot not in head]
    found = spec({slot: f"<{slot}>" for slot in (*reversed(rest), *reversed(head))})
    assert found == ", ".join(
        [" ".join(f"<{one}>" for one in head), *(f"<{one}>" for one in rest)]
    )
    both = {"qd": "qd 4", "read sizes": "<r>", "write sizes": "<w>", "pattern": "<p>"}
    assert spec(both) == "<p> <r> <w>, qd 4"


def test_an_option_without_a_clause_is_reported_in_what_is_read(tmp_path: Path) -> None:
    job = tmp_path / "a.fio"
    job.write_text("[a]\nrw=randread\ndirect=1\nbs=4k\nruntime=2\ninvented=3\n")
    done = ioplan("import", str(job))
    assert done.code == 1
    assert "invented" in done.err and "a.fio:6:1" in done.err
