"""The entry point of `ioplan.lab`: what the core's commands leave to the lab."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path

from ioplan.backends import TargetFacts
from ioplan.cli import Choice, LabPlugin, Lane, RunCall
from ioplan.planner import PlanSummary
from ioplan.records import RunRequest, Session
from ioplan.runner import Lab, SessionObserver
from ioplan_lab.host.clock import read_clock
from ioplan_lab.host.folder import JobFolder
from ioplan_lab.host.observer import JobObserver


class Plugin:
    """Drives of hosts, by what they are; drive jobs, each a session."""

    def run_on(self, call: RunCall, on: str, detach: bool) -> int:
        from ioplan_lab.people.submit import run_on  # noqa: PLC0415  drive jobs need none of it

        return run_on(call, on, detach)

    def run_on_targets(self, call: RunCall, detach: bool) -> int:
        from ioplan_lab.here.run_here import run_here  # noqa: PLC0415  as above

        return run_here(call, detach)

    def backend_on_hosts(
        self, plan: PlanSummary, asked: RunRequest, session: str
    ) -> Choice:
        from ioplan_lab.together.backend import backend_on_hosts  # noqa: PLC0415  rare

        return backend_on_hosts(plan, asked, session)

    def lane(self, folder: Path) -> Lane:
        return _lane(folder)

    @contextmanager
    def told_of(
        self, session: Session, facts: TargetFacts, lab: Lab, store: Path
    ) -> Iterator[SessionObserver]:
        from ioplan_lab.host.plain_run import told_of  # noqa: PLC0415  not of drive jobs

        with told_of(session, lab) as observer:
            yield observer

    def has_job(self, store: Path, id: str) -> bool:
        from ioplan_lab.commands import is_job  # noqa: PLC0415

        return is_job(store, id)

    def resume_job(self, store: Path, id: str, quiet: bool, detach: bool) -> int:
        from ioplan_lab.commands import resume_job  # noqa: PLC0415

        return resume_job(store, id, quiet, detach)


@cache
def _lane(path: Path) -> Lane:
    """A process is one drive job and asks several times."""
    call = JobFolder(path).call()
    clock = partial(read_clock, path.parents[1])
    return Lane(call.session, call.job, JobObserver(path), clock)


LAB: LabPlugin = Plugin()
