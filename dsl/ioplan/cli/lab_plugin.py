"""What the core's commands leave to the lab: the entry-point group `ioplan.lab`.

An entry point is an object with the functions of `LabPlugin`; the first that can be
loaded counts. It is read when a call may be for it: for a run on one target of this
host only where the lab has a database.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from ioplan.cli.errors import UsageError
from ioplan.cli.interface.plugins import loaded
from ioplan.records.host_clock import HostClock

if TYPE_CHECKING:
    from ioplan.backends.backend import TargetFacts
    from ioplan.cli.run_options import RunCall
    from ioplan.cli.targets.choose import Choice
    from ioplan.planner.summary import PlanSummary
    from ioplan.records.run_request import RunRequest
    from ioplan.records.session import Session
    from ioplan.runner.execute.observer import SessionObserver
    from ioplan.runner.lab.lab import Lab

GROUP = "ioplan.lab"


class Lane(Struct, frozen=True):
    """What a process that runs a plan for a job knows: its session and who watches."""

    session: str
    job: str
    observer: SessionObserver
    clock: Callable[[], HostClock | None]


class LabPlugin(Protocol):
    """Runs plans on several targets and hosts, and follows them."""

    def run_on_targets(self, call: RunCall, detach: bool) -> int:
        """Run a plan with a drive job for each target; returns the exit code."""

    def run_on(self, call: RunCall, on: str, detach: bool) -> int:
        """Run a plan on drives by what they are; returns the exit code."""

    def backend_on_hosts(
        self, plan: PlanSummary, asked: RunRequest, session: str
    ) -> Choice:
        """The hosts of a plan or of a shared target as one backend."""

    def lane(self, folder: Path) -> Lane:
        """The lane that this process is, by its folder."""

    def told_of(
        self, session: Session, facts: TargetFacts, lab: Lab, store: Path
    ) -> AbstractContextManager[SessionObserver]:
        """Who tells the lab's database of a plain run, for as long as it is entered.

        Raises OSError where what it tells cannot be kept.
        """

    def has_job(self, store: Path, id: str) -> bool:
        """Whether this is a job's id, not a session's."""

    def resume_job(self, store: Path, id: str, quiet: bool, detach: bool) -> int:
        """Go on with a job's drive jobs; returns the exit code."""


def lab_plugin() -> LabPlugin | None:
    """The plug-in, or None where none is installed."""
    return next((plugin for _, plugin in loaded(GROUP)), None)


def needed_lab_plugin() -> LabPlugin:
    """The plug-in. Raises UsageError where none is installed."""
    if plugin := lab_plugin():
        return plugin
    raise UsageError(
        "runs on several targets, on other hosts or in the background need the "
        "plug-in ioplan_lab, which is not installed; name one target of this host"
    )
