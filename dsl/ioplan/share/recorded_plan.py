"""The plan of a session as it was run: checked again, from the texts of its record."""

from __future__ import annotations

from ioplan.language.check.check import check_recorded
from ioplan.language.errors.diagnostic import PlanError
from ioplan.language.plan import FULL, CheckedPlan
from ioplan.language.syntax.source import Source
from ioplan.planner.estimate import with_repetitions
from ioplan.planner.steps import Run
from ioplan.planner.unfold import unfold
from ioplan.records.session import Session


def recorded_plan(session: Session) -> CheckedPlan | None:
    """All tests of the plan with the values of the record; None if it is no plan.

    A store or a bundle that was passed on may say anything.
    """
    args, source = session.args, Source(session.plan_file, session.plan_text)
    try:
        settings = {k: v for k, v in args.get("set", {}).items() if v}
        scale = float(args.get("scale_time", 1.0))
        profile = args.get("profile", FULL)
        files = {str(k): str(v) for k, v in args.get("files", {}).items()}
        return check_recorded(source, files, settings, scale, profile)
    except (PlanError, AttributeError, TypeError, ValueError):
        return None


def run_ids(session: Session) -> tuple[str, ...] | None:
    """The ids of all runs of the plan, in their order; None if it is no plan."""
    plan = recorded_plan(session)
    if plan is None:
        return None
    steps = (step for step, _ in with_repetitions(unfold(plan)))
    return tuple(step.run_id for step in steps if isinstance(step, Run))
