"""Sends what is in a host's outbox, and tells how far that is.

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
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from ioplan.core.error_kinds import StoreFault
from ioplan.core.grouping import grouped
from ioplan.results.store.delivery.outbox import Delivery, Entry, Outbox
from ioplan.results.store.errors import StoreError, short_reason
from ioplan.results.store.pushing import compared, not_there, push_session
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
            STARTED.append(_process(outbox, life_s, lock))


def _process(outbox: Outbox, life_s: float, lock: int) -> subprocess.Popen[bytes]:
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


def send(outbox: Outbox, entries: list[Entry]) -> bool:
    """Try each once; whether all were sent, or refused for good.

    Never raises StoreError: how it went is in the outbox's report.
    """
    try:
        with Store.open(outbox.store) as local:
            places = by_place(entries).items()
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


# ---- what the shared store has, which is asked each time
#
# One that was restored from an older backup lacks what it had acknowledged. Senders
# look for that every few minutes, and enter again what is missing.


def delivered_now(
    store: Path, sessions: Iterable[str], place: str
) -> dict[str, Delivery]:
    """How far these sessions are, as far as they are in this host's store.

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
            return dict.fromkeys(ids, Delivery(error=short_reason(error)))
    return deliveries


def enter_missing(outbox: Outbox) -> None:
    """Enter again what was delivered and is not there any more.

    A shared store that does not answer is asked the next time. Raises StoreError.
    """
    outbox.note_check()
    if not outbox.store.exists():
        return
    for place, entries in by_place(outbox.delivered()).items():
        missing: list[str] = []
        with (
            suppress(StoreError),
            Store.to_read(outbox.store) as local,
            Store.at(place) as shared,
        ):
            missing += not_there(local, shared, [entry.session for entry in entries])
        for session in missing:
            outbox.add(session, place)


def by_place(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    return grouped(entries, key=lambda entry: entry.place)


def main(store: str, life_s: str, lock: str = "") -> None:
    os.nice(19)  # a drive's run on this host goes first
    outbox = Outbox(Path(store))
    if outbox.is_check_due():
        enter_missing(outbox)
    send_all(outbox.store, float(life_s), int(lock) if lock else None)


if __name__ == "__main__":
    main(*sys.argv[1:])
