"""The signals of all looks at a history, kept in the store and never rewritten.

A signal is an event of the session that was the newest at its look. If a change no
longer stands (other sessions were pushed, the noise is known better), a withdrawal is
added, and the signal stays.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from operator import itemgetter

from ioplan.core.grouping import grouped
from ioplan.records.session import SessionEvent
from ioplan.results.history.model import History, Series, SignalEntry
from ioplan.results.store.errors import StoreError
from ioplan.results.store.store import Store

DIGITS = 24


def recorded(store: Store, history: History) -> History:
    """With the signals of earlier looks; those of this look are stored.

    A store that cannot be written to is only read. Raises StoreError.
    """
    stored, at = _stored(store), datetime.now(UTC).isoformat()
    all_series, events = [], []
    for series in history.series:
        # a digest: serial numbers and hosts are not for a shared event
        place = series.run_id or f"{history.plan}: {series.test}"
        parts = json.dumps(
            [series.group, place, series.metric, series.cell], sort_keys=True
        )
        key = sha256(parts.encode()).hexdigest()[:DIGITS]
        before = stored.get(key, [])
        signals = (*before, *added(before, series))
        all_series.append(series.model_copy(update={"signals": signals}))
        for entry in signals[len(before) :]:
            text = json.dumps([key, entry.model_dump(mode="json")])
            events.append((entry.seen, SessionEvent(at=at, kind="signal", text=text)))
    with suppress(StoreError):  # the next look finds them again
        if events:
            store.add_events(events)
    return history.model_copy(update={"series": tuple(all_series)})


def added(before: Sequence[SignalEntry], now: Series) -> Iterator[SignalEntry]:
    """The entries of a look that the earlier looks have not."""
    last = max((entry.seen for entry in before), default="")
    later = [entry for entry in now.signals if entry.seen > last]
    yield from later
    recorded_changes, changes = standing([*before, *later]), standing(now.signals)
    newest = now.points[-1].session
    for session in recorded_changes:
        if session not in changes:
            yield SignalEntry(session=session, seen=newest, state="withdrawn")
    for session in changes:
        if session not in recorded_changes:
            yield SignalEntry(session=session, seen=newest, state="confirmed")


def standing(entries: Sequence[SignalEntry]) -> list[str]:
    """The sessions from which a change is confirmed, and not withdrawn since."""
    sessions: dict[str, None] = {}
    for entry in entries:
        if entry.state == "confirmed":
            sessions[entry.session] = None
        elif entry.state == "withdrawn":
            sessions.pop(entry.session, None)
    return list(sessions)


def _stored(store: Store) -> dict[str, list[SignalEntry]]:
    """By series, without repetitions: two looks at once may have stored the same."""
    texts = dict.fromkeys(event.text for event in store.events_of_kind("signal"))
    by_series = grouped(map(json.loads, texts), key=itemgetter(0))
    return {
        key: [SignalEntry.model_validate(entry) for _, entry in pairs]
        for key, pairs in by_series.items()
    }
