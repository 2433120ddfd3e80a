"""A plan in the queue: who wants it run, on what, and how far it is."""

from __future__ import annotations

import json
from enum import IntEnum
from typing import Any, Literal

from msgspec import Struct, field

from ioplan.core.model import Model
from ioplan.store.connection import Row


class Priority(IntEnum):
    """What is started first; people share what is between."""

    LOW = 0
    NORMAL = 1
    HIGH = 2
    URGENT = 3

    @property
    def word(self) -> str:
        """As a person writes it."""
        return self.name.lower()


State = Literal["waiting", "starting", "running", "unknown", "ended", "cancelled"]
"""`unknown`: its desk says nothing any more, and somebody has to look."""
HOLDING = ("starting", "running", "unknown")
"""Its drives are in use, or may be."""
OPEN = ("waiting", *HOLDING)


class RunOptions(Model):
    """What `ioplan run` is told beside the plan and the target."""

    backend: str = ""
    create: str = ""
    settings: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    profile: str = "full"
    scale_time: float = 1.0
    allow: tuple[str, ...] = ()
    fresh: bool = False
    tags: tuple[str, ...] = ()
    note: str = ""

    @property
    def words(self) -> list[str]:
        """The words of the call."""
        pairs = [("--set", one) for one in self.settings]
        pairs += [("--test", one) for one in self.tests]
        pairs += [("--allow", one) for one in self.allow]
        pairs += [("--tag", one) for one in self.tags]
        single = {"backend": self.backend, "create": self.create, "note": self.note}
        pairs += [(f"--{name}", value) for name, value in single.items() if value]
        pairs += [("--profile", self.profile), ("--scale-time", f"{self.scale_time}")]
        return [f"{n}={v}" for n, v in pairs] + ["--fresh"] * self.fresh


class Wanted(Struct, frozen=True):
    """What a person adds. `files` are the plan and what it uses, the plan first.

    `drives` are the lab's names of the targets, `consent` the text of a signed list,
    `origin` says what added it, if no person did; times are UTC, ISO 8601, or empty.
    """

    person: str
    plan: str
    files: dict[str, str]
    target: str
    drives: tuple[str, ...]
    options: RunOptions = field(default_factory=RunOptions)
    priority: Priority = Priority.NORMAL
    not_before: str = ""
    consent: str = ""
    origin: str = ""


class Entry(Struct, frozen=True):
    """A row of the queue. `job` is the id that it runs by, from its start on.

    `desk` started it, and says until `lease` that it is alive. `message` says what it
    came to.
    """

    number: int
    person: str
    added_at: str
    priority: Priority
    position: int
    not_before: str
    plan: str
    files: dict[str, str]
    target: str
    drives: tuple[str, ...]
    options: RunOptions
    consent: str
    origin: str
    state: State
    desk: str
    lease: str
    job: str
    started_at: str
    ended_at: str
    cancelled_by: str
    message: str

    @property
    def holds(self) -> bool:
        """Whether its drives are in use, or may be."""
        return self.state in HOLDING


def row_of(wanted: Wanted, number: int, added_at: str) -> Row:
    """A new row."""
    empty = ("desk", "lease", "job", "started_at", "ended_at", "cancelled_by")
    return {
        "number": number,
        "person": wanted.person,
        "added_at": added_at,
        "priority": int(wanted.priority),
        "position": 0,
        "not_before": wanted.not_before,
        "plan": wanted.plan,
        "files": json.dumps(wanted.files),
        "target": wanted.target,
        "drives": json.dumps(wanted.drives),
        "options": wanted.options.model_dump_json(),
        "consent": wanted.consent,
        "origin": wanted.origin,
        "state": "waiting",
        "message": "",
        **dict.fromkeys(empty, ""),
    }


def entry_of(row: Row) -> Entry:
    """The entry of a row."""
    read: dict[str, Any] = {
        "priority": Priority(row["priority"]),
        "files": json.loads(row["files"]),
        "drives": tuple(json.loads(row["drives"])),
        "options": RunOptions.model_validate_json(row["options"]),
    }
    return Entry(**{**row, **read})
