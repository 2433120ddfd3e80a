"""A plan in the queue: who wants it run, on what, and how far it is."""

from __future__ import annotations

import json
from enum import IntEnum
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import asdict

from ioplan.records import RunRequest
from ioplan.results.store import Row
from ioplan_lab.desk.errors import DeskError


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


NOT_QUEUED = {
    "lab": "it is the desk's",
    "overwrite": "a queue needs a signed list of consents",
    "overwrite_data": "a queue needs a signed list of consents",
    "cannot_see_users": "the lab file says it of a target",
    "baseline": "it is for one target, and an entry may have a group",
    "person": "it is who has added the entry",
}
"""What of a request an entry does not say, and why."""


def queueable(request: RunRequest) -> RunRequest:
    """What others may have a desk run. Raises DeskError.

    Whoever may write to the queue does not choose programs of the desk's host.
    """
    for option in request.options:
        if "/" in option.partition("=")[2]:
            raise DeskError(
                f"--option {option}: the queue takes no path; set it in the lab file"
            )
    nothing = RunRequest()
    unsaid = {name: getattr(nothing, name) for name in NOT_QUEUED}
    return request.model_copy(update=unsaid)


class QueueEntry(Struct, frozen=True):
    """What a person adds. `files` are the plan and what it uses, the plan first.

    `drives` are the lab's names of the targets, `consent` the text of a signed list,
    `origin` says what added it, if no person did; times are UTC, ISO 8601, or empty.
    """

    person: str
    plan: str
    files: dict[str, str]
    target: str
    drives: tuple[str, ...]
    request: RunRequest = field(default_factory=RunRequest)
    priority: Priority = Priority.NORMAL
    not_before: str = ""
    consent: str = ""
    origin: str = ""


class Entry(QueueEntry, frozen=True, kw_only=True):
    """A row of the queue. `job` is the id that it runs by, from its start on.

    `desk` started it, and says until `lease` that it is alive. `message` says what it
    came to.
    """

    number: int
    added_at: str
    position: int
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


def row_of(wanted: QueueEntry, number: int, added_at: str) -> Row:
    """A new row."""
    times = ("lease", "started_at", "ended_at")
    empty = (*times, "desk", "job", "cancelled_by", "message")
    texts = {
        "priority": int(wanted.priority),
        "files": json.dumps(wanted.files),
        "drives": json.dumps(wanted.drives),
        "request": wanted.request.model_dump_json(),
    }
    begun = {"number": number, "added_at": added_at, "position": 0, "state": "waiting"}
    return {**asdict(wanted), **texts, **begun, **dict.fromkeys(empty, "")}


def entry_of(row: Row) -> Entry:
    """The entry of a row."""
    read: dict[str, Any] = {
        "priority": Priority(row["priority"]),
        "files": json.loads(row["files"]),
        "drives": tuple(json.loads(row["drives"])),
        "request": RunRequest.model_validate_json(row["request"]),
    }
    return Entry(**{**row, **read})
