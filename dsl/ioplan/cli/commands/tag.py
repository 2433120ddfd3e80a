"""`ioplan tag`: words to find a session by, given after it was begun."""

from __future__ import annotations

from contextlib import suppress

from ioplan.cli.display.output import print_line
from ioplan.cli.errors import UsageError
from ioplan.cli.sessions.stores import place_of_results
from ioplan.cli.words import checked_note, checked_tags
from ioplan.records.session import Session, SessionEvent
from ioplan.results.store.database import is_address
from ioplan.results.store.errors import StoreError
from ioplan.results.store.store import Store, default_path
from ioplan.runner.execute.execute import now


def tag_session(
    *,
    session: str,
    tags: list[str],
    remove: list[str],
    note: str | None,
    store: str | None,
) -> None:
    """Add tags, take some away, set the note; tells what there is then.

    Where the results are shared, this host's own store is changed as well. Raises
    UsageError, StoreError.
    """
    added, removed = checked_tags(tags, "ioplan tag"), checked_tags(remove, "--remove")
    text = None if note is None else checked_note(note)
    place = place_of_results(store)
    with Store.at(place) as found:
        known = found.session(session)
        _check_there(known, removed)
        changed = _keep(found, known.id, added, removed, text)
    if is_address(str(place)):
        with suppress(StoreError), Store.open(default_path()) as own:
            _keep(own, known.id, changed.tags, removed, changed.note)
    print_line(f"{known.id}: {' '.join(changed.tags) or 'no tags'}")
    if changed.note:
        print_line(changed.note)


def _check_there(session: Session, removed: tuple[str, ...]) -> None:
    if missing := sorted({*removed} - {*session.tags}):
        known = ", ".join(session.tags) or "none"
        raise UsageError(
            f"session {session.id} has no tag {missing[0]!r}; it has: {known}"
        )


def _keep(
    store: Store,
    id: str,
    added: tuple[str, ...],
    removed: tuple[str, ...],
    note: str | None,
) -> Session:
    """The session as it is then. The event has a push see that something is new."""
    before, after = store.change_words(id, added, removed, note)
    if (before.tags, before.note) == (after.tags, after.note):
        return after
    said = [f"+{tag}" for tag in after.tags if tag not in before.tags]
    said += [f"-{tag}" for tag in before.tags if tag not in after.tags]
    said += ["note"] if before.note != after.note else []
    event = SessionEvent(at=now(), kind="tagged", text=" ".join(said))
    store.add_event(id, event)
    return after
