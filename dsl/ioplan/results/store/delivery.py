"""Delivers a host's sessions to the shared store, whatever is killed or restarted.

`python -m ioplan.results.store.delivery STORE SECONDS LOCK_FD`

The outbox has the sessions that the shared store has not acknowledged yet. A session is
entered before its first run, with the address of the shared store, and leaves when that
has all of it; so somebody finds what is still to be sent. It is a folder of small files
beside the store:

    results.db-outbox/SESSION.json     where to, durable from when `add` returns
    results.db-outbox/sender           locked by the one process that sends
    results.db-outbox/state            why attempts failed, for those who look
    results.db-outbox/delivered/       the entries of what was acknowledged

One process of a host sends at a time: who starts it hands it the lock, so that of
many drive jobs that end at once one starts a sender. It waits a little for sessions
that end soon, and ends when nothing is left that can be sent. It is no child of
whatever started it, so it outlives a worker that is killed; if it is killed itself, the
worker or the next command starts another.
"""

from __future__ import annotations

import json
import os
import random
import secrets
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from operator import attrgetter
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ioplan.core.error_kinds import StoreFault
from ioplan.core.grouping import grouped
from ioplan.core.system import O_CLOEXEC, fcntl
from ioplan.results.store.errors import StoreError
from ioplan.results.store.pushing import compared, not_there, push_session
from ioplan.results.store.session_folder import (
    check_own,
    is_locked,
    locked,
    session_folder,
)
from ioplan.results.store.store import Store

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
        entry = {"place": place, "token": secrets.token_hex(8)}
        part = self.folder / f".{session}"
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            check_own(self.folder)
            with locked(self.folder / "guard"):
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
        except OSError as error:
            raise StoreError(
                f"cannot note in {self.folder} that session {session} is to be sent "
                f"to the lab's results: {error.strerror}",
                StoreFault.STORE_NOT_OPENED,
            ) from error

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
        """How far each session is, by its id; what is not in it has been delivered."""
        by_token = {}
        with suppress(OSError, msgspec.DecodeError):
            state = (self.folder / "state").read_bytes()
            attempts = msgspec.json.decode(state, type=dict[str, Delivery])
            by_token = {attempt.token: attempt for attempt in attempts.values()}
        return {e.session: by_token.get(e.token, Delivery()) for e in self.entries()}

    def is_check_due(self) -> bool:
        """Whether nobody has looked lately if what was delivered is still there."""
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

    def note_failure(self, entries: Iterable[Entry], error: StoreError) -> None:
        """For those who look; never fails, as the disk may be full."""
        why, refused = _short_reason(error), error.kind == StoreFault.SESSION_CONFLICT
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
        """Be the one that sends: its lock, which a child may take over, or None."""
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


def _short_reason(error: StoreError) -> str:
    """In a few words, where a server does not answer: "Connection refused"."""
    if error.kind == StoreFault.STORE_UNREACHABLE:
        return str(error).partition(";")[0].rpartition(": ")[2]
    return str(error)


# Sending.

FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
"""After a failure; doubled with each that follows."""
LINGER_S = 5.0
LANE_LIFE_S, LIFE_S = 60.0, 600.0
"""How long a sender tries that a lane has started, or a worker, who starts the next."""
STARTED: list[subprocess.Popen[bytes]] = []
"""Until they are reaped."""


def start(store: Path, life_s: float = 0.0) -> None:
    """Start a sender if there is something to send, and none is at work.

    It waits and tries again for so long, or tries once. Raises OSError.
    """
    STARTED[:] = [child for child in STARTED if child.poll() is None]
    outbox = Outbox(store)
    if not outbox.folder.exists():
        return
    with outbox.sending() as lock:
        if lock is not None and (outbox.due() or outbox.is_check_due()):
            STARTED.append(_process(outbox, life_s, lock))


def _process(outbox: Outbox, life_s: float, lock: int) -> subprocess.Popen[bytes]:
    program = "ioplan.results.store.delivery"
    with (outbox.folder / "errors.txt").open("wb") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", program, outbox.store, str(life_s), str(lock)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            pass_fds=(lock,),
            start_new_session=True,
            cwd="/",
        )


def send_later(store: Path) -> None:
    """What earlier sessions have left; never fails."""
    with suppress(OSError):
        start(store)


def send_all(store: Path, life_s: float, lock: int | None = None) -> None:
    """Until nothing is left that can be sent, but for so long at most.

    `lock` is that of who started this process; it is let go with this call.
    """
    outbox, ends_s = Outbox(store), time.monotonic() + life_s
    while lock is not None or outbox.due():
        with outbox.sending(lock) as own:
            lock = None
            if own is None or not _send_until(outbox, ends_s):
                return
        # what became due meanwhile found the sender at work


def _send_until(outbox: Outbox, ends_s: float) -> bool:
    """Whether all that was due has been sent, or was refused."""
    wait_s = FIRST_WAIT_S
    while entries := _soon_due(outbox, ends_s):
        if send(outbox, entries):
            wait_s = FIRST_WAIT_S
        elif time.monotonic() >= ends_s:
            return False
        else:
            time.sleep(wait_s * random.uniform(0.8, 1.2))  # hosts differ
            wait_s = min(2 * wait_s, LONGEST_WAIT_S)
    return True


def _soon_due(outbox: Outbox, ends_s: float) -> list[Entry]:
    """What can be sent, also if it ends in some seconds: another sender costs more."""
    until_s = min(ends_s, time.monotonic() + LINGER_S)
    while not (entries := outbox.due()) and time.monotonic() < until_s:
        if not outbox.entries():
            break
        time.sleep(LINGER_S / 5)
    return entries


def send(outbox: Outbox, entries: list[Entry]) -> bool:
    """Try each once; whether all were sent, or refused for good. Never raises
    StoreError: how it went is in the outbox's report."""
    try:
        with Store.open(outbox.store) as local:
            places = grouped(entries, key=attrgetter("place")).items()
            return all([_send_to(outbox, local, *place) for place in places])
    except StoreError as error:
        outbox.note_failure(entries, error)
        return False


def _send_to(outbox: Outbox, local: Store, place: str, entries: list[Entry]) -> bool:
    is_done = True
    try:
        with Store.at(place) as shared:
            while entries:
                is_done &= _send_session(outbox, local, shared, entries[0])
                del entries[0]
    except StoreError as error:  # for the others it would be the same
        outbox.note_failure(entries, error)
        return False
    return is_done


def _send_session(outbox: Outbox, local: Store, shared: Store, entry: Entry) -> bool:
    """Raises StoreError where the shared store cannot be reached."""
    try:
        push_session(local, shared, entry.session)
    except StoreError as error:
        if error.kind == StoreFault.STORE_UNREACHABLE:
            raise
        if error.kind != StoreFault.NO_SESSION:  # else it was never begun
            outbox.note_failure([entry], error)
            return error.kind == StoreFault.SESSION_CONFLICT
    outbox.acknowledge(entry)
    return True


# What the shared store has, which is asked each time. One that was restored from an
# older backup lacks what it had acknowledged: senders look for that every few minutes,
# and enter again what is missing.


def delivered_now(
    store: Path, sessions: Iterable[str], place: str
) -> dict[str, Delivery]:
    """How far those of these sessions are that are in this host's store.

    Raises StoreError where that cannot be read.
    """
    if not store.exists():
        return {}
    deliveries, attempts = dict[str, Delivery](), Outbox(store).report()
    with Store.to_read(store) as local:
        ids = set(sessions) & set(local.ids())
        try:
            with Store.at(place) as shared:
                for id, ours, theirs in compared(local, shared, ids):
                    delivery = attempts.get(id, Delivery())
                    stored = 0
                    if theirs and theirs.covers(ours):
                        delivery, stored = Delivery(), ours.runs
                    elif theirs and not delivery.refused:
                        stored = min(theirs.runs, ours.runs)
                    deliveries[id] = replace(delivery, stored=stored)
        except StoreError as error:
            return dict.fromkeys(ids, Delivery(error=_short_reason(error)))
    return deliveries


def _enter_missing(outbox: Outbox) -> None:
    """A shared store that does not answer is asked the next time. Raises StoreError."""
    outbox.note_check()
    if not outbox.store.exists():
        return
    delivered = grouped(outbox.delivered(), key=attrgetter("place"))
    for place, entries in delivered.items():
        missing: list[str] = []
        with (
            suppress(StoreError),
            Store.to_read(outbox.store) as local,
            Store.at(place) as shared,
        ):
            missing += not_there(local, shared, [entry.session for entry in entries])
        for session in missing:
            outbox.add(session, place)


def main(store: str, life_s: str, lock: str = "") -> None:
    os.nice(19)  # a drive's run on this host goes first
    outbox = Outbox(Path(store))
    if outbox.is_check_due():
        _enter_missing(outbox)
    send_all(outbox.store, float(life_s), int(lock) if lock else None)


if __name__ == "__main__":
    main(*sys.argv[1:])
