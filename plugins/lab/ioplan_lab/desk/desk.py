"""A desk: what its pages show and change."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from msgspec import Struct

from ioplan.records import Session
from ioplan.results.store import Store, StoreError, is_address
from ioplan.runner import Lab
from ioplan_lab.desk.calls import Calls, said
from ioplan_lab.desk.database import DeskDatabase
from ioplan_lab.desk.drives import capacities
from ioplan_lab.desk.errors import DeskError, Missing
from ioplan_lab.desk.inventory import Busy, Inventory, lanes_of
from ioplan_lab.desk.people.audit import Audit
from ioplan_lab.desk.people.oidc import Provider
from ioplan_lab.desk.people.people import People
from ioplan_lab.desk.queue.drives import Drives
from ioplan_lab.desk.queue.overview import DriveRow, drive_rows
from ioplan_lab.desk.queue.queue import Queue
from ioplan_lab.desk.running import JobNow, Running
from ioplan_lab.desk.samples import Samples
from ioplan_lab.desk.start.starter import Starter
from ioplan_lab.desk.surveyed import sizes

# Reports and histories as pages, made once and kept for as long as they are right.

MOST_SESSIONS = 50
MOST_KEPT = 200
"""Pages on the disk; a page is of 1 MB."""
LIMIT_S = 300.0
FRESH_S = 10
"""How old the page of a session may be that still runs."""
POLICY = re.compile(rb'http-equiv="Content-Security-Policy" content="([^"]*)"')


class Page(Struct, frozen=True):
    """A page that is complete in itself, and what it says that it may do."""

    html: bytes
    policy: str


class Reports:
    """Pages by the command line, from a store."""

    def __init__(self, store: Store, place: str, folder: Path, calls: Calls) -> None:
        """`place` is the store's path or address; `folder` has the pages."""
        self.store, self.place, self.calls = store, place, calls
        self.folder = folder / "reports"

    def sessions(self, keys: Sequence[str]) -> list[Session]:
        """Each once, in their order; reads the store. Raises Missing, DeskError."""
        ids = list(dict.fromkeys(keys))
        if not ids:
            raise DeskError("select at least one session")
        if len(ids) > MOST_SESSIONS:
            raise DeskError(
                f"{len(ids)} sessions are too many for a page here, {MOST_SESSIONS} at "
                f"most; at a shell: ioplan report"
            )
        try:
            return [self.store.session(key) for key in ids]
        except StoreError as error:
            raise Missing(str(error)) from error

    async def report(self, sessions: Sequence[Session]) -> Page:
        """The report. Raises DeskError."""
        return await self._page(["report", *(one.id for one in sessions)], sessions)

    async def history(self, session: Session) -> Page:
        """What became of its cells in all sessions that did the same."""
        words = ["history", session.id, "--format", "html"]
        return await self._page(words, [session], fresh_s=60)

    async def _page(
        self, words: list[str], sessions: Sequence[Session], fresh_s: int = 0
    ) -> Page:
        running = any(one.status == "running" for one in sessions)
        age_s = FRESH_S if running else fresh_s
        known = "|".join(f"{one.id} {one.status} {one.ended_at}" for one in sessions)
        period = int(time.time() / age_s) if age_s else 0
        key = f"{' '.join(words)}|{known}|{period}".encode()
        file = self.folder / f"{hashlib.sha256(key).hexdigest()[:32]}.html"
        if not file.exists():
            await self._make(words, file)
        html = file.read_bytes()
        found = POLICY.search(html[:10_000])
        return Page(
            html, found[1].decode().replace("&#39;", "'") if found else "sandbox"
        )

    async def _make(self, words: list[str], file: Path) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._forget_old()
        environment = {"IOPLAN_STORE": self.place}
        words = [*words, "-o", str(file)]
        if not is_address(self.place):  # an address may have a password in it
            words += ["--store", self.place]
        done = await self.calls.call(words, limit_s=LIMIT_S, environment=environment)
        if not file.exists():
            raise DeskError(said(done))

    def _forget_old(self) -> None:
        files = sorted(self.folder.glob("*.html"), key=lambda one: one.stat().st_mtime)
        for file in files[:-MOST_KEPT]:
            with suppress(OSError):
                file.unlink()


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
