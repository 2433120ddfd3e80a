"""The entry point of `ioplan.lab`: what the core's commands leave to the lab."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path

from ioplan.cli import LabPlugin, Lane, RunCall, Terminal
from ioplan.runner import Finding
from ioplan_lab.cluster.jobs.clock_file import read_clock
from ioplan_lab.cluster.jobs.job import Jobs
from ioplan_lab.cluster.jobs.lane_folder import LaneFolder
from ioplan_lab.cluster.jobs.plain_run import LaneObserver, told_of
from ioplan_lab.cluster.keys.finding import keys_finding
from ioplan_lab.commands.desk.chosen import chosen_targets
from ioplan_lab.commands.jobs.delivery import push_job
from ioplan_lab.commands.jobs.follow import resume_job
from ioplan_lab.commands.jobs.start import run_fleet
from ioplan_lab.commands.run_on_hosts import backend_on_hosts


class Plugin:
    """Several targets and hosts: lanes, jobs and keys."""

    backend_on_hosts = staticmethod(backend_on_hosts)
    told_of = staticmethod(told_of)

    def run_on_targets(self, call: RunCall, detach: bool, skip_missing: bool) -> int:
        console = Terminal(quiet=call.quiet)
        return run_fleet(console, call, detach, skip_missing)

    def targets_on(
        self, on: str, targets: Sequence[str], lab: Path | None
    ) -> list[str]:
        return chosen_targets(on, targets, lab)

    def lane(self, folder: Path) -> Lane:
        return _lane(folder)

    def has_job(self, store: Path, id: str) -> bool:
        return Jobs(store).has(id)

    def resume_job(self, store: Path, id: str, quiet: bool, detach: bool) -> int:
        return resume_job(Terminal(quiet=quiet), store, id, detach)

    def push_job(self, store: Path, id: str, place: str | None) -> int:
        console, jobs = Terminal(highlight=False), Jobs(store)
        return push_job(console, jobs, jobs.job(id), place)

    def findings(self) -> Iterator[Finding]:
        if found := keys_finding():
            yield found


@cache
def _lane(folder: Path) -> Lane:
    """A process is one lane and asks several times."""
    call = LaneFolder(folder).call()
    clock = partial(read_clock, folder.parents[1])
    return Lane(call.session, call.job, LaneObserver(folder), clock)


LAB: LabPlugin = Plugin()
