"""`ioplan push`: results of this host into the store that a lab shares."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from rich.console import Console

from ioplan.cli.display.output import print_message
from ioplan.cli.display.terminal import Terminal
from ioplan.cli.errors import UsageError
from ioplan.cli.exit_codes import HELD, INTERRUPTED, NOT_DELIVERED
from ioplan.core.error_kinds import StoreFault
from ioplan.results.store.delivery import Delivery, Entry, Outbox, send, send_later
from ioplan.results.store.errors import StoreError, without_password
from ioplan.results.store.pushing import Pushed, not_there, push_session
from ioplan.results.store.store import Store, default_path
from ioplan.runner.lab.lab import Lab
from ioplan.runner.lab.lab_file import read_lab

LOOK_S = 1.0


def push_sessions(
    sessions: list[str],
    to: str | None,
    drop: bool,
    lab: Path | None,
    store: Path | None,
) -> int:
    """Send what is missing there; returns the exit code.

    Raises UsageError, LabError, StoreError.
    """
    console, here = Terminal(highlight=False), store or default_path()
    if drop:
        return _drop(console, sessions, here)
    place = to or read_lab(lab).results
    if not place:
        raise UsageError(
            'no destination: add --to postgresql://HOST/DATABASE, or set results = "…" '
            "in the lab file"
        )
    outbox = Outbox(here)
    with Store.open(here) as local, Store.at(place) as shared:
        ids = {id for key in sessions for id in local.ids_of(key)}
        # entered before: what is entered from now on, is about what is done from now on
        waiting = [one for one in outbox.waiting() if one.session in ids or not ids]
        refused = _push(console, local, shared, ids)
    for entry in waiting:
        if entry.session not in refused and (entry.place == place or not to):
            outbox.acknowledge(entry)
    return NOT_DELIVERED if refused else HELD


def _drop(console: Console, sessions: list[str], here: Path) -> int:
    """Take sessions out of the outbox: they stay in this host's store only."""
    if not sessions:
        raise UsageError("which sessions? name those that are not to be sent")
    with Store.open(here) as local:
        ids = frozenset(local.session(key).id for key in sessions)
    dropped = Outbox(here).drop(ids)
    for id in sorted(ids):
        text = "is no longer to be sent" if id in dropped else "was not to be sent"
        console.print(f"{id}: {text}; it stays in {here}", soft_wrap=True)
    return HELD


def _push(console: Console, local: Store, shared: Store, ids: set[str]) -> set[str]:
    """One that the shared store refuses does not hold up the others; returns those."""
    sent, refused = [], set()
    for id in not_there(local, shared, ids):
        try:
            sent.append(Pushed(id, push_session(local, shared, id)))
        except StoreError as error:
            if error.kind != StoreFault.SESSION_CONFLICT:
                raise
            print_message(f"error: {error}")
            refused.add(id)
            continue
        console.print(f"{id}: {sent[-1].runs} runs", soft_wrap=True)
    runs = sum(one.runs for one in sent)
    text = f"{len(sent)} sessions, {runs} runs sent to {shared.where}"
    console.print(text, soft_wrap=True)
    return refused


# ---- after a run


def delivered(store: Path, lab: Lab, session: str, code: int) -> int:
    """Send a session that has ended with this code; returns the command's.

    It waits for the shared store as long as the lab says. Ctrl-C ends the waiting.
    """
    outbox = Outbox(store)
    left = None
    with suppress(KeyboardInterrupt):
        wait_s = 0 if code == INTERRUPTED else lab.delivery_s
        left = _sent(outbox, session, wait_s)
    left = left or outbox.report().get(session)
    send_later(store)
    if left is None:
        return code
    print_message(
        f"note: session {session} is not in {without_password(lab.results or '')} yet: "
        f"{left.error or 'not tried yet'}; to send it: ioplan push {session}"
    )
    return NOT_DELIVERED if code == HELD else code


def _sent(outbox: Outbox, session: str, wait_s: float) -> Delivery | None:
    """What is left of its delivery; None if nothing is."""
    until_s, said = time.monotonic() + wait_s, ""
    while mine := _entry(outbox, session):
        if send(outbox, [mine]):
            continue
        left = outbox.report().get(session, Delivery())
        if time.monotonic() >= until_s:
            return left
        if left.error != said:
            said, place = left.error, without_password(mine.place)
            print_message(f"waiting {wait_s:g} s at most for {place}: {said}")
        time.sleep(LOOK_S)
    return outbox.report().get(session)


def _entry(outbox: Outbox, session: str) -> Entry | None:
    """While it is to be sent."""
    return next((one for one in outbox.due() if one.session == session), None)
