"""What looks at a history have said, kept in the store and never rewritten.

A signal is an event of the session that was the newest then. What is known better
later (other sessions were pushed, noise was learned) is added behind it: a change that
no longer stands is withdrawn, and stays in the ledger.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256

from ioplan.records.session import SessionEvent
from ioplan.results.history.model import History, Series, SignalEntry
from ioplan.results.store.errors import StoreError
from ioplan.results.store.store import Store

DIGITS = 24


def recorded(store: Store, found: History) -> History:
    """With the signals of earlier looks; those of this one are stored.

    A store that cannot be written to is read alone. Raises StoreError.
    """
    known = _known(store)
    told = [(one, known.get(_key(found, one), [])) for one in found.series]
    new = [list(added(before, one)) for one, before in told]
    at = datetime.now(UTC).isoformat()
    events = [
        (entry.seen, SessionEvent(at=at, kind="signal", text=_text(found, one, entry)))
        for one, entries in zip(found.series, new, strict=True)
        for entry in entries
    ]
    try:
        if events:
            store.add_events(events)
    except StoreError:
        pass  # it is shown, and found again by the next look
    series = tuple(
        one.model_copy(update={"signals": (*before, *entries)})
        for (one, before), entries in zip(told, new, strict=True)
    )
    return found.model_copy(update={"series": series})


def added(before: Sequence[SignalEntry], now: Series) -> Iterator[SignalEntry]:
    """What a look says that the ones before have not."""
    last = max((entry.seen for entry in before), default="")
    later = [entry for entry in now.signals if entry.seen > last]
    yield from later
    said, holds = standing([*before, *later]), standing(now.signals)
    newest = now.points[-1].session
    for session in said:
        if session not in holds:
            yield SignalEntry(session=session, seen=newest, state="withdrawn")
    for session in holds:
        if session not in said:
            yield SignalEntry(session=session, seen=newest, state="confirmed")


def standing(entries: Sequence[SignalEntry]) -> list[str]:
    """The sessions from which a change is confirmed, and not withdrawn since."""
    found: dict[str, None] = {}
    for entry in entries:
        if entry.state == "confirmed":
            found[entry.session] = None
        elif entry.state == "withdrawn":
            found.pop(entry.session, None)
    return list(found)


def _key(found: History, one: Series) -> str:
    """A digest of what a series is: serials and hosts are not for a shared event."""
    what = one.run_id or f"{found.plan}: {one.test}"
    text = json.dumps([one.group, what, one.metric, one.cell], sort_keys=True)
    return sha256(text.encode()).hexdigest()[:DIGITS]


def _text(found: History, one: Series, entry: SignalEntry) -> str:
    return json.dumps([_key(found, one), entry.model_dump(mode="json")])


def _known(store: Store) -> dict[str, list[SignalEntry]]:
    """By series, each once: two looks at the same time may have stored the same."""
    found: dict[str, list[SignalEntry]] = {}
    for text in dict.fromkeys(one.text for one in store.events_of_kind("signal")):
        key, entry = json.loads(text)
        found.setdefault(key, []).append(SignalEntry.model_validate(entry))
    return found
