"""`ioplan lab schedule`: plans at certain times."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Any

from ioplan.cli import print_line, print_listing
from ioplan_lab.commands.desk.open_desk import desk_database
from ioplan_lab.commands.desk.queue import start_form_of
from ioplan_lab.desk.database import time_in_words
from ioplan_lab.desk.schedules.schedule import Missed, Schedules


def add_schedule(
    *, name: str, cron: str, zone: str, missed: Missed, lab: Path | None, **asked: Any
) -> None:
    """Raises PlanError, DeskError, ConsentListError."""
    wanted = start_form_of(lab=lab, after=None, **asked)
    with desk_database(lab) as database:
        made = Schedules(database).add(name, cron, zone, missed, wanted)
    due = time_in_words(made.next_at)
    print_line(f"{name}: {wanted.plan} on {wanted.target}, next at {due}")


def list_schedules(lab: Path | None, json: bool) -> None:
    """Print each with its next time."""
    with desk_database(lab) as database:
        found = Schedules(database).all()
    if json:
        for one in found:
            names = (
                "name",
                "cron",
                "zone",
                "missed",
                "next_at",
                "last_at",
                "last_text",
            )
            known = {key: getattr(one, key) for key in names}
            more = {"plan": one.wanted.plan, "target": one.wanted.target}
            print_line(json_text.dumps({**known, **more}))
        return
    rows = []
    for one in found:
        last = time_in_words(one.last_at) if one.last_at else ""
        last = f"{last} {one.last_text}".strip()
        times = f"{one.cron} {one.zone}, missed: {one.missed}"
        first = (one.name, times, one.wanted.plan, one.wanted.target)
        rows.append((*first, time_in_words(one.next_at), last))
    print_listing(("schedule", "times", "plan", "on", "next", "last"), rows)


def remove_schedule(name: str, lab: Path | None) -> None:
    """Raises Missing."""
    with desk_database(lab) as database:
        Schedules(database).remove(name)
