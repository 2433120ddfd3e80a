"""Plans from their text, for tests of what comes after the checker."""

from __future__ import annotations

from ioplan.language.check.check import check
from ioplan.language.plan import CheckedPlan
from ioplan.language.syntax.source import Source


def checked(text: str, scale: float = 1.0, **settings: str) -> CheckedPlan:
    """The checked plan. Raises PlanError."""
    return check(Source("plan.ioplan", text), settings=settings, time_scale=scale)
