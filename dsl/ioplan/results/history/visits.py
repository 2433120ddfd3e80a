"""All sessions that did the same runs, each as the figures of its cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from math import isfinite
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from msgspec import Struct

from ioplan.language.metric import Metric
from ioplan.records.record import RunRecord
from ioplan.records.setup import drive_of, model_of
from ioplan.results.compare.noise import Key
from ioplan.results.compare.peers import logs_of
from ioplan.results.compare.side import CellRuns, cells_of
from ioplan.results.measure.metrics import UNREAD, Figure, OfResult, of_result
from ioplan.results.report.reader import Reader
from ioplan.results.store.connection import Row
from ioplan.results.store.figures import TOTAL, Stored, columns_of
from ioplan.results.store.pages import OF_RUN
from ioplan.results.store.rows import validated
from ioplan.results.store.runs import Fields, Outline, Outlines, read_outlines
from ioplan.results.store.store import Store, listed

# Under what a session ran: what its history is parted by, and what else changed.

Conditions = Mapping[str, str]
"""Name to text; empty where it is not known."""

MISMATCH = "mitigations"


def _host(*names: str) -> Callable[[RunRecord], str]:
    def read(run: RunRecord) -> str:
        found: Any = run.host
        for name in names:
            found = found.get(name) if isinstance(found, dict) else None
        return _text(found)

    return read


def _text(found: Any) -> str:
    if isinstance(found, dict):
        return ", ".join(f"{name} {text}" for name, text in sorted(found.items()))
    return "" if found is None else str(found)


def _firmware(run: RunRecord) -> str:
    return str(dict(run.target.get("identity") or {}).get("firmware") or "")


CONDITIONS: dict[str, Callable[[RunRecord], str]] = {
    "drive": drive_of,
    "firmware": _firmware,
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
    MISMATCH: _host("mitigations"),
}
"""In the order in which they are told."""
BY = ("drive", "firmware", "host", "kernel", "backend", "ioplan")
"""What series may be parted by."""
USUAL = ("drive", "host", "backend")
"""What they are parted by where nothing is asked: the rest may change within one."""


def conditions_of(run: RunRecord) -> dict[str, str]:
    """All of a session, of any of its runs."""
    return {name: read(run) for name, read in CONDITIONS.items()}


def changed(before: Conditions, after: Conditions) -> tuple[str, ...]:
    """`firmware 1.0 -> 1.1` for each that is known of both and differs."""
    return () if before is after else tuple(_changed(before, after))


def _changed(before: Conditions, after: Conditions) -> Iterator[str]:
    for name in CONDITIONS:
        one, other = before.get(name, ""), after.get(name, "")
        if not one or not other or one == other:
            continue
        if name == "backend" and before.get("backend version"):
            continue  # its version tells both
        yield name if name == MISMATCH else f"{name} {one} -> {other}"


class Cell(Struct, frozen=True):
    """What makes the runs of several sessions one cell, under its newest names."""

    key: Key
    run_id: str
    test: str
    cell: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """The cell as the plan writes it; the title of a test without axes."""
        return " ".join(f"{axis}={value}" for axis, value in self.cell) or self.test


class Visit(Struct, frozen=True):
    """One session: by metric and cell, the logarithms of the figures of its runs."""

    session: str
    at: str
    model: str
    conditions: dict[str, str]
    figures: dict[str, dict[Key, tuple[float, ...]]]


class Visits(NamedTuple):
    """Sessions by the time that they began, and their cells in the plan's order."""

    sessions: tuple[Visit, ...]
    cells: tuple[Cell, ...]


class SessionFigures(NamedTuple):
    """A session's cells, the number of the first run that counts, and the figures."""

    session: str
    first_seq: int
    cells: Sequence[Cell]
    figures: dict[str, dict[Key, tuple[float, ...]]]


PAGE_RUNS = 2000
"""So many runs, by the number of ids, are read at once."""


def read_visits(
    store: Store,
    sessions: Sequence[str],
    run_ids: Sequence[str],
    metrics: Sequence[Metric],
    kind: str = "run",
) -> Visits:
    """Read these runs of these sessions, two queries a page. Raises StoreError."""
    by_columns = all(columns_of(metric) for metric in metrics)
    reader = (ColumnReader if by_columns else RecordReader)(store, metrics, kind)
    settings = Settings(store)
    visits: list[Visit] = []
    cells: dict[Key, Cell] = {}
    size = max(1, PAGE_RUNS // max(1, len(run_ids)))
    for first in range(0, len(sessions), size):
        page = [*reader.read(sessions[first : first + size], run_ids)]
        visits += settings.visits(page)
        for session in page:
            cells |= {cell.key: cell for cell in session.cells}
    visits.sort(key=lambda visit: visit.session)
    places = {run_id: place for place, run_id in enumerate(run_ids)}
    ordered = sorted(cells.values(), key=lambda cell: places[cell.run_id])
    return Visits(tuple(visits), tuple(ordered))


class RecordReader:
    """Reads records, of which any metric can be computed."""

    def __init__(self, store: Store, metrics: Sequence[Metric], kind: str) -> None:
        reader = Reader(store)
        self._store, self._kind = store, kind
        self._figures = {str(metric): reader.of_single(metric) for metric in metrics}

    def read(
        self, sessions: Sequence[str], run_ids: Sequence[str]
    ) -> Iterator[SessionFigures]:
        """The sessions that have any of these runs."""
        condition, values = _condition(sessions, run_ids)
        records = self._store.runs(Fields.ALL, condition, **values)
        for session, some in groupby(records, key=attrgetter("session")):
            found = cells_of(some, self._kind)
            cells = {_cell(cell): cell.runs for cell in found if cell.runs}
            if cells:
                yield SessionFigures(
                    session,
                    next(iter(cells.values()))[0].seq,
                    tuple(cells),
                    {
                        name: _logs(
                            (cell.key, logs_of(map(figure, runs)))
                            for cell, runs in cells.items()
                        )
                        for name, figure in self._figures.items()
                    },
                )


class ColumnReader:
    """Reads the columns that the metrics are computed from: no record is made.

    Sessions whose runs have the same places in the plan have the same cells, which are
    looked up once.
    """

    def __init__(self, store: Store, metrics: Sequence[Metric], kind: str) -> None:
        self._store, self._metrics, self._kind = store, metrics, kind
        self._single = {metric: of_result(metric) for metric in metrics}
        self._columns: dict[str, set[str]] = {}
        for metric in metrics:
            names = self._columns.setdefault(metric.direction or TOTAL, set())
            names.update(columns_of(metric) or ())
        self._cells: dict[object, Mapping[Cell, Sequence[int]]] = {}

    def read(
        self, sessions: Sequence[str], run_ids: Sequence[str]
    ) -> Iterator[SessionFigures]:
        """The sessions that have any of these runs."""
        condition, values = _condition(sessions, run_ids)
        with validated("run"), self._store.reading() as connection:
            page = read_outlines(connection, self._columns, condition, **values)
        end = 0
        for session, runs in groupby(page.runs, key=attrgetter("session")):
            start, end = end, end + len([*runs])
            cells = self._cells_of(session, page.slots[start:end], run_ids)
            if cells:
                yield SessionFigures(
                    session,
                    page.runs[start + next(iter(cells.values()))[0]].seq,
                    tuple(cells),
                    {
                        str(metric): self._logs(metric, page, start, cells)
                        for metric in self._metrics
                    },
                )

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

    def _logs(
        self,
        metric: Metric,
        page: Outlines,
        start: int,
        cells: Mapping[Cell, Sequence[int]],
    ) -> dict[Key, tuple[float, ...]]:
        single, runs = self._single[metric], page.runs
        results = page.results[metric.direction or TOTAL]
        with validated(f"figures of session {runs[start].session!r}"):
            return _logs(
                (
                    cell.key,
                    logs_of(
                        [
                            self._figure(metric, single, runs[start + at], result)
                            for at in places
                            if (result := results[start + at]) and result.ios
                        ]
                    ),
                )
                for cell, places in cells.items()
            )

    def _figure(
        self, metric: Metric, single: OfResult, run: Outline, result: Stored
    ) -> Figure:
        figure = single(run, result)
        if figure is not UNREAD:
            return figure
        records = self._store.runs(
            Fields.FIGURES, OF_RUN, session=run.session, seq=run.seq
        )
        return Reader(self._store).figure(metric, records)


def _condition(
    sessions: Sequence[str], run_ids: Sequence[str]
) -> tuple[str, dict[str, str]]:
    of_sessions, names = listed("session", sessions)
    of_ids, ids = listed("run_id", run_ids)
    return f"{of_sessions} AND {of_ids}", names | ids


def _logs(
    logs: Iterable[tuple[Key, tuple[float, ...]]],
) -> dict[Key, tuple[float, ...]]:
    """Of the cells that have a figure. Raises ValueError."""
    known = {key: values for key, values in logs if values}
    if not isfinite(sum(map(sum, known.values()))):
        raise ValueError("a figure is infinite")
    return known


SETTING = ("ioplan", "backend", "target", "env")
_setting = itemgetter(*SETTING)


class Settings:
    """What sessions ran on, and by what: read once of those that have it in common."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[tuple[str, ...], tuple[str, dict[str, str]]] = {}

    def visits(self, page: Sequence[SessionFigures]) -> Iterator[Visit]:
        """Each session, with what the first of its runs says."""
        rows = self._rows({one.session: one.first_seq for one in page})
        for session, _, _, figures in page:
            row = rows[session]
            key = _setting(row)
            if key not in self._known:
                self._known[key] = self._read(session, row["seq"])
            model, conditions = self._known[key]
            yield Visit(session, row["started_at"], model, conditions, figures)

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

    def _read(self, session: str, seq: int) -> tuple[str, dict[str, str]]:
        (run,) = self._store.runs(Fields.SETUP, OF_RUN, session=session, seq=seq)
        return model_of(run), conditions_of(run)


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
    visits: Sequence[Visit], metric: str, cell: Cell
) -> list[tuple[int, float]]:
    """The mean of the logarithms of each session that has the cell, and its place."""
    key = cell.key
    each = [visit.figures[metric].get(key) for visit in visits]
    return [
        (place, found[0] if len(found) == 1 else sum(found) / len(found))
        for place, found in enumerate(each)
        if found
    ]
