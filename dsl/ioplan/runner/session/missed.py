"""What a plan asks for beside its expectations: steady states, and values of seeks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ioplan.language.lints.lints import FRESH
from ioplan.language.plan import CheckedPlan
from ioplan.records.assessed import unsteady, without_value
from ioplan.records.current import current_records
from ioplan.records.record import RunRecord


class Missed(NamedTuple):
    """A record that did not reach it; it `counts` unless the plan goes on."""

    record: RunRecord
    is_unsteady: bool
    counts: bool


def missed(plan: CheckedPlan, records: Iterable[RunRecord]) -> list[Missed]:
    """Each that counts of a session; tests that the plan no longer has are out."""
    titles = {test.title for test in plan.tests}
    current = [r for r in current_records(list(records)) if r.asked.test in titles]
    without_value_counts = plan.on_nothing_found == "fail"
    return [
        *(Missed(one, True, _counts(plan, one)) for one in unsteady(current)),
        *(Missed(one, False, without_value_counts) for one in without_value(current)),
    ]


def _counts(plan: CheckedPlan, record: RunRecord) -> bool:
    """Whether an unsteady state is a failure: values that settle on a fresh drive are
    none where the plan accepts that state."""
    settled = bool(record.steady and record.steady.settled)
    return plan.on_unsteady == "fail" and not (settled and FRESH in plan.accepted)
