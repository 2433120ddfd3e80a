"""Reports and histories as pages, made once and kept for as long as they are right."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from ioplan.records.session import Session
from ioplan.results.store.database import is_address
from ioplan.results.store.errors import StoreError
from ioplan.results.store.store import Store
from ioplan_lab.desk.calls import Calls, said
from ioplan_lab.desk.errors import DeskError, Missing

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
