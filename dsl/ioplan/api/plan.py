"""A checked plan."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from ioplan.cli.inputs import checked_text, plan_path
from ioplan.cli.run_options import requested_plan
from ioplan.cli.sessions.selection import only_tests
from ioplan.language.lints.warnings import warnings_of
from ioplan.language.plan import CheckedPlan
from ioplan.language.syntax.source import Source
from ioplan.records.run_request import RunRequest

UNNAMED = Path("plan.ioplan")
"""What a plan without a file is called; files that it uses are found beside it."""


class Plan(Struct, frozen=True):
    """A plan without errors; `checked` has all of it.

    `origin` is the plan's file, or the plan itself.
    """

    origin: Path | str
    checked: CheckedPlan

    @property
    def title(self) -> str:
        """The plan's own title, else its file's name."""
        return self.checked.title

    @property
    def text(self) -> str:
        """The plan as it is written."""
        return self.checked.text

    @property
    def tests(self) -> tuple[str, ...]:
        """The titles of the tests, in order."""
        return tuple(test.title for test in self.checked.tests)

    @property
    def params(self) -> Mapping[str, str]:
        """The params that are in use, with their values."""
        return self.checked.parameters

    @property
    def warnings(self) -> tuple[str, ...]:
        """What `ioplan check` warns of, each with its place in the plan."""
        return tuple(one.render() for one in warnings_of(self.checked))

    @property
    def file(self) -> Path:
        """The plan's file; of a text, a name."""
        return self.origin if isinstance(self.origin, Path) else UNNAMED


def origin_of(plan: str | Path) -> Path | str:
    """A file or the name of a suite, unless it has lines or blocks as a plan has."""
    if isinstance(plan, Path) or not ("\n" in plan or "{" in plan):
        return plan_path(Path(plan))
    return plan


def checked(origin: Path | str, request: RunRequest) -> Plan:
    """The plan with what is asked of it. Raises PlanError, UsageError."""
    if isinstance(origin, Path):
        return Plan(origin, requested_plan(origin, request))
    asked: dict[str, Any] = {"profile": request.profile, "lab": request.lab}
    asked |= {"settings": request.settings, "time_scale": request.scale_time}
    asked |= {"library": False}
    found = checked_text(Source(str(UNNAMED), origin), UNNAMED, **asked)
    return Plan(origin, only_tests(found, request.tests))
