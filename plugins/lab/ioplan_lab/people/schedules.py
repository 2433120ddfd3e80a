"""`ioplan lab schedule`: plans at given times, which the database starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ioplan.cli import (
    UsageError,
    plan_path,
    print_line,
    print_listing,
    requested,
    requested_plan,
)
from ioplan.planner import summary_of
from ioplan_lab.database.connection import lab_address, lab_database
from ioplan_lab.people.selection import key_of
from ioplan_lab.people.submit import chosen_drives, submission
from ioplan_lab.people.watch import print_json

FIELDS = {
    "minutes": (0, 59),
    "hours": (0, 23),
    "days": (1, 31),
    "months": (1, 12),
    "weekdays": (0, 7),
}
NAMES = {
    "months": "jan feb mar apr may jun jul aug sep oct nov dec",
    "weekdays": "sun mon tue wed thu fri sat",
}
ALL = "SELECT * FROM lab.schedule ORDER BY name"


def add(
    *,
    name: str,
    plan: Path,
    on: str | None,
    cron: str,
    zone: str,
    missed: str,
    **others: Any,
) -> None:
    """Raises UsageError, PlanError, StoreError."""
    if not on:
        raise UsageError("add --on: the drives that the plan is run on")
    if missed not in ("skip", "once"):
        raise UsageError(f"--missed is skip or once, not {missed!r}")
    asked = requested(others)
    checked = requested_plan(plan_path(plan), asked)
    with lab_database(lab_address(asked.lab)) as database:
        drives = chosen_drives(database, on, writes=summary_of(checked).writes)
        job = submission("", checked, asked, drives)
        named = {"name": name, "cron": cron, "zone": zone, "job": job}
        times = cron_fields(cron) | {"once_if_missed": missed == "once"}
        database.call("add_schedule", named | times)
    print_line(f"{name}: {cron} {zone}, on {', '.join(map(key_of, drives))}")


def cron_fields(text: str) -> dict[str, Any]:
    """The five fields as lists of numbers. Raises UsageError."""
    words = text.split()
    if len(words) != len(FIELDS):
        raise UsageError(f"--cron has five fields, as '0 2 * * *', not {text!r}")
    fields = {
        name: sorted(numbers_of(name, word))
        for name, word in zip(FIELDS, words, strict=True)
    }
    fields["weekdays"] = sorted({number % 7 for number in fields["weekdays"]})
    return fields | {"any_day": "*" not in (words[2][0], words[4][0])}


def numbers_of(name: str, word: str) -> set[int]:
    """Of a field such as `*/5`, `1-5,7` or `mon-fri`. Raises UsageError."""
    found: set[int] = set()
    for part in word.lower().split(","):
        span, slash, step = part.partition("/")
        first, dash, last = span.partition("-")
        low, high = FIELDS[name]
        if span != "*":
            low = number_of(name, first)
            high = number_of(name, last) if dash else high if slash else low
        if (slash and not step.isdecimal()) or step == "0" or low > high:
            raise UsageError(f"--cron: {part!r} is no part of the {name}")
        found.update(range(low, high + 1, int(step or 1)))
    return found


def number_of(name: str, word: str) -> int:
    """A number, or a name of three letters. Raises UsageError."""
    low, high = FIELDS[name]
    names = NAMES.get(name, "").split()
    if word in names:
        return names.index(word) + low
    if word.isdecimal() and low <= int(word) <= high:
        return int(word)
    raise UsageError(f"--cron: {word!r} is none of the {name}, {low} to {high}")


def show(lab: Path | None, json: bool) -> None:
    """Print them. Raises UsageError, StoreError."""
    with lab_database(lab_address(lab)) as database:
        rows = database.rows(ALL)
    if json:
        print_json(rows)
        return
    columns = ("name", "cron", "zone", "person", "last_job", "message")
    headings = ("schedule", "when", "zone", "person", "last job", "")
    print_listing(headings, [tuple(row[key] for key in columns) for row in rows])


def remove(name: str, lab: Path | None) -> None:
    """Raises UsageError, StoreError."""
    with lab_database(lab_address(lab)) as database:
        if not database.call("remove_schedule", name):
            raise UsageError(f"you have no schedule {name!r}")
    print_line(f"{name} is removed")
