"""All sessions that did the same runs: their conditions, and the figures of cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from math import isfinite
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from msgspec import Struct

from ioplan.language.metric import Metric
from ioplan.records.record import RunRecord
from ioplan.records.setup import drive_of, identity_of
from ioplan.results.compare.noise import Key
from ioplan.results.compare.peers import logs_of
from ioplan.results.compare.side import CellRuns, cells_of
from ioplan.results.measure.metrics import UNREAD, Figure, of_result
from ioplan.results.report.reader import Reader
from ioplan.results.store.connection import Row
from ioplan.results.store.figures import TOTAL, columns_of
from ioplan.results.store.pages import OF_RUN
from ioplan.results.store.rows import validated
from ioplan.results.store.runs import Fields, Outlines, read_outlines
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
    return () if before is after else tuple(_changed(before, after))


def _changed(before: Conditions, after: Conditions) -> Iterator[str]:
    for name in CONDITIONS:
        old, new = before.get(name, ""), after.get(name, "")
        if not old or not new or old == new:
            continue
        if name == "backend" and before.get("backend version"):
            continue  # the version has both
        yield name if name == MITIGATIONS else f"{name} {old} -> {new}"


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


class SessionCells(NamedTuple):
    """A session's cells and figures, and the number of its first run that counts."""

    session: str
    first_seq: int
    cells: Sequence[Cell]
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
    reader = FigureReader(store, metrics, kind)
    settings = Settings(store)
    figures: list[SessionFigures] = []
    cells: dict[Key, Cell] = {}
    size = max(1, PAGE_RUNS // max(1, len(run_ids)))
    for first in range(0, len(sessions), size):
        page = [*reader.read(sessions[first : first + size], run_ids)]
        figures += settings.add(page)
        for session in page:
            cells |= {cell.key: cell for cell in session.cells}
    figures.sort(key=attrgetter("session"))
    places = {run_id: place for place, run_id in enumerate(run_ids)}
    return figures, sorted(cells.values(), key=lambda cell: places[cell.run_id])


class FigureReader:
    """Reads figures of runs: from columns, if these have all that the metrics need.

    Sessions whose runs have the same places in the plan have the same cells, which are
    computed once.
    """

    def __init__(self, store: Store, metrics: Sequence[Metric], kind: str) -> None:
        self._store, self._reader = store, Reader(store)
        self._metrics, self._kind = metrics, kind
        self._single = {metric: of_result(metric) for metric in metrics}
        self._columns: dict[str, set[str]] = {}
        self._needs_records = not all(map(columns_of, metrics))
        for metric in () if self._needs_records else metrics:
            names = self._columns.setdefault(metric.direction or TOTAL, set())
            names.update(columns_of(metric) or ())
        self._cells: dict[object, Mapping[Cell, Sequence[int]]] = {}

    def read(
        self, sessions: Sequence[str], run_ids: Sequence[str]
    ) -> Iterator[SessionCells]:
        """The sessions that have any of these runs."""
        condition, values = _condition(sessions, run_ids)
        with validated("run"), self._store.reading() as connection:
            page = read_outlines(connection, self._columns, condition, **values)
        records = None
        if self._needs_records:
            records = self._store.runs(Fields.ALL, condition, **values)
        end = 0
        for session, runs in groupby(page.runs, key=attrgetter("session")):
            start, end = end, end + len([*runs])
            cells = self._cells_of(session, page.slots[start:end], run_ids)
            if not cells:
                continue
            with validated(f"figures of session {session!r}"):
                figures = {
                    str(metric): _logs(
                        (
                            cell.key,
                            self._record_figures(metric, records, start, places)
                            if records
                            else self._column_figures(metric, page, start, places),
                        )
                        for cell, places in cells.items()
                    )
                    for metric in self._metrics
                }
            first = page.runs[start + next(iter(cells.values()))[0]]
            yield SessionCells(session, first.seq, [*cells], figures)

    def _cells_of(
        self, session: str, slots: list[tuple[object, ...]], run_ids: Sequence[str]
    ) -> Mapping[Cell, Sequence[int]]:
        """The cells, and which of the session's runs are theirs."""
        key = tuple(slots)
        if key in self._cells:
            return self._cells[key]
        condition, values = _condition([session], run_ids)
        records = self._store.runs(Fields.PLACE, condition, **values)
        places = {run.seq: place for place, run in enumerate(records)}
        cells = {
            _cell(cell): [places[run.seq] for run in cell.runs]
            for cell in cells_of(records, self._kind)
            if cell.runs
        }
        if not any(run.steady or run.decided for run in records):  # else hardly alike
            self._cells[key] = cells
        return cells

    def _record_figures(
        self,
        metric: Metric,
        records: Sequence[RunRecord],
        start: int,
        places: Sequence[int],
    ) -> Iterator[Figure]:
        return (self._reader.figure(metric, [records[start + at]]) for at in places)

    def _column_figures(
        self, metric: Metric, page: Outlines, start: int, places: Sequence[int]
    ) -> Iterator[Figure]:
        """The figures of runs with I/O in the metric's direction."""
        single, results = self._single[metric], page.results[metric.direction or TOTAL]
        for at in places:
            run, result = page.runs[start + at], results[start + at]
            if result and result.ios:
                figure = single(run, result)
                if figure is UNREAD:
                    key = {"session": run.session, "seq": run.seq}
                    records = self._store.runs(Fields.FIGURES, OF_RUN, **key)
                    figure = self._reader.figure(metric, records)
                yield figure


def _condition(
    sessions: Sequence[str], run_ids: Sequence[str]
) -> tuple[str, dict[str, str]]:
    of_sessions, names = listed("session", sessions)
    of_ids, ids = listed("run_id", run_ids)
    return f"{of_sessions} AND {of_ids}", names | ids


def _logs(figures: Iterable[tuple[Key, Iterable[Figure]]]) -> Logs:
    """Of the cells that have a figure. Raises ValueError."""
    logs = {key: own for key, some in figures if (own := logs_of(some))}
    if not isfinite(sum(map(sum, logs.values()))):
        raise ValueError("a figure is infinite")
    return logs


def _cell(cell: CellRuns) -> Cell:
    run = cell.any
    return Cell(cell.key, cell.run_id, _title(run), tuple(run.asked.cell.items()))


def _title(run: RunRecord) -> str:
    """The title of a run; for a preparation, the state that it leads to."""
    after = run.asked.after
    if run.asked.kind == "prepare" and after:
        return f"preparation {after.name}"
    return f"{run.asked.test}: {run.asked.name}" if run.asked.name else run.asked.test


SETTING = ("ioplan", "backend", "target", "env")
_setting = itemgetter(*SETTING)


class Settings:
    """Reads conditions once for all sessions that have the same ones."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._conditions: dict[tuple[str, ...], Conditions] = {}

    def add(self, page: Sequence[SessionCells]) -> Iterator[SessionFigures]:
        """The sessions with the conditions of their first run that counts."""
        rows = self._rows({cells.session: cells.first_seq for cells in page})
        for session, seq, _, figures in page:
            row = rows[session]
            key = _setting(row)
            if key not in self._conditions:
                of_run = {"session": session, "seq": seq}
                (run,) = self._store.runs(Fields.SETUP, OF_RUN, **of_run)
                conditions = {name: read(run) for name, read in CONDITIONS.items()}
                self._conditions[key] = conditions
            at = row["started_at"]
            yield SessionFigures(session, at, self._conditions[key], figures)

    def _rows(self, firsts: Mapping[str, int]) -> dict[str, Row]:
        if not firsts:
            return {}
        condition, values = listed("session", [*firsts])
        numbers = ", ".join(map(str, {*firsts.values()}))
        query = f"""
            SELECT session, seq, started_at, {", ".join(SETTING)} FROM run
            WHERE {condition} AND run.seq IN ({numbers})"""
        with self._store.reading() as connection:
            rows = connection.rows(query, **values)
        return {
            row["session"]: row for row in rows if firsts[row["session"]] == row["seq"]
        }


def values_of(
    sessions: Sequence[SessionFigures], metric: str, cell: Cell
) -> list[tuple[int, float]]:
    """The mean logarithm of every session that has the cell, and its place."""
    logs = [session.figures[metric].get(cell.key) for session in sessions]
    return [
        (place, own[0] if len(own) == 1 else sum(own) / len(own))
        for place, own in enumerate(logs)
        if own
    ]
