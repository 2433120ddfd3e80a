"""A drive job: one plan on the drives of one host; what it has to do, and its state."""

from __future__ import annotations

import time
from typing import Literal

from pydantic import Field

from ioplan.core import Model
from ioplan.records import RunRequest

SCHEMA = 1
"""Of what the database has of a job. A host refuses what it does not know."""

Status = Literal[
    "waiting", "running", "ok", "unmet", "refused", "stopped", "failed", "died"
]
"""`unmet`: an expectation was not shown to hold. `died`: killed, and killed again after
each restart. `stopped`: by a signal or by `ioplan lab cancel`."""
OPEN: tuple[Status, ...] = ("waiting", "running")
BY_EXIT: dict[int, Status] = {
    0: "ok",
    1: "unmet",
    2: "refused",
    3: "failed",
    130: "stopped",
}


class DriveJob(Model):
    """All that a host needs: nothing is read from the disk of who submitted it.

    `files` are the plan and what it uses, by paths below the folder of the drive job.
    `round` counts how often a person let it go on after its end. `host` is empty for
    what was started on this host itself, which alone names a lab file and a `store`.
    """

    schema_version: int
    session: str = Field(pattern=r"^[0-9a-z-]{1,64}$")
    job: str = Field(pattern=r"^[0-9a-z-]{1,64}$")
    person: str
    host: str
    drives: tuple[str, ...]
    round: int = 0
    plan: str
    files: dict[str, str]
    request: RunRequest = Field(default_factory=RunRequest)
    expected: int = 0
    title: str = ""
    store: str = ""

    @property
    def as_queued(self) -> DriveJob:
        """Without what only this host may say."""
        request = self.request.model_copy(update={"lab": None})
        return self.model_copy(update={"request": request, "store": ""})


class JobState(Model):
    """The latest known state. `done` is the fraction of the plan, from 0 to 1."""

    session: str
    round: int = 0
    status: Status = "waiting"
    exit_code: int | None = None
    attempts: int = 0
    step: str = ""
    done: float = 0.0
    runs: int = 0
    unmet: int = 0
    iops: float | None = None
    p99_ns: float | None = None
    temperature_celsius: float | None = None
    left_s: float | None = None
    message: str = ""
    at_s: float = Field(description="of the host's clock", default_factory=time.time)

    @property
    def ended(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self.status not in OPEN
