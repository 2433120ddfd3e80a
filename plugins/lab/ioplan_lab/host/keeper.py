"""The drive jobs of this host, kept going from their folders alone.

It needs no database: what runs goes on, what was killed is started again, and what has
ended stays in the list until the database was told of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from typing import Any

from ioplan.results.store import LIFE_S, default_path, start
from ioplan.runner import LabError, read_lab
from ioplan_lab.host.drive_job import DriveJob, JobState
from ioplan_lab.host.folder import PLAIN, JobFolder, drive_jobs_root
from ioplan_lab.host.hook import Hook
from ioplan_lab.host.plain_run import plain_folders

REPORTED, NONE = "reported", Hook(())
RECENT_S, KEPT_S = 60.0, 30 * 86400.0
"""A folder gets its drive jobs one by one. So long the database can lose them."""


class Keeper:
    """All folders of which the database at `results` has not the last state."""

    def __init__(
        self, root: Path | None = None, hook: Hook = NONE, results: str = ""
    ) -> None:
        self.root = root or drive_jobs_root(default_path())
        self.hook, self.told, self.results = hook, set[str](), results
        self.folders: dict[str, JobFolder] = {}
        self.states: dict[str, JobState] = {}
        self.looked_s = 0.0
        self.adopt()

    def adopt(self) -> None:
        """Keep what has been started without the queue since the last time."""
        since_s, self.looked_s = self.looked_s - RECENT_S, time.time()
        with suppress(OSError):
            for path in self.root.glob("2*"):
                if path.stat().st_mtime > since_s:
                    self._adopt(path)

    def _adopt(self, job: Path) -> None:
        for file in sorted(job.glob("*/call.json")):
            folder, session = JobFolder(file.parent), file.parent.name
            is_new = not (folder.path / REPORTED).exists()
            if is_new and session not in self.folders and self._is_of_lab(folder):
                self.folders[session] = folder

    def _is_of_lab(self, folder: JobFolder) -> bool:
        """What was started on this host itself may have its results elsewhere."""
        with suppress(OSError, ValueError, LabError):
            call = folder.call()
            own = read_lab(call.request.lab).results or ""
            return bool(call.host) or own == self.results
        return False

    def take(self, call: DriveJob) -> JobFolder:
        """Keep a drive job that the queue has given. Raises OSError."""
        folder = JobFolder.of(call, self.root)
        (folder.path / REPORTED).unlink(missing_ok=True)
        self.states.pop(call.session, None)
        self.told.discard(call.session)
        self.folders[call.session] = folder
        return folder

    def look(self) -> None:
        """Start what is to run, and note how each is; a full disk may be freed."""
        with suppress(OSError):
            for folder in plain_folders(self.root):
                self.folders.setdefault(folder.path.name, folder)
        for session, folder in list(self.folders.items()):
            with suppress(OSError):
                is_told = self.hook.is_told(folder)  # its state has what came of it
                self.states[session] = state = folder.advance()
                self._note_hook(session, folder, state, is_told)
        with suppress(OSError):
            start(default_path(), LIFE_S)  # of results that are to be sent

    def _note_hook(
        self, session: str, folder: JobFolder, state: JobState, is_told: bool
    ) -> None:
        if is_told or folder.path.parent.name == PLAIN:
            self.told.add(session)
        elif state.ended:
            self.hook.tell(folder, state)

    def stop(self, session: str, person: str) -> None:
        """A person wants it stopped."""
        if folder := self.folders.get(session):
            with suppress(OSError):
                folder.stop(person)

    def has_reported(self, told: dict[str, JobState]) -> None:
        """The database has these states; of what has ended it was the last one."""
        for session, state in told.items():
            is_last = state.ended and self.states.get(session) == state
            if is_last and session in self.told:
                with suppress(OSError):
                    self._forget(session)

    def _forget(self, session: str) -> None:
        folder = self.folders.pop(session, None)  # one that is looked at may come again
        self.states.pop(session, None)
        self.told.discard(session)
        if not folder:
            return
        if folder.path.parent.name == PLAIN:
            rmtree(folder.path, ignore_errors=True)
        else:
            (folder.path / REPORTED).write_text(self.results)

    # ---- what the database is to be told of, as only this host knows it

    def offers(self, sessions: Iterable[str]) -> list[dict[str, Any]]:
        """Those of these that were started on this host itself."""
        kept = (self.folders[one] for one in sessions if one in self.folders)
        return [one for folder in kept for one in _offered(folder, is_own=True)]

    def reported(self) -> dict[str, Path]:
        """The folders of which this database was told the end."""
        return {
            file.parent.name: file.parent
            for file in self.root.glob(f"2*/*/{REPORTED}")
            if file.read_text() == self.results
        }

    def lost(self, session: str, path: Path | None) -> list[dict[str, Any]]:
        """What is to be told again of one that a restored database does not know."""
        if path:
            (path / REPORTED).unlink(missing_ok=True)
            self.told.discard(session)
            self.folders[session] = JobFolder(path)
        folder = self.folders.get(session)  # it may have ended meanwhile
        return _offered(folder) if folder else []

    def forget_old(self) -> None:
        """Remove the folders of what has ended long ago."""
        for file in self.root.glob(f"2*/*/{REPORTED}"):
            with suppress(OSError):
                if time.time() - file.stat().st_mtime > KEPT_S:
                    rmtree(file.parent)
                    file.parents[1].rmdir()


def _offered(folder: JobFolder, is_own: bool = False) -> list[dict[str, Any]]:
    with suppress(OSError, ValueError):
        if not is_own or not folder.call().host:
            return [folder.offer()]
    return []
