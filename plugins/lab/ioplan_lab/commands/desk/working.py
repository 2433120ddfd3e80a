"""The desk at work: it starts what waits, and follows it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from ioplan.cli import print_line
from ioplan.results.store import Store
from ioplan.runner import Lab, read_lab
from ioplan.runner import default_path as default_lab
from ioplan_lab.cluster.hosts.surveys import HERE, Surveys, surveys
from ioplan_lab.commands.desk.chosen import lanes_now
from ioplan_lab.commands.jobs.executor import connect
from ioplan_lab.desk.database import DeskDatabase, desk_folder, stamp
from ioplan_lab.desk.drives import health_of
from ioplan_lab.desk.hooks.deliver import Deliverer
from ioplan_lab.desk.hooks.hooks import Hooks, announce
from ioplan_lab.desk.queue.health_checks import Checked, HealthChecks, judge
from ioplan_lab.desk.queue.queue import Queue
from ioplan_lab.desk.queue.runner import JobStarter, Runner, alone, desk_name
from ioplan_lab.desk.schedules.schedule import Schedules
from ioplan_lab.desk.surveyed import keep_surveys
from ioplan_lab.desk.work import Turn, at_work
from ioplan_lab.programs import PROGRAMS

# The hosts of a lab report their drives, again and again, while a desk is at work.

RENEW_S = 600.0
LOOK_S = 60.0
"""A host on which something ran is looked at so soon after."""


class HostDrives:
    """Asks each host at first, and every ten minutes, while nothing runs on it: what
    is measured there is not disturbed."""

    def __init__(self, database: DeskDatabase, lab: Path | None) -> None:
        self.database, self.lab = database, lab
        self._asked_s: dict[str, float] = {}
        self._faults: dict[str, str] = {}
        self._next_s = 0.0

    def turn(self) -> None:
        """Ask those whose turn it is. Raises ClusterError where one does not answer,
        once for each reason, LabError, StoreError."""
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        self._next_s = now_s + LOOK_S
        lab = read_lab(self.lab)
        busy = {one.state.host for one in lanes_now(self.database)}
        due = [host for host in hosts_with_drives(lab) if self._is_due(host, now_s)]
        asked = [host for host in due if host not in busy]
        if not asked:
            return
        found, faults = surveys(lab, PROGRAMS, asked)
        keep_surveys(self.database, found)
        judge(self.database, dict(_checked(lab, found)))
        self._asked_s |= dict.fromkeys(asked, now_s)
        before, self._faults = self._faults, {n: str(one) for n, one in faults.items()}
        for name, fault in faults.items():
            if before.get(name) != str(fault):
                raise fault

    def _is_due(self, host: str, now_s: float) -> bool:
        asked_s = self._asked_s.get(host)
        return asked_s is None or now_s - asked_s >= RENEW_S


def _checked(lab: Lab, found: Surveys) -> Iterator[tuple[str, Checked]]:
    at = stamp()
    for host, rows in found.items():
        for one in rows:
            if one.name in lab.targets:
                yield one.name, Checked(health_of(one.smart), host, at)


def hosts_with_drives(lab: Lab) -> list[str]:
    """Those of which the lab names devices, and not only files or simulated ones."""
    found: dict[str, None] = {}
    for entry in lab.targets.values():
        if entry.path is None or entry.path.startswith("/dev/"):
            found |= dict.fromkeys(
                (entry.host,) if entry.host else entry.hosts or (HERE,)
            )
    return list(found)


@contextmanager
def runner_of(
    database: DeskDatabase, lab: Path | None, store: Path
) -> Iterator[Runner]:
    """The only runner of this desk's folder. Raises DeskError where one runs,
    LabError, StoreError."""
    folder = desk_folder()
    starter = JobStarter(PROGRAMS.cli, lab or default_lab(), store, folder, connect)
    queue = Queue(database, announce)
    with alone(folder), Store.at(read_lab(lab).results or store) as results:
        checks = HealthChecks(results, database, partial(read_lab, lab)).turn
        yield Runner(queue, starter, desk_name(folder), print_line, checks)


@contextmanager
def working(
    database: DeskDatabase, lab: Path | None, store: Path, *more: Turn
) -> Iterator[None]:
    """All that the desk does by itself, while the block runs, and `more`. Raises
    DeskError, LabError, StoreError."""
    schedules, hooks = Schedules(database), Hooks(database)
    turns = [schedules.turn, Deliverer(hooks).turn, HostDrives(database, lab).turn]
    with (
        runner_of(database, lab, store) as runner,
        at_work([runner.turn, *turns, *more], print_line),
    ):
        yield
