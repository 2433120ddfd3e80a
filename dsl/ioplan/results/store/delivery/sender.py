"""Sends what is in a host's outbox.

`python -m ioplan.results.store.delivery.sender STORE SECONDS LOCK_FD`

One process of a host does so at a time: who starts it hands it the lock, so that of
many drive jobs that end at once one starts a sender. It waits a little for sessions
that end soon, and ends when nothing is left that can be sent. It is no child of
whatever started it, so it outlives a worker that is killed; if it is killed itself, the
worker or the next command starts another.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from ioplan.core.error_kinds import StoreFault
from ioplan.results.store.delivery.delivered import enter_missing
from ioplan.results.store.delivery.outbox import Delivery, Entry, Outbox
from ioplan.results.store.delivery.reasons import reason
from ioplan.results.store.errors import StoreError
from ioplan.results.store.overview import extents
from ioplan.results.store.pushing import push_session
from ioplan.results.store.store import Store

PROGRAM = "ioplan.results.store.delivery.sender"
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
            STARTED.append(_started(outbox, life_s, lock))


def _started(outbox: Outbox, life_s: float, lock: int) -> subprocess.Popen[bytes]:
    with (outbox.folder / "errors.txt").open("wb") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", PROGRAM, outbox.store, str(life_s), str(lock)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            pass_fds=(lock,),
            start_new_session=True,
            cwd="/",
        )


def send_later(store: Path) -> None:
    """What earlier sessions have left, by a process of its own; never fails."""
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


# ---- one attempt


def send(outbox: Outbox, entries: Sequence[Entry]) -> bool:
    """Try each once; whether all were sent, or refused for good.

    Never raises StoreError: how it went is in the outbox's state.
    """
    try:
        with Store.open(outbox.store) as local:
            place = attrgetter("place")
            found = groupby(sorted(entries, key=place), key=place)
            sent = [_send_to(outbox, local, one, list(them)) for one, them in found]
            return all(sent)
    except StoreError as error:
        _note(outbox, {entry: _failed(entry, error) for entry in entries})
        return False


def _send_to(
    outbox: Outbox, local: Store, place: str, entries: Sequence[Entry]
) -> bool:
    left = list(entries)
    try:
        with Store.at(place) as shared:
            failures = 0
            while left:
                failures += not _send_one(outbox, local, shared, left[0])
                del left[0]
            return not failures
    except StoreError as error:  # for the others it would be the same
        runs, known = _counter(local), outbox.report()
        stored = {one: known.get(one.session, Delivery()).stored for one in left}
        found = {one: _failed(one, error, runs(one), stored[one]) for one in left}
        _note(outbox, found)
        return False


def _send_one(outbox: Outbox, local: Store, shared: Store, entry: Entry) -> bool:
    """Raises StoreError where the shared store cannot be reached."""
    try:
        push_session(local, shared, entry.session)
    except StoreError as error:
        if error.kind == StoreFault.STORE_UNREACHABLE:
            raise
        if error.kind == StoreFault.NO_SESSION:  # it was never begun
            outbox.acknowledge(entry)
            return True
        counts = _counter(local)(entry), _counter(shared)(entry)
        found = _failed(entry, error, *counts)
        _note(outbox, {entry: found})
        return found.refused
    outbox.acknowledge(entry)
    return True


def _counter(store: Store) -> Callable[[Entry], int]:
    """How many runs of it a store has; 0 where that cannot be told."""

    def runs(entry: Entry) -> int:
        with suppress(StoreError), store.reading() as connection:
            found = extents(connection, [entry.session]).get(entry.session)
            return found.runs if found else 0
        return 0

    return runs


def _failed(
    entry: Entry, error: StoreError, runs: int = 0, stored: int = 0
) -> Delivery:
    refused = error.kind == StoreFault.SESSION_CONFLICT
    return Delivery(
        token=entry.token,
        runs=runs,
        stored=0 if refused else stored,
        error=reason(error),
        refused=refused,
    )


def _note(outbox: Outbox, found: dict[Entry, Delivery]) -> None:
    """Beside what is known of the others that are still there."""
    known = outbox.report() | {entry.session: one for entry, one in found.items()}
    outbox.keep_state(known)


def main(store: str, life_s: str, lock: str = "") -> None:
    """The program."""
    os.nice(19)  # a drive's run on this host goes first
    if Outbox(Path(store)).is_check_due():
        enter_missing(Path(store))
    send_all(Path(store), float(life_s), int(lock) if lock else None)


if __name__ == "__main__":
    main(*sys.argv[1:])
