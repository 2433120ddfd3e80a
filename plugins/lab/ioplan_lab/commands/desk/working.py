"""The desk at work: it starts what waits, and follows it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from ioplan.cli.display.output import print_line
from ioplan.results.store.store import Store
from ioplan.runner.lab.lab_file import default_path as default_lab
from ioplan.runner.lab.lab_file import read_lab
from ioplan_lab.commands.desk.host_drives import HostDrives
from ioplan_lab.commands.jobs.executor import connect
from ioplan_lab.desk.database import DeskDatabase, desk_folder
from ioplan_lab.desk.hooks.deliver import Deliverer
from ioplan_lab.desk.hooks.hooks import Hooks, announce
from ioplan_lab.desk.queue.health_checks import HealthChecks
from ioplan_lab.desk.queue.queue import Queue
from ioplan_lab.desk.queue.runner import Runner, alone, desk_name
from ioplan_lab.desk.queue.start import JobStarter
from ioplan_lab.desk.schedules.schedule import Schedules
from ioplan_lab.desk.work import Turn, at_work
from ioplan_lab.programs import PROGRAMS


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
