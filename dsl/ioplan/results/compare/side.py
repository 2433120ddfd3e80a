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
from ioplan.results.compare.noise import Key
from ioplan.results.store.runs import Fields
from ioplan.results.store.store import Store


def needs_parts(metric: Metric) -> bool:
    """Whether a metric needs the streams, phases, telemetry or wear of a run."""
    is_of_part = metric.stream is not None or metric.phase is not None
    return is_of_part or metric.name in (*HOST, "verified")


class CellRuns(Struct):
    """The runs of one cell; with rounds, those of the last window.

    `occurrence` numbers the places of a session that do the very same.
    """

    run_id: str
    occurrence: int
    runs: list[RunRecord] = []
    failed: list[RunRecord] = []

    @property
    def key(self) -> Key:
        """The same for this cell in every session."""
        return self.run_id, self.occurrence

    @property
    def any(self) -> RunRecord:
        """One of the runs, for what all have in common."""
        return (self.runs or self.failed)[-1]

    def by_session(self) -> dict[str, list[RunRecord]]:
        """Its runs by session."""
        sessions: dict[str, list[RunRecord]] = {}
        for run in self.runs:
            sessions.setdefault(run.session, []).append(run)
        return sessions

    @property
    def workload(self) -> str:
        """The workload as text."""
        return canonical(self.any.asked.workload)

    @property
    def state(self) -> str:
        """The digest of the state that it starts from."""
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

    @property
    def runs(self) -> list[RunRecord]:
        """All runs, failed ones too."""
        return [run for cell in self.cells for run in (*cell.runs, *cell.failed)]

    def cells_by_session(self) -> list[tuple[CellRuns, ...]]:
        """The cells of single sessions, without those that have no finished run."""
        cells: dict[str, list[CellRuns]] = {session.id: [] for session in self.sessions}
        for cell in self.cells:
            for session, runs in cell.by_session().items():
                cells[session].append(CellRuns(cell.run_id, cell.occurrence, runs))
        return [tuple(own) for own in cells.values() if own]


def side_of(store: Store, sessions: Sequence[Session], parts: bool = False) -> Side:
    """Read a side; with `parts` also what `needs_parts`. Raises StoreError."""
    fields = Fields.ALL if parts else ~Fields.EXTRAS
    cells: dict[Key, CellRuns] = {}
    for session in sessions:
        _add(cells, store.records(session.id, fields=fields), "run")
    return Side(tuple(sessions), tuple(cells.values()))


def cells_of(records: Iterable[RunRecord], kind: str = "run") -> list[CellRuns]:
    """The cells of one session; with kind `prepare`, the steps of its preparations."""
    cells: dict[Key, CellRuns] = {}
    _add(cells, records, kind)
    return list(cells.values())


def _add(cells: dict[Key, CellRuns], records: Iterable[RunRecord], kind: str) -> None:
    """Add the runs of a session that count to their cells."""
    current = current_records(list(records))
    occurrences: dict[object, int] = {}
    count = Counter[str]()
    for record in _in_windows([run for run in current if run.asked.kind == kind]):
        if record.status == "interrupted":
            continue
        asked, id = record.asked, record.run_id
        place = id, asked.test, asked.step, tuple(sorted(asked.cell.items()))
        if place not in occurrences:
            occurrences[place] = count[id]
            count[id] += 1
        key = id, occurrences[place]
        cell = cells.setdefault(key, CellRuns(*key))
        (cell.runs if record.status == "ok" else cell.failed).append(record)


def _in_windows(records: Sequence[RunRecord]) -> list[RunRecord]:
    """Without the rounds before the last window of their test."""
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
