"""Where in its plan a run is, and how it ended: a small part of its record."""

from __future__ import annotations

from typing import Protocol

from pydantic import ConfigDict

from ioplan.core.model import Model
from ioplan.records.record import Decided, Status, Steady


class Where(Protocol):
    """The place in the plan; `ioplan.records.record.Asked` is one."""

    @property
    def test(self) -> str: ...
    @property
    def cell(self) -> dict[str, str]: ...
    @property
    def kind(self) -> str: ...
    @property
    def step(self) -> int: ...
    @property
    def round(self) -> int: ...
    @property
    def iteration(self) -> int: ...


class Outlined(Protocol):
    """A record as far as it is told from others; `RunRecord` is one."""

    @property
    def session(self) -> str: ...
    @property
    def seq(self) -> int: ...
    @property
    def run_id(self) -> str: ...
    @property
    def status(self) -> Status: ...
    @property
    def asked(self) -> Where: ...
    @property
    def steady(self) -> Steady | None: ...
    @property
    def decided(self) -> Decided | None: ...


class _Part(Model):
    """What it does not name of a record's JSON is skipped."""

    model_config = ConfigDict(extra="ignore")


class AskedOutline(_Part):
    """`Asked` without the workload and the job, which are most of it."""

    test: str
    cell: dict[str, str]
    kind: str
    step: int
    round: int = 0
    iteration: int = 0


class Outline(_Part):
    """A tenth of the time of a whole record is enough to read it."""

    session: str
    seq: int
    run_id: str
    status: Status
    asked: AskedOutline
    steady: Steady | None = None
    decided: Decided | None = None
