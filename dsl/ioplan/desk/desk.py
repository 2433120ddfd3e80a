"""A desk: what its pages show and change."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ioplan.core.context import Closing
from ioplan.desk.calls import Calls
from ioplan.desk.database import DeskDatabase
from ioplan.desk.people.audit import Audit
from ioplan.desk.people.people import People
from ioplan.desk.running import Running
from ioplan.store.store import Store


@dataclass(frozen=True)
class Desk(Closing):
    """Everything behind the pages.

    `store` is where results are read: the lab's, else this host's. `lab_file` is what
    plans are started with; None without one. `folder` is the desk's own.
    """

    store: Store
    lab_file: Path | None
    folder: Path
    database: DeskDatabase
    running: Running
    calls: Calls
    names: tuple[str, ...] = ()
    """Names that browsers may call the desk by, beside addresses and localhost."""
    tls: bool = False

    @property
    def people(self) -> People:
        """Who may do what."""
        return People(self.database)

    @property
    def audit(self) -> Audit:
        """Who did what."""
        return Audit(self.database)

    def close(self) -> None:
        """Close the stores; what runs goes on."""
        self.running.close()
        self.store.close()
        self.database.close()
