"""`ioplan lab queue`: what waits for its drives, and what starts it."""

from __future__ import annotations

import json
import signal
from datetime import UTC
from pathlib import Path
from threading import Event
from typing import Any

from ioplan.cli import UsageError, print_line, print_listing, requested, requested_plan
from ioplan.results.store import default_path
from ioplan.runner import login_name, read_lab
from ioplan_lab.commands.desk.chosen import chosen_targets, usable_moment
from ioplan_lab.commands.desk.open_desk import desk_database
from ioplan_lab.commands.desk.working import runner_of, working
from ioplan_lab.desk.queue.ask import priority_named, wanted
from ioplan_lab.desk.queue.entry import Entry, Priority, QueueEntry
from ioplan_lab.desk.queue.queue import Queue

WORK_S = 0.2


def add(*, lab: Path | None, on: str | None, **asked: Any) -> None:
    """Add a plan. Raises PlanError, UsageError, DeskError, ConsentListError."""
    if on:
        asked["targets"] = chosen_targets(on, asked["targets"], lab)
    elif not asked["targets"]:
        raise UsageError("add --target TARGET or --on DRIVES")
    found = start_form_of(lab=lab, **asked)
    with desk_database(lab) as database:
        queue = Queue(database)
        number = queue.add(found)
        waits = next(w.text for w in queue.waiting() if w.entry.number == number)
    print_line(f"#{number} {found.plan} waits" + (f": {waits}" if waits else ""))


def start_form_of(
    *,
    plan: Path,
    targets: list[str],
    priority: str | None,
    after: str | None,
    consent: Path | None,
    lab: Path | None,
    **others: Any,
) -> QueueEntry:
    """What a call asks the queue for. Raises PlanError, DeskError, ConsentListError."""
    request = requested(others)
    return wanted(
        requested_plan(plan, request.model_copy(update={"lab": lab})),
        read_lab(lab),
        targets,
        login_name(),
        request,
        priority_named(priority) if priority else Priority.NORMAL,
        _stamp(after, "--after"),
        text_of(consent),
    )


def _stamp(word: str | None, name: str) -> str:
    if not word:
        return ""
    return f"{usable_moment(word, name).astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def text_of(file: Path | None) -> str:
    """A list of consents as it is; it is checked where it is used."""
    try:
        return file.read_text() if file else ""
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {str(file)!r}: {error}") from error


def list_queue(lab: Path | None, json: bool) -> None:
    """Print what runs and what waits."""
    with desk_database(lab) as database:
        queue = Queue(database)
        rows = [(one, one.message) for one in queue.held()]
        rows += [(one.entry, one.text) for one in queue.waiting()]
        rows += [] if json else [(one, one.message) for one in queue.ended(5)]
    if json:
        _print_json(rows)
        return
    headings = ("number", "plan", "on", "person", "priority", "state")
    print_listing(headings, (_cells(*row) for row in rows))


def _cells(entry: Entry, text: str) -> tuple[str, ...]:
    state = f"{entry.state}: {text}" if text else entry.state
    about = (f"#{entry.number}", entry.plan, entry.target, entry.person)
    return (*about, entry.priority.word, state)


def _print_json(rows: list[tuple[Entry, str]]) -> None:
    shown = ("number", "plan", "target", "person", "state", "job", "added_at")
    for entry, text in rows:
        known = {name: getattr(entry, name) for name in shown}
        more = {"priority": entry.priority.word, "drives": entry.drives, "text": text}
        print_line(json.dumps({**known, **more}))


def move(number: str, priority: str | None, first: bool, lab: Path | None) -> None:
    """Raises UsageError, DeskError, Missing."""
    if not (priority or first):
        raise UsageError("add --priority, --first, or both")
    chosen = priority_named(priority) if priority else None
    with desk_database(lab) as database:
        Queue(database).move(entry_number(number), chosen, first)


def cancel(number: str, lab: Path | None) -> None:
    """Raises UsageError, DeskError, Missing."""
    with desk_database(lab) as database:
        state = Queue(database).cancel(entry_number(number), login_name())
    ends = "ends; its desk stops the I/O" if state == "running" else "is cancelled"
    print_line(f"#{entry_number(number)} {ends}")


def entry_number(word: str) -> int:
    """Raises UsageError."""
    if not word.lstrip("#").isdecimal() or len(word) > 12:
        raise UsageError(f"{word!r} is not a number shown by `ioplan lab queue`")
    return int(word.lstrip("#"))


def work(once: bool, lab: Path | None, store: Path | None) -> None:
    """Start what waits. Raises DeskError, LabError, StoreError."""
    local, ended = store or default_path(), Event()
    with desk_database(lab) as database:
        if not once:
            signal.signal(signal.SIGTERM, lambda *_: ended.set())
            with working(database, lab, local):
                ended.wait()
            return
        with runner_of(database, lab, local) as runner:
            runner.turn()
            while any(one.desk == runner.desk for one in runner.queue.held()):
                ended.wait(WORK_S)
                runner.turn()
