"""One invocation of a plan: what all of its runs have in common."""

from __future__ import annotations

import os
from typing import Any, Literal

from pydantic import Field

from ioplan.core.model import Model, about
from ioplan.core.version import __version__
from ioplan.records.drive import Drive
from ioplan.records.run_request import Note, Resolved, RunRequest, Tags
from ioplan.records.session_id import new_session_id

SessionStatus = Literal["running", "ok", "failed", "interrupted"]


class Session(Model):
    """A plan that was started, and how far it came."""

    id: str = Field(
        description="sorts by time; also names a folder, so nothing else may be in it",
        default_factory=new_session_id,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$",
    )
    plan: str = Field(description="the plan's name")
    plan_file: str = ""
    plan_text: str = about("the plan as it was run", "")
    started_at: str = Field(description="UTC, ISO 8601")
    ended_at: str | None = None
    status: SessionStatus = "running"
    backend: str
    target: str
    request: RunRequest = Field(
        description="what was asked for", default_factory=RunRequest
    )
    resolved: Resolved = Field(
        description="what that came to on its host", default_factory=Resolved
    )
    host: dict[str, Any] = about("facts of the host that it was started on", {})
    ioplan: str = about("version", __version__)
    job: str | None = about("the job that it is of", None)
    person: str = about("who started it", "")
    host_name: str = about("where it was started", "")
    drive: Drive | None = about("absent of a file that no lab names", None)
    expected: int = Field(
        description="how many verdicts there are if all of the plan is measured; 0 if "
        "nobody knows",
        default=0,
        ge=0,
    )
    unmet: int = Field(
        description="how many steady states and values of seeks that the plan asks "
        "for were not reached; 0 until the session has ended",
        default=0,
        ge=0,
    )
    tags: Tags = ()
    note: Note = about("a remark of a person", "")

    def is_on(self, target: str) -> bool:
        """Whether it ran on a target: a path, a serial number or a name of the lab."""
        drive = self.drive
        names = (drive.serial, drive.wwid, drive.lab_name) if drive else ()
        return target in (self.target, *filter(None, names)) or (
            os.path.abspath(target) == self.target  # noqa: PTH100  links are kept
        )


EventKind = Literal[
    "resumed",
    "edited",
    "state",
    "left-out",
    "within",
    "purged",
    "failed",
    "tagged",
    "signal",
]


class SessionEvent(Model):
    """One thing that happened."""

    at: str = Field(description="UTC, ISO 8601")
    kind: EventKind
    text: str = Field(
        description="for a person; of `edited`, the plan as it was before; "
        "of `signal`, what a look at the history said of a series, as JSON"
    )


class KnownState(Model):
    """The last state that a session has brought a target into."""

    target: str = Field(description="identifies the target, not its path")
    path: tuple[str, ...] = Field(
        description="digests of the steps that led to it; empty when it was written "
        "to since"
    )
    name: str = about("of the precondition", "")
    evidence: dict[str, str] = about(
        "figures that change when anything writes to the target", {}
    )
    account: str = about(
        "of all that was written to it, as ioplan.drive_account has it", ""
    )
    session: str
    at: str = Field(description="UTC, ISO 8601")
