"""Where in its plan a run is, and how it ended: a small part of its record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

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
    @property
    def removed(self) -> bool: ...


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
    removed: bool = False


class Outline(_Part):
    """A tenth of the time of a whole record is enough to read it."""

    session: str
    seq: int
    run_id: str
    status: Status
    asked: AskedOutline
    steady: Steady | None = None
    decided: Decided | None = None


# The records that count, where `resume` repeated something.

RunSlot = tuple[object, ...]
"""The step, round, repeat and cell of a session that a run is of."""
One = TypeVar("One", bound=Outlined)


def current_records(records: Sequence[One]) -> list[One]:
    """One for each place in the plan, in their order, and all preparations.

    Of the run that was last asked for there it is the last finished record, or else
    the last. What an edited plan no longer has does not count.
    """
    by_slot: dict[RunSlot, list[One]] = {}
    for record in (one for one in records if not one.asked.removed):
        by_slot.setdefault(_slot(record), []).append(record)
    kept = {id(_last(found)) for found in by_slot.values()}
    return [record for record in records if id(record) in kept]


def _slot(record: Outlined) -> RunSlot:
    asked = record.asked
    if asked.kind != "run":
        return record.session, record.seq
    turn = asked.step, asked.round, asked.iteration
    return record.session, asked.test, *turn, *sorted(asked.cell.items())


def _last(records: list[One]) -> One:
    asked_last = [r for r in records if r.run_id == records[-1].run_id]
    finished = [record for record in asked_last if record.status == "ok"]
    return (finished or asked_last)[-1]
