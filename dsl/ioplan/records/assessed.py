"""Whether what a plan asks for was reached: steady states, and values of seeks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ioplan.records.record import RunRecord


def last_assessed(records: Iterable[RunRecord]) -> list[RunRecord]:
    """The record with the last assessment of each test and preparation."""
    last = {
        (r.session, r.asked.test, r.asked.kind, r.asked.after and r.asked.after.name): r
        for r in records
        if r.steady
    }
    return list(last.values())


def unsteady(records: Sequence[RunRecord]) -> list[RunRecord]:
    """Those of them that did not become steady."""
    last = last_assessed(records)
    found = [one for one in last if one.steady and not one.steady.reached]
    return found + undecided(records)


def undecided(records: Sequence[RunRecord]) -> list[RunRecord]:
    """The last of each cell whose mean was open after the rounds of a test that tracks
    no cell."""
    tracked = {(r.session, r.asked.test) for r in records if r.steady and r.asked.round}
    last = {
        (r.session, r.asked.test, r.asked.step, *r.asked.cell.items()): r
        for r in records
        if r.decided and (r.session, r.asked.test) not in tracked
    }
    return [one for one in last.values() if one.decided and not one.decided.reached]


def without_value(records: Iterable[RunRecord]) -> list[RunRecord]:
    """The findings of seeks in which no value held."""
    return [one for one in records if one.found and one.found.value is None]
