"""A desk: what its pages show and change."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from msgspec import Struct

from ioplan.results.store.store import Store
from ioplan.runner.lab.lab import Lab
from ioplan_lab.desk.calls import Calls
from ioplan_lab.desk.database import DeskDatabase
from ioplan_lab.desk.drives import capacities
from ioplan_lab.desk.inventory import Busy, Inventory, lanes_of
from ioplan_lab.desk.people.audit import Audit
from ioplan_lab.desk.people.oidc import Provider
from ioplan_lab.desk.people.people import People
from ioplan_lab.desk.queue.drives import Drives
from ioplan_lab.desk.queue.overview import DriveRow, drive_rows
from ioplan_lab.desk.queue.queue import Queue
from ioplan_lab.desk.reports import Reports
from ioplan_lab.desk.running import JobNow, Running
from ioplan_lab.desk.samples import Samples
from ioplan_lab.desk.start.starter import Starter
from ioplan_lab.desk.surveyed import sizes


class Desk(Struct, frozen=True):
    """Everything behind the pages.

    `store` is where results are read: the lab's, else this host's, and `place` is its
    path or address. `lab_file` is what
    plans are started with; None without one. `folder` is the desk's own.
    """

    store: Store
    place: str
    lab_file: Path | None
    folder: Path
    database: DeskDatabase
    running: Running
    calls: Calls
    names: tuple[str, ...] = ()
    """Names that browsers may call the desk by, beside addresses and localhost."""
    tls: bool = False
    oidc: Provider | None = None
    """Whose people may sign in, beside those with tokens."""
    simulated: bool = False
    """Whether there is no lab, and so nothing but a simulated drive."""

    @property
    def reports(self) -> Reports:
        """Pages of results."""
        return Reports(self.store, self.place, self.folder, self.calls)

    @property
    def starter(self) -> Starter:
        """What begins plans."""
        return Starter(self.folder, self.lab_file, self.calls, self.capacities)

    @property
    def inventory(self) -> Inventory:
        """What the lab's hosts say of their lanes."""
        return Inventory(self.database)

    def jobs_now(self) -> list[JobNow]:
        """The jobs of all desks and shells, the newest first. Raises StoreError.

        Those that were started here are asked for themselves.
        """
        own = self.running.now()
        known = {one.job.id for one in own}
        others = [one for one in self.inventory.jobs() if one.job.id not in known]
        return sorted([*own, *others], key=lambda one: one.job.id, reverse=True)

    def sample(self) -> None:
        """Keep for the charts how the lanes are that were started here. Raises
        StoreError."""
        states = [state for one in self.running.now() for state in one.states]
        if any(state.status == "running" for state in states):
            Samples(self.database).add(states)

    def busy(self) -> Busy:
        """The drives that lanes of any desk or shell run on. Raises StoreError."""
        own = self.running.now()
        known = {one.job.id for one in own}
        told = self.inventory.running()
        lanes = [one for one in told if one.state.job not in known]
        return Busy(
            [*lanes, *(lane for one in own for lane in lanes_of(one.job, one.states))]
        )

    def drives(self) -> list[DriveRow]:
        """Those of the lab file, with their states. Raises StoreError, LabError."""
        states = Drives(self.database).states()
        return drive_rows(self.starter.lab, states, self.queue, self.busy())

    def sessions_of(self, job: str) -> list[str]:
        """The sessions of a job's lanes. Raises StoreError."""
        if self.running.jobs.has(job):
            return self.running.sessions(job)
        if found := [one.state.session for one in self.inventory.job(job)]:
            return found
        return self.running.sessions(job)

    def ping(self) -> None:
        """Ask the database for anything. Raises StoreError."""
        with self.database.reading() as connection:
            connection.rows("SELECT 1 AS one")

    def capacities(self, lab: Lab) -> dict[str, int]:
        """In bytes, of the targets whose drives are known. Raises StoreError."""
        return capacities(self.store, lab, sizes(self.database))

    @property
    def queue(self) -> Queue:
        """What waits for its drives."""
        return Queue(self.database)

    @property
    def people(self) -> People:
        """Who may do what."""
        return People(self.database)

    @property
    def audit(self) -> Audit:
        """Who did what."""
        return Audit(self.database)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the stores; what runs goes on."""
        self.running.close()
        self.store.close()
        self.database.close()
