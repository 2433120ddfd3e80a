"""One side of a comparison: the runs of its sessions, cell by cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from ioplan.language.metric import HOST, Metric
from ioplan.planner.run_id import canonical
from ioplan.records.current import current_records
from ioplan.records.record import RunRecord
from ioplan.records.session import Session
from ioplan.records.window import window_of
from ioplan.results.store.runs import Fields
from ioplan.results.store.store import Store


def needs_parts(metric: Metric) -> bool:
    """Whether a metric needs the streams, phases, telemetry or wear of a run."""
    of_part = metric.stream is not None or metric.phase is not None
    return of_part or metric.name in (*HOST, "verified")


Place = tuple[str, int, tuple[tuple[str, str], ...]]
"""Test, step and cell, as one session has them."""


class CellRuns(Struct):
    """The runs of one cell; of rounds, those of the last window.

    `occurrence` distinguishes places of one session that do the very same.
    """

    run_id: str
    occurrence: int
    runs: list[RunRecord] = []
    failed: list[RunRecord] = []

    @property
    def any(self) -> RunRecord:
        """One of the runs, for what all have in common."""
        return (self.runs or self.failed)[-1]

    def by_session(self) -> dict[str, list[RunRecord]]:
        """Its runs by the session that did them."""
        found: dict[str, list[RunRecord]] = {}
        for run in self.runs:
            found.setdefault(run.session, []).append(run)
        return found

    @property
    def workload(self) -> str:
        """What it asks of the target, as text."""
        return canonical(self.any.asked.workload)

    @property
    def state(self) -> str:
        """What it starts from, as a digest."""
        after = self.any.asked.after
        return after.digest if after else ""

    @property
    def cell(self) -> tuple[tuple[str, str], ...]:
        """Its place in the matrix."""
        return tuple(sorted(self.any.asked.cell.items()))


class Side(Struct, frozen=True):
    """The sessions of a side and their cells, in the order of the plan."""

    sessions: tuple[Session, ...]
    cells: tuple[CellRuns, ...]


def side_of(store: Store, sessions: Sequence[Session], parts: bool = False) -> Side:
    """Read a side, with what `needs_parts` of its runs if asked. Raises StoreError."""
    cells: dict[tuple[str, int], CellRuns] = {}
    fields = Fields.ALL if parts else ~Fields.EXTRAS
    for session in sessions:
        records = current_records(list(store.records(session.id, fields=fields)))
        _add(cells, [record for record in records if record.asked.kind == "run"])
    return Side(tuple(sessions), tuple(cells.values()))


def cells_of(records: Iterable[RunRecord], kind: str = "run") -> list[CellRuns]:
    """The cells of one session; with kind `prepare`, the steps of its preparations."""
    cells: dict[tuple[str, int], CellRuns] = {}
    current = current_records(list(records))
    _add(cells, [record for record in current if record.asked.kind == kind])
    return list(cells.values())


def _add(cells: dict[tuple[str, int], CellRuns], records: list[RunRecord]) -> None:
    """Add a session: a run that counts finds its cell by what it does."""
    turns: dict[tuple[str, Place], int] = {}
    seen: Counter[str] = Counter()
    for record in _counting(records):
        if record.status == "interrupted":
            continue
        key = record.run_id, _place(record)
        if key not in turns:
            turns[key] = seen[record.run_id]
            seen[record.run_id] += 1
        turn = turns[key]
        cell = cells.setdefault((record.run_id, turn), CellRuns(record.run_id, turn))
        (cell.runs if record.status == "ok" else cell.failed).append(record)


def _place(record: RunRecord) -> Place:
    asked = record.asked
    return asked.test, asked.step, tuple(sorted(asked.cell.items()))


def _counting(records: Iterable[RunRecord]) -> list[RunRecord]:
    """Without the rounds before the last window of their test."""
    records = list(records)
    by_test: dict[str, list[RunRecord]] = {}
    for record in records:
        by_test.setdefault(record.asked.test, []).append(record)
    windows = {test: window_of(runs) for test, runs in by_test.items()}
    return [
        record
        for record in records
        if (window := windows[record.asked.test]) is None
        or not record.asked.round
        or window.holds(record)
    ]
