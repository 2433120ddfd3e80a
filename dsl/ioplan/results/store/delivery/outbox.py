"""The outbox of a host: the sessions that the shared store has not acknowledged yet.

A session is entered before its first run, with the address of the shared store, and
leaves when that has all of it. So whatever is killed or restarted in between, somebody
finds what is still to be sent. It is a folder of small files beside the store:

    results.db-outbox/SESSION.json     where to, durable from when `add` returns
    results.db-outbox/sender           locked by the one process that sends
    results.db-outbox/state            how far that has come, for those who look
    results.db-outbox/delivered/       the entries of what was acknowledged
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from ioplan.core.error_kinds import StoreFault
from ioplan.core.model import Model
from ioplan.core.system import O_CLOEXEC, O_NOFOLLOW, fcntl
from ioplan.results.store.errors import StoreError
from ioplan.results.store.session_folder import check_own, is_locked, session_folder

ENTRY = ".json"
DELIVERED, CHECKED = "delivered", "checked"
CHECK_S, MOST_CHECKED = 300.0, 2000
LOCK_FLAGS = os.O_RDWR | os.O_CREAT | O_CLOEXEC | O_NOFOLLOW


class Entry(NamedTuple):
    """A session that is to be sent. Entered again, it has another token."""

    session: str
    place: str
    token: str


class Delivery(Model):
    """How far the delivery of a session is."""

    token: str = ""
    done: bool = Field(description="the shared store has all of it", default=False)
    runs: int = 0
    stored: int = Field(
        description="how many of the runs are known to be there", default=0
    )
    error: str = Field(description="why not all of it is there", default="")
    refused: bool = Field(description="it is not tried again by itself", default=False)


class Outbox:
    """Any number of processes may use it."""

    def __init__(self, store: Path) -> None:
        self.store = store.absolute()
        self.folder = self.store.with_name(f"{store.name}-outbox")

    def add(self, session: str, place: str) -> None:
        """Enter a session; it is durable when this returns. Raises StoreError."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            check_own(self.folder)
            with self._changing():
                self._write(Entry(session, place, secrets.token_hex(8)))
        except OSError as error:
            raise StoreError(
                f"cannot note in {self.folder} that session {session} is to be sent "
                f"to the lab's results: {error.strerror}",
                StoreFault.STORE_NOT_OPENED,
            ) from error

    def _write(self, entry: Entry) -> None:
        part = self.folder / f".{entry.session}"
        said = {"place": entry.place, "token": entry.token}
        with part.open("w") as file:
            json.dump(said, file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(self._file(entry.session))
        fd = os.open(self.folder, os.O_RDONLY | O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def _file(self, session: str) -> Path:
        return self.folder / f"{session}{ENTRY}"

    def acknowledge(self, entry: Entry) -> None:
        """It is delivered, unless it was entered again meanwhile."""
        with suppress(OSError), self._changing():
            file = self._file(entry.session)
            if self._read(file) == entry:
                kept = self.folder / DELIVERED
                kept.mkdir(exist_ok=True, mode=0o700)
                file.replace(kept / file.name)

    def drop(self, sessions: frozenset[str]) -> list[str]:
        """Send none of these; returns those that were to be sent."""
        dropped = [one for one in self.entries() if one.session in sessions]
        for entry in dropped:
            with suppress(OSError), self._changing():
                self._file(entry.session).unlink()
        return [one.session for one in dropped]

    # ---- looking at it

    def entries(self) -> list[Entry]:
        """What is to be sent, the oldest first."""
        return self._entries(self.folder)

    def delivered(self) -> list[Entry]:
        """What the shared store has acknowledged at some time: the newest of it."""
        return self._entries(self.folder / DELIVERED, MOST_CHECKED)

    def _entries(self, folder: Path, newest: int = 0) -> list[Entry]:
        try:
            names = sorted(os.listdir(folder))  # noqa: PTH208  often called
            check_own(self.folder)  # or others would say where results are sent
        except OSError:
            return []
        names = [one for one in names if one.endswith(ENTRY)][-newest:]
        found = (self._read(folder / one) for one in names)
        return [entry for entry in found if entry]

    def is_check_due(self) -> bool:
        """Whether nobody has looked lately if what was delivered is there still."""
        if not (self.folder / DELIVERED).exists() or not self.store.exists():
            return False
        try:
            checked_s = (self.folder / CHECKED).stat().st_mtime
        except OSError:
            return True
        return not 0 <= time.time() - checked_s < CHECK_S

    def check_soon(self) -> None:
        """Somebody has seen that something is not there any more."""
        with suppress(OSError):
            (self.folder / CHECKED).unlink()

    def note_check(self) -> None:
        """Somebody looks now."""
        with suppress(OSError):
            (self.folder / CHECKED).touch()

    def _read(self, file: Path) -> Entry | None:
        try:
            said = json.loads(file.read_text())
            return Entry(file.name.removesuffix(ENTRY), said["place"], said["token"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def waiting(self) -> list[Entry]:
        """The entries of sessions that have ended, or were killed."""
        entries = self.entries()
        if not entries or not self.store.exists():
            return []
        folder = {one: session_folder(self.store, one.session) for one in entries}
        return [one for one in entries if not is_locked(folder[one])]

    def due(self) -> list[Entry]:
        """What can be sent now: nothing that was refused."""
        if not (waiting := self.waiting()):
            return []
        state = self.state()
        return [one for one in waiting if not _of(state, one).refused]

    def report(self) -> dict[str, Delivery]:
        """How far each session is, by its id.

        What is not in the outbox has been delivered.
        """
        if not (entries := self.entries()):
            return {}
        state = self.state()
        return {one.session: _of(state, one) for one in entries}

    # ---- the sender's

    def state(self) -> dict[str, Delivery]:
        """By session; of those that were tried."""
        try:
            raw = json.loads((self.folder / "state").read_text())
            return {key: Delivery.model_validate(one) for key, one in raw.items()}
        except (OSError, ValueError, AttributeError):
            return {}

    def keep_state(self, state: Mapping[str, Delivery]) -> None:
        """For those who look; never fails, as the disk may be full."""
        said = {
            key: one.model_dump(exclude_defaults=True) for key, one in state.items()
        }
        with suppress(OSError):
            part = self.folder / ".state"
            part.write_text(json.dumps(said))
            part.replace(self.folder / "state")

    @contextmanager
    def sending(self, lock: int | None = None) -> Iterator[int | None]:
        """Be the one that sends: the lock, which a child may take over.

        None where another process is.
        """
        if lock is None:
            lock = os.open(self.folder / "sender", LOCK_FLAGS, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.pwrite(lock, str(os.getpid()).encode().ljust(16), 0)
            yield lock
        except BlockingIOError:
            yield None
        finally:
            os.close(lock)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        fd = os.open(self.folder / "guard", LOCK_FLAGS, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)


def _of(state: Mapping[str, Delivery], entry: Entry) -> Delivery:
    """What is known of an entry, and not of one before of that session."""
    found = state.get(entry.session)
    return found if found and found.token == entry.token else Delivery()
