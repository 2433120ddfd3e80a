"""`ioplan lab hook`: who is told when a job has ended."""

from __future__ import annotations

import json as json_text
from pathlib import Path

from ioplan.cli import Terminal, listing, print_line, print_message
from ioplan.core import line
from ioplan.runner import login_name
from ioplan_lab.commands.desk.open_desk import desk_database
from ioplan_lab.commands.desk.queue import entry_number
from ioplan_lab.desk.database import time_in_words
from ioplan_lab.desk.hooks.hooks import Hooks

MOST_SHOWN = 10


def add_hook(url: str, events: list[str], inside: bool, lab: Path | None) -> None:
    """Raises DeskError."""
    with desk_database(lab) as database:
        made = Hooks(database).add(url, events or ["ended"], inside, login_name())
    print_message(f"hook {made.number} signs with this secret, shown only once:")
    print_line(made.secret)


def list_hooks(lab: Path | None, json: bool) -> None:
    """Print each, and the newest deliveries; no secret."""
    with desk_database(lab) as database:
        hooks, tried = Hooks(database).all(), Hooks(database).deliveries(MOST_SHOWN)
    if json:
        for one in hooks:
            names = ("number", "url", "events", "inside", "person", "at")
            print_line(json_text.dumps({name: getattr(one, name) for name in names}))
        return
    rows = (
        (str(one.number), ", ".join(one.events), one.url, one.person) for one in hooks
    )
    console = Terminal(highlight=False, soft_wrap=True)
    console.print(listing(("hook", "events", "address", "by"), rows))
    for due in tried:
        text = (
            f"{time_in_words(due.made_at)} {due.event} to hook {due.hook}: {due.state}"
        )
        console.print(line(f"{text} after {due.attempts} tries {due.answer}".rstrip()))


def remove_hook(number: str, lab: Path | None) -> None:
    """Raises UsageError, Missing."""
    with desk_database(lab) as database:
        Hooks(database).remove(entry_number(number))
