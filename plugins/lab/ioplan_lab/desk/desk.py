"""A desk: what its pages show and change."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from msgspec import Struct

from ioplan.store.store import Store
from ioplan_lab.desk.calls import Calls
from ioplan_lab.desk.database import DeskDatabase
from ioplan_lab.desk.people.audit import Audit
from ioplan_lab.desk.people.people import People
from ioplan_lab.desk.queue.queue import Queue
from ioplan_lab.desk.reports import Reports
from ioplan_lab.desk.running import Running
from ioplan_lab.desk.start.starter import Starter


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
    simulated: bool = False
    """Whether there is no lab, and so nothing but a simulated drive."""

    @property
    def reports(self) -> Reports:
        """Pages of results."""
        return Reports(self.store, self.place, self.folder, self.calls)

    @property
    def starter(self) -> Starter:
        """What begins plans."""
        return Starter(self.folder, self.lab_file, self.calls)

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
