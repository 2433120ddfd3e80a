"""One invocation of a plan: what all of its runs have in common."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from ioplan import __version__
from ioplan.core.model import Model
from ioplan.records.drive import Drive
from ioplan.records.session_id import new_session_id

SessionStatus = Literal["running", "ok", "failed", "interrupted"]

TAG = r"^\w[\w.:@+/=-]{0,63}$"
"""A word, so that tags can be listed with blanks or commas between them."""
MAX_NOTE = 2000
"""Characters: a note is a remark, not a report."""


def _one_word(tag: str) -> str:
    """By Python's own expressions: pydantic's take 40 ms to compile 64 times `\\w`,
    in each session, whether it has tags or not."""
    if not re.fullmatch(TAG, tag):
        raise ValueError(f"a tag is one word, which {tag!r} is not")
    return tag


Tag = Annotated[str, AfterValidator(_one_word)]


def _each_once(tags: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(set(tags)))


Tags = Annotated[tuple[Tag, ...], AfterValidator(_each_once)]


class Session(Model):
    """A plan that was started, and how far it came."""

    id: str = Field(
        description="sorts by time; also names a folder, so nothing else may be in it",
        default_factory=new_session_id,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$",
    )
    plan: str = Field(description="the plan's name")
    plan_file: str = ""
    plan_text: str = Field(description="the plan as it was run", default="")
    started_at: str = Field(description="UTC, ISO 8601")
    ended_at: str | None = None
    status: SessionStatus = "running"
    backend: str
    target: str
    args: dict[str, Any] = Field(
        description="what the plan was called with", default={}
    )
    host: dict[str, Any] = Field(
        description="facts of the host that it was started on", default={}
    )
    ioplan: str = Field(description="version", default=__version__)
    job: str | None = Field(description="the job that it is a lane of", default=None)
    person: str = Field(description="who started it", default="")
    host_name: str = Field(description="where it was started", default="")
    drive: Drive | None = Field(
        description="absent of a file that no lab names", default=None
    )
    tags: Tags = ()
    note: str = Field(
        description="a remark of a person", default="", max_length=MAX_NOTE
    )


EventKind = Literal[
    "resumed", "edited", "state", "left-out", "purged", "failed", "tagged"
]


class SessionEvent(Model):
    """One thing that happened."""

    at: str = Field(description="UTC, ISO 8601")
    kind: EventKind
    text: str = Field(
        description="for a person; of `edited`, the plan as it was before"
    )


class KnownState(Model):
    """The last state that a session has brought a target into."""

    target: str = Field(description="identifies the target, not its path")
    path: tuple[str, ...] = Field(
        description="digests of the steps that led to it; empty when it was written "
        "to since"
    )
    name: str = Field(description="of the precondition", default="")
    evidence: dict[str, str] = Field(
        description="figures that change when anything writes to the target", default={}
    )
    session: str
    at: str = Field(description="UTC, ISO 8601")
