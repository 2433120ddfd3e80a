"""A lane: one plan on one target of one host; what it has to do, and its state."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Literal, get_args

from pydantic import Field

from ioplan.core import Model, time_text
from ioplan.records import RunRequest

SEVERAL = ", "
"""Between the targets, and between the drives, of one run."""


class LaneCall(Model):
    """Everything that the host needs: nothing is read from the caller's disk.

    `files` are the plan and what it uses, by paths below the lane's folder, `lab` is
    the lab file as the host needs it, which `request` does not name.
    Two lanes of a host that share one of their `locks` do not run at the same time.
    `title` and `where` are the job's, `drive` is what identifies the drive, if the lab
    says so, and `results` the database in which the lane is told of.
    A plain run on this host has no `plan`, as nobody starts it again, and may have
    several targets and drives.
    """

    job: str
    session: str
    target: str
    host: str = ""
    plan: str
    files: dict[str, str]
    lab: str
    request: RunRequest = Field(default_factory=RunRequest)
    locks: tuple[str, ...] = ()
    store: str | None = None
    title: str = ""
    where: str = ""
    drive: str = ""
    results: str | None = None


LaneStatus = Literal[
    "waiting",
    "running",
    "unknown",
    "ok",
    "skipped",
    "unmet",
    "refused",
    "stopped",
    "failed",
    "died",
]
"""`unknown`: its host does not report, and the lane was seen there before.
`skipped`: its host did not report when the job began. `unmet`: an expectation was not
shown to hold. `died`: killed, and killed again after each restart. `stopped`: by a
signal or by `ioplan cancel`."""
GOES_ON: tuple[LaneStatus, ...] = ("waiting", "running", "unknown")

CANCELLED = "cancelled by "
"""Begins the message of a lane that a person has ended."""
BY_EXIT: dict[int, LaneStatus] = {
    0: "ok",
    1: "unmet",
    2: "refused",
    3: "failed",
    130: "stopped",
}
EXIT = {status: code for code, status in BY_EXIT.items()} | {"skipped": 1, "died": 3}
"""Of a job whose gravest lane ended so."""


class LaneState(Model):
    """The latest known state. `done` is the fraction of the plan, from 0 to 1."""

    job: str
    session: str
    target: str
    host: str = ""
    status: LaneStatus = "waiting"
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
    errors_file: str = Field(description="on its host: all of its errors", default="")
    at_s: float = Field(description="of the host's clock", default_factory=time.time)

    @property
    def ended(self) -> bool:
        """Whether the lane has ended, in whatever way."""
        return self.status not in GOES_ON

    @property
    def reason(self) -> str:
        """Why it did not end well, in a line: the error, else what was said last.

        Notes and warnings are about something else, such as its power meter.
        """
        lines = [one for one in self.message.splitlines() if one.strip()]
        errors = (one for one in lines if one.startswith("error:"))
        said = [one for one in lines if not one.startswith(("note:", "warning:"))]
        return next(errors, (said or [""])[-1])

    def unheard(self, silent_s: float) -> LaneState:
        """The lane's state while its host has not reported for so long."""
        if self.ended:
            return self
        seen = f"last seen {self.status} {self.done:.0%}"
        change = {"status": "unknown", "message": f"{seen}, {time_text(silent_s)} ago"}
        return self.model_copy(update=change)


def gravest(states: Iterable[LaneState]) -> LaneState:
    """The one that a job is judged by: graver statuses come later in LaneStatus."""
    return max(states, key=lambda one: get_args(LaneStatus).index(one.status))


def initial_state(call: LaneCall) -> LaneState:
    """The state of a lane of which nothing is known yet."""
    same = ("job", "session", "target", "host")
    return LaneState(**{name: getattr(call, name) for name in same})
