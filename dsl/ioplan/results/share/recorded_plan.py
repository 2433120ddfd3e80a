"""The plan of a session as it was run: checked again, from the texts of its record."""

from __future__ import annotations

from collections.abc import Iterable

from ioplan.language.checker.check import check_recorded
from ioplan.language.errors.diagnostic import PlanError
from ioplan.language.plan import CheckedPlan
from ioplan.language.syntax.source import Source
from ioplan.planner.estimate import with_repetitions
from ioplan.planner.steps import Run
from ioplan.planner.unfolding import unfold
from ioplan.records.session import Session


def recorded_plan(session: Session) -> CheckedPlan | None:
    """All tests of the plan with the values of the record; None if it is no plan.

    A store or a bundle that was passed on may say anything.
    """
    source = Source(session.plan_file, session.plan_text)
    request, resolved = session.request, session.resolved
    settings = {name: text for name, text in resolved.parameters.items() if text}
    try:
        return check_recorded(
            source, resolved.files, settings, request.scale_time, request.profile
        )
    except (PlanError, ValueError):
        return None


def recorded_plans(sessions: Iterable[Session]) -> dict[str, CheckedPlan | None]:
    """The plan of each session; what many drives ran is checked once."""
    plans: dict[tuple[str, str], CheckedPlan | None] = {}
    by_session = {}
    for session in sessions:
        key = (session.plan_file, checked_with(session))
        if key not in plans:
            plans[key] = recorded_plan(session)
        by_session[session.id] = plans[key]
    return by_session


def run_ids(session: Session) -> tuple[str, ...] | None:
    """The ids of all runs of the plan, in their order; None if it is no plan."""
    plan = recorded_plan(session)
    if plan is None:
        return None
    steps = (step for step, _ in with_repetitions(unfold(plan)))
    return tuple(step.run_id for step in steps if isinstance(step, Run))


def checked_with(session: Session) -> str:
    """All that its plan was checked with: equal for sessions of one plan and values."""
    request, resolved = session.request, session.resolved
    values = (request.scale_time, request.profile, request.tests)
    return str((*values, session.plan_text, resolved.parameters, resolved.files))
