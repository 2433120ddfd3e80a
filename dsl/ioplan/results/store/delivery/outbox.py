"""The outbox of a host: the sessions that the shared store has not acknowledged yet.

A session is entered before its first run, with the address of the shared store, and
leaves when that has all of it. So whatever is killed or restarted in between, somebody
finds what is still to be sent. It is a folder of small files beside the store:

    results.db-outbox/SESSION.json     where to, durable from when `add` returns
    results.db-outbox/sender           locked by the one process that sends
    results.db-outbox/state            why attempts failed, for those who look
    results.db-outbox/delivered/       the entries of what was acknowledged
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from ioplan.core.error_kinds import StoreFault
from ioplan.core.system import O_CLOEXEC, fcntl
from ioplan.results.store.errors import StoreError, short_reason
from ioplan.results.store.session_folder import (
    check_own,
    is_locked,
    locked,
    session_folder,
)

ENTRY = ".json"
CHECK_S, MOST_CHECKED = 300.0, 2000


class Entry(Struct, frozen=True):
    """A session that is to be sent. Entered again, it has another token."""

    session: str
    place: str
    token: str


class Delivery(Struct, frozen=True, omit_defaults=True):
    """How far the delivery of an entry is: how many runs are known to be there, why not
    all are, and if it is not tried again by itself."""

    token: str = ""
    stored: int = 0
    error: str = ""
    refused: bool = False


class Outbox:
    """Any number of processes may use it."""

    def __init__(self, store: Path) -> None:
        self.store = store.absolute()
        self.folder = self.store.with_name(f"{store.name}-outbox")
        self.acknowledged = self.folder / "delivered"
        self.checked = self.folder / "checked"

    def add(self, session: str, place: str) -> None:
        """Enter a session; it is durable when this returns. Raises StoreError."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            check_own(self.folder)
            with locked(self.folder / "guard"):
                self._write(session, {"place": place, "token": secrets.token_hex(8)})
        except OSError as error:
            raise StoreError(
                f"cannot note in {self.folder} that session {session} is to be sent "
                f"to the lab's results: {error.strerror}",
                StoreFault.STORE_NOT_OPENED,
            ) from error

    def _write(self, session: str, entry: dict[str, str]) -> None:
        part = self.folder / f".{session}"
        with part.open("w") as file:
            json.dump(entry, file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(self._file(session))
        fd = os.open(self.folder, os.O_RDONLY | O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def _file(self, session: str) -> Path:
        return self.folder / f"{session}{ENTRY}"

    def acknowledge(self, entry: Entry) -> None:
        """It is delivered, unless it was entered again meanwhile."""
        file = self._file(entry.session)
        with suppress(OSError), locked(self.folder / "guard"):
            if _entry(file) == entry:
                self.acknowledged.mkdir(exist_ok=True, mode=0o700)
                file.replace(self.acknowledged / file.name)

    def drop(self, sessions: frozenset[str]) -> list[str]:
        """Send none of these; returns those that were to be sent."""
        dropped = [e.session for e in self.entries() if e.session in sessions]
        for session in dropped:
            with suppress(OSError), locked(self.folder / "guard"):
                self._file(session).unlink()
        return dropped

    # ---- looking at it

    def entries(self) -> list[Entry]:
        """What is to be sent, the oldest first."""
        return self._entries(self.folder)

    def delivered(self) -> list[Entry]:
        """What the shared store has acknowledged at some time: the newest of it."""
        return self._entries(self.acknowledged, MOST_CHECKED)

    def _entries(self, folder: Path, newest: int = 0) -> list[Entry]:
        try:
            names = sorted(os.listdir(folder))  # noqa: PTH208  often called
            check_own(self.folder)  # or others would say where results are sent
        except OSError:
            return []
        names = [name for name in names if name.endswith(ENTRY)][-newest:]
        return [entry for name in names if (entry := _entry(folder / name))]

    def waiting(self) -> list[Entry]:
        """The entries of sessions that have ended, or were killed."""
        if not self.store.exists():
            return []
        return [
            entry
            for entry in self.entries()
            if not is_locked(session_folder(self.store, entry.session))
        ]

    def due(self) -> list[Entry]:
        """What can be sent now: nothing that was refused."""
        refused = {id for id, state in self.report().items() if state.refused}
        return [entry for entry in self.waiting() if entry.session not in refused]

    def report(self) -> dict[str, Delivery]:
        """How far each session is, by its id.

        What is not in the outbox has been delivered.
        """
        by_token = {}
        with suppress(OSError, msgspec.DecodeError):
            state = (self.folder / "state").read_bytes()
            attempts = msgspec.json.decode(state, type=dict[str, Delivery])
            by_token = {attempt.token: attempt for attempt in attempts.values()}
        return {e.session: by_token.get(e.token, Delivery()) for e in self.entries()}

    # ---- whether what was delivered is still there

    def is_check_due(self) -> bool:
        """Whether nobody has looked lately."""
        if not self.acknowledged.exists() or not self.store.exists():
            return False
        with suppress(OSError):
            return not 0 <= time.time() - self.checked.stat().st_mtime < CHECK_S
        return True

    def check_soon(self) -> None:
        """Somebody has seen that something is not there any more."""
        with suppress(OSError):
            self.checked.unlink()

    def note_check(self) -> None:
        with suppress(OSError):
            self.checked.touch()

    # ---- the sender's

    def note_failure(self, entries: Iterable[Entry], error: StoreError) -> None:
        """For those who look; never fails, as the disk may be full."""
        why, refused = short_reason(error), error.kind == StoreFault.SESSION_CONFLICT
        failures = {
            entry.session: Delivery(entry.token, error=why, refused=refused)
            for entry in entries
        }
        with suppress(OSError):
            part = self.folder / ".state"
            part.write_bytes(msgspec.json.encode(self.report() | failures))
            part.replace(self.folder / "state")

    @contextmanager
    def sending(self, lock: int | None = None) -> Iterator[int | None]:
        """Be the one that sends: the lock, which a child may take over.

        None where another process is.
        """
        try:
            with locked(self.folder / "sender", fcntl.LOCK_NB, lock) as fd:
                os.pwrite(fd, str(os.getpid()).encode().ljust(16), 0)
                yield fd
        except BlockingIOError:
            yield None


def _entry(file: Path) -> Entry | None:
    try:
        raw = json.loads(file.read_text())
        return Entry(file.name.removesuffix(ENTRY), raw["place"], raw["token"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
