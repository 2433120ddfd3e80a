"""Whether what a plan asks for was reached: steady states, and values of seeks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ioplan.records.record import Decided, RunRecord, Steady

MAX_STEAL_PERCENT = 20.0
"""Above it a hypervisor took so much of the CPU that no figure of the run holds."""


def last_assessed(records: Sequence[RunRecord]) -> list[RunRecord]:
    """The record with the last assessment of each test and preparation; of rounds that
    track no cell, that of each cell."""
    last = {
        (r.session, r.asked.test, r.asked.kind, r.asked.after and r.asked.after.name): r
        for r in records
        if r.steady
    }
    tracked = {(r.session, r.asked.test) for r in last.values() if r.asked.round}
    cells = {
        (r.session, r.asked.test, r.asked.step, *r.asked.cell.items()): r
        for r in records
        if r.decided and (r.session, r.asked.test) not in tracked
    }
    return [*last.values(), *cells.values()]


def assessment(record: RunRecord) -> Steady | Decided | None:
    """What was said of the tracked cell, else of the cell itself."""
    return record.steady or record.decided


def unsteady(records: Sequence[RunRecord]) -> list[RunRecord]:
    """The last assessed records that did not become steady."""
    found = ((one, assessment(one)) for one in last_assessed(records))
    return [one for one, said in found if said and not said.reached]


def settled(records: Sequence[RunRecord]) -> list[RunRecord]:
    """The last assessed records that are steady on the drive only as it is."""
    steady = [one for one in last_assessed(records) if one.steady]
    return [r for r in steady if r.steady and r.steady.reached and r.steady.limits]


def without_value(records: Iterable[RunRecord]) -> list[RunRecord]:
    """The findings of seeks in which no value held."""
    return [one for one in records if one.found and one.found.value is None]
