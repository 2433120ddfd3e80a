"""The records that count, where `resume` repeated something."""

from __future__ import annotations

from collections.abc import Sequence

from ioplan.core.grouping import grouped
from ioplan.records.record import RunRecord


def current_records(records: Sequence[RunRecord]) -> list[RunRecord]:
    """One for each place in the plan, in their order, and all preparations.

    Of the run that was last asked for there it is the last finished record, or else
    the last. What an edited plan no longer has does not count.
    """
    by_slot = grouped((r for r in records if not r.asked.removed), key=_slot)
    last = {id(_last(repeated)) for repeated in by_slot.values()}
    return [record for record in records if id(record) in last]


def _slot(record: RunRecord) -> tuple[object, ...]:
    """The step, round, repeat and cell of a session that a run is of."""
    asked = record.asked
    if asked.kind != "run":
        return record.session, record.seq
    turn = asked.step, asked.round, asked.iteration
    return record.session, asked.test, *turn, *sorted(asked.cell.items())


def _last(records: list[RunRecord]) -> RunRecord:
    asked_last = [r for r in records if r.run_id == records[-1].run_id]
    return max(reversed(asked_last), key=lambda record: record.status == "ok")
