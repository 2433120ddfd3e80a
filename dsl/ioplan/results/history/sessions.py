"""All sessions that did the same runs: their conditions, and the figures of cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from math import isfinite
from operator import attrgetter, itemgetter
from typing import Any

from msgspec import Struct

from ioplan.language.metric import Metric
from ioplan.records.record import RunRecord
from ioplan.records.setup import drive_of, identity_of
from ioplan.results.compare.noise import logs_of
from ioplan.results.compare.side import CellRuns, Key, cells_of
from ioplan.results.measure.metrics import NOTHING, UNREAD, Figure, of_result
from ioplan.results.report.reader import Reader
from ioplan.results.store.connection import Row
from ioplan.results.store.errors import validated
from ioplan.results.store.figures import TOTAL, columns_of
from ioplan.results.store.runs import OF_RUN, SLOT, Fields, Outlines, read_outlines
from ioplan.results.store.store import Store, listed

# The conditions of a session: series are parted by some, and others may have changed.

Conditions = Mapping[str, str]
"""Name to text; empty where it is unknown."""
MITIGATIONS = "mitigations"


def _host(*names: str) -> Callable[[RunRecord], str]:
    def read(run: RunRecord) -> str:
        fact: Any = run.host
        for name in names:
            fact = fact.get(name) if isinstance(fact, dict) else None
        if isinstance(fact, dict):
            return ", ".join(f"{name} {text}" for name, text in sorted(fact.items()))
        return "" if fact is None else str(fact)

    return read


CONDITIONS: dict[str, Callable[[RunRecord], str]] = {
    "drive": drive_of,
    "firmware": lambda run: str(identity_of(run).get("firmware") or ""),
    "host": _host("hostname"),
    "kernel": _host("kernel"),
    "backend": lambda run: run.backend.name,
    "backend version": lambda run: f"{run.backend.name} {run.backend.version}",
    "backend mode": lambda run: run.backend.mode,
    "ioplan": lambda run: run.ioplan,
    "governor": _host("governor"),
    "scheduler": _host("target", "scheduler"),
    "merges": _host("target", "nomerges"),
    "write cache": _host("target", "write_cache"),
    "file system": _host("target", "file_system"),
    "link speed": _host("target", "current_link_speed"),
    "link width": _host("target", "current_link_width"),
    "CPU": _host("cpu"),
    "CPUs": _host("cpus"),
    MITIGATIONS: _host("mitigations"),
}
"""In the order in which they are listed."""
BY = ("drive", "firmware", "host", "kernel", "backend", "ioplan")
"""What series may be parted by."""
DEFAULT_BY = ("drive", "host", "backend")
"""What they are parted by; other conditions may change within a series."""


def changed(before: Conditions, after: Conditions) -> tuple[str, ...]:
    """`firmware 1.0 -> 1.1` for all that are known of both and differ."""
    if before is after:
        return ()
    values = {n: (before.get(n, ""), after.get(n, "")) for n in CONDITIONS}
    if before.get("backend version"):
        del values["backend"]  # the version has both
    return tuple(
        name if name == MITIGATIONS else f"{name} {old} -> {new}"
        for name, (old, new) in values.items()
        if old and new and old != new
    )


# The figures of sessions.

Logs = dict[Key, tuple[float, ...]]
"""By cell, the logarithms of its runs' figures."""


class Cell(Struct, frozen=True):
    """The same runs in several sessions, under their newest names."""

    key: Key
    run_id: str
    test: str
    cell: tuple[tuple[str, str], ...]


class SessionFigures(Struct, frozen=True):
    """A session, the time that it began at, and its figures by metric."""

    session: str
    at: str
    conditions: Conditions
    figures: Mapping[str, Logs]


PAGE_RUNS = 2000
"""So many runs, by the number of ids, are read at once."""


def read_sessions(
    store: Store,
    sessions: Sequence[str],
    run_ids: Sequence[str],
    metrics: Sequence[Metric],
    kind: str = "run",
) -> tuple[list[SessionFigures], list[Cell]]:
    """Read these runs of these sessions, two queries a page; sessions by their ids,
    cells in the order of the runs. Raises StoreError."""
    reader = SessionReader(store, run_ids, metrics, kind)
    size = max(1, PAGE_RUNS // max(1, len(run_ids)))
    figures: list[SessionFigures] = []
    for first in range(0, len(sessions), size):
        figures += reader.read(sessions[first : first + size])
    figures.sort(key=attrgetter("session"))
    places = {run_id: place for place, run_id in enumerate(run_ids)}
    cells = reader.cells.values()
    return figures, sorted(cells, key=lambda cell: places[cell.run_id])


SETTING = ("ioplan", "backend", "target", "env")
_setting = itemgetter(*SETTING)
STEADY = SLOT.index("steady")
"""A run that ended steady is told by its last window, which its columns do not have."""
Places = Mapping[Cell, Sequence[int]]
"""Which of a session's runs are of a cell."""


class SessionReader:
    """Reads figures from columns, or from records if the metrics need more.

    Sessions whose runs have the same places in the plan have the same cells, and those
    with the same setting the same conditions: both are read once.
    """

    def __init__(
        self,
        store: Store,
        run_ids: Sequence[str],
        metrics: Sequence[Metric],
        kind: str,
    ) -> None:
        self._store, self._reader = store, Reader(store)
        self._run_ids, self._metrics, self._kind = run_ids, metrics, kind
        self._needs_records = not all(map(columns_of, metrics))
        self._columns: dict[str, set[str]] = {}
        for metric in () if self._needs_records else metrics:
            names = self._columns.setdefault(metric.direction or TOTAL, set())
            names.update(columns_of(metric) or ())
        self._places: dict[object, Places] = {}
        self._conditions: dict[tuple[str, ...], Conditions] = {}
        self.cells: dict[Key, Cell] = {}

    def read(self, sessions: Sequence[str]) -> Iterator[SessionFigures]:
        """Those of these sessions that have any of the runs."""
        condition, values = self._condition(sessions)
        with validated("run"), self._store.reading() as connection:
            page = read_outlines(connection, self._columns, condition, **values)
        records = None
        if self._needs_records:
            records = self._store.runs(Fields.ALL, condition, **values)
        firsts, figures, end = {}, {}, 0
        for session, runs in groupby(page.runs, key=attrgetter("session")):
            start, end = end, end + len([*runs])
            places = self._places_of(session, page.slots[start:end])
            if places:
                firsts[session] = page.runs[start + next(iter(places.values()))[0]].seq
                self.cells |= {cell.key: cell for cell in places}
                figures[session] = self._figures(page, records, start, places)
        for row in self._settings(firsts):
            id, began = row["session"], row["started_at"]
            yield SessionFigures(id, began, self._setting(row), figures[id])

    def _condition(self, sessions: Iterable[str]) -> tuple[str, dict[str, str]]:
        of_sessions, names = listed("run.session", [*sessions])
        of_ids, ids = listed("run.run_id", self._run_ids)
        return f"{of_sessions} AND {of_ids}", names | ids

    def _places_of(self, session: str, slots: list[tuple[object, ...]]) -> Places:
        key = tuple(slots)
        if key in self._places:
            return self._places[key]
        condition, values = self._condition([session])
        records = self._store.runs(Fields.PLACE, condition, **values)
        numbers = {run.seq: number for number, run in enumerate(records)}
        places = {
            _cell(cell): [numbers[run.seq] for run in cell.runs]
            for cell in cells_of(records, self._kind)
            if cell.runs
        }
        if not any(run.steady or run.decided for run in records):  # else hardly alike
            self._places[key] = places
        return places

    def _figures(
        self,
        page: Outlines,
        records: Sequence[RunRecord] | None,
        start: int,
        places: Places,
    ) -> dict[str, Logs]:
        """Raises StoreError."""
        figures: dict[str, Logs] = {}
        with validated(f"figures of session {page.runs[start].session!r}"):
            for metric in self._metrics:
                of_run = partial(self._figure, metric, page, records)
                logs = figures[str(metric)] = {
                    cell.key: own
                    for cell, numbers in places.items()
                    if (own := logs_of([of_run(start + at) for at in numbers]))
                }
                if not isfinite(sum(map(sum, logs.values()))):
                    raise ValueError("a figure is infinite")
        return figures

    def _figure(
        self,
        metric: Metric,
        page: Outlines,
        records: Sequence[RunRecord] | None,
        at: int,
    ) -> Figure:
        if records:
            return self._reader.figure(metric, [records[at]])
        run, result = page.runs[at], page.results[metric.direction or TOTAL][at]
        if not result or not result.ios:
            return NOTHING
        is_tracked = page.slots[at][STEADY] is not None
        figure = UNREAD if is_tracked else of_result(metric, run, result)
        if figure is not UNREAD:
            return figure
        key = {"session": run.session, "seq": run.seq}
        fields = Fields.FIGURES | Fields.WORKLOAD
        records = self._store.runs(fields, OF_RUN, **key)
        return self._reader.figure(metric, records)

    def _settings(self, firsts: Mapping[str, int]) -> list[Row]:
        """What the first runs of sessions say of all of them."""
        if not firsts:
            return []
        condition, values = listed("run.session", [*firsts])
        numbers = ", ".join(map(str, {*firsts.values()}))
        query = f"""
            SELECT session, seq, started_at, {", ".join(SETTING)} FROM run
            WHERE {condition} AND run.seq IN ({numbers})"""
        with self._store.reading() as connection:
            rows = connection.rows(query, **values)
        return [row for row in rows if firsts[row["session"]] == row["seq"]]

    def _setting(self, row: Row) -> Conditions:
        key = _setting(row)
        if key not in self._conditions:
            of_run = {"session": row["session"], "seq": row["seq"]}
            (run,) = self._store.runs(Fields.SETUP, OF_RUN, **of_run)
            conditions = {name: read(run) for name, read in CONDITIONS.items()}
            self._conditions[key] = conditions
        return self._conditions[key]


def _cell(cell: CellRuns) -> Cell:
    run = cell.any
    return Cell(cell.key, cell.run_id, _title(run), tuple(run.asked.cell.items()))


def _title(run: RunRecord) -> str:
    """The title of a run; for a preparation, the state that it leads to."""
    after = run.asked.after
    if run.asked.kind == "prepare" and after:
        return f"preparation {after.name}"
    return f"{run.asked.test}: {run.asked.name}" if run.asked.name else run.asked.test


def values_of(
    sessions: Sequence[SessionFigures], metric: str, cell: Cell
) -> list[tuple[int, float]]:
    """The mean logarithm of every session that has the cell, and its place."""
    logs = [session.figures[metric].get(cell.key) for session in sessions]
    return [(place, sum(own) / len(own)) for place, own in enumerate(logs) if own]
