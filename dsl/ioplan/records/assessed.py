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
    last = ((record, assessment(record)) for record in last_assessed(records))
    return [record for record, state in last if state and not state.reached]


def settled(records: Sequence[RunRecord]) -> list[RunRecord]:
    """The last assessed records that are steady on the drive only as it is."""
    last = ((record, record.steady) for record in last_assessed(records))
    return [run for run, state in last if state and state.reached and state.limits]


def without_value(records: Iterable[RunRecord]) -> list[RunRecord]:
    """The findings of seeks in which no value held."""
    seeks = ((record, record.found) for record in records)
    return [record for record, result in seeks if result and result.value is None]
