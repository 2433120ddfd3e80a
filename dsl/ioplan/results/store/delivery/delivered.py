"""What the shared store has of this host's sessions: it is asked each time.

A store that was restored from an older backup lacks what it had acknowledged. Senders
look for that every few minutes, and enter again what is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path

from ioplan.results.store.delivery.outbox import Delivery, Outbox
from ioplan.results.store.delivery.reasons import reason
from ioplan.results.store.errors import StoreError
from ioplan.results.store.overview import SessionExtent, extents
from ioplan.results.store.pushing import SESSIONS, not_there
from ioplan.results.store.store import Store


def delivered_now(
    store: Path, sessions: Iterable[str], place: str
) -> dict[str, Delivery]:
    """How far these sessions are, as far as they are in this host's store.

    Raises StoreError where that cannot be read.
    """
    found: dict[str, Delivery] = {}
    if not store.exists():
        return found
    left = Outbox(store).report()
    with Store.to_read(store) as local:
        for page in _pages(sessions):
            with local.reading() as here:
                ours = extents(here, page)
            found |= _compared(ours, place, left)
    return found


def _compared(
    ours: dict[str, SessionExtent], place: str, left: dict[str, Delivery]
) -> dict[str, Delivery]:
    try:
        with Store.at(place) as shared, shared.reading() as there:
            theirs = extents(there, list(ours))
    except StoreError as error:
        why = reason(error)
        return {id: Delivery(runs=one.runs, error=why) for id, one in ours.items()}
    return {
        id: _delivery(one, theirs.get(id), left.get(id, Delivery()))
        for id, one in ours.items()
    }


def _delivery(
    mine: SessionExtent, theirs: SessionExtent | None, left: Delivery
) -> Delivery:
    if theirs and theirs.covers(mine):
        return Delivery(done=True, runs=mine.runs, stored=mine.runs)
    stored = min(theirs.runs, mine.runs) if theirs and not left.refused else 0
    change = {"done": False, "runs": mine.runs, "stored": stored}
    return left.model_copy(update=change)


def enter_missing(store: Path) -> list[str]:
    """Enter again what was delivered and is not there any more; returns the sessions.

    A shared store that does not answer is asked the next time.
    """
    outbox = Outbox(store)
    outbox.note_check()
    missing: list[str] = []
    if not store.exists():
        return missing
    place = attrgetter("place")
    for at, entries in groupby(sorted(outbox.delivered(), key=place), key=place):
        missing += _enter(outbox, at, [one.session for one in entries])
    return missing


def _enter(outbox: Outbox, place: str, sessions: Sequence[str]) -> list[str]:
    try:
        with Store.to_read(outbox.store) as local, Store.at(place) as shared:
            missing = list(not_there(local, shared, sessions))
    except StoreError:
        return []
    for session in missing:
        outbox.add(session, place)
    return missing


def _pages(sessions: Iterable[str]) -> Iterator[list[str]]:
    wanted = iter(sorted(set(sessions)))
    while page := list(islice(wanted, SESSIONS)):
        yield page
