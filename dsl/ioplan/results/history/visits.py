"""All sessions that did the same runs, each as the figures of its cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from msgspec import Struct

from ioplan.language.metric import Metric
from ioplan.records.record import RunRecord
from ioplan.records.setup import drive_of, model_of
from ioplan.results.compare.earlier import key_of, logs_of
from ioplan.results.compare.noise import Key
from ioplan.results.compare.side import CellRuns, cells_of, needs_parts
from ioplan.results.measure.metrics import Figure
from ioplan.results.report.reader import Reader
from ioplan.results.store.figures import TOTAL
from ioplan.results.store.rows import validated
from ioplan.results.store.runs import (
    SHAPE,
    Fields,
    RunRows,
    measured_of,
    read_rows,
    record_of,
)
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


class Visits(Struct, frozen=True):
    """The sessions by the time that they began, and their cells in the plan's order."""

    sessions: tuple[Visit, ...]
    cells: tuple[Cell, ...]


class Slot(Struct, frozen=True):
    """A cell of a session, and which of its rows are the runs that count."""

    cell: Cell
    rows: tuple[int, ...]


FigureOf = Callable[[RunRecord], Figure]
PAGE_RUNS = 2000
"""So many runs, by the number of ids, are read at once."""
SHAPED = itemgetter(*SHAPE)


def read_visits(
    store: Store,
    sessions: Sequence[str],
    run_ids: Sequence[str],
    metrics: Sequence[Metric],
    kind: str = "run",
) -> Visits:
    """Read these runs of these sessions, a few queries a page. Raises StoreError."""
    needed = Needed.of(metrics)
    figures = {str(one): Reader(store).of_single(one) for one in metrics}
    shapes = Shapes(kind)
    visits: list[Visit] = []
    cells: dict[Key, Cell] = {}
    same_conditions: dict[tuple[str, ...], dict[str, str]] = {}
    size = max(1, PAGE_RUNS // max(1, len(run_ids)))
    for first in range(0, len(sessions), size):
        page = needed.read(store, sessions[first : first + size], run_ids)
        shaped = [(rows, slots) for rows in page if (slots := shapes.of(rows))]
        for setting, (rows, slots) in zip(
            _settings(store, shaped), shaped, strict=True
        ):
            conditions = conditions_of(setting)
            same = same_conditions.setdefault(tuple(conditions.values()), conditions)
            with validated(f"figures of session {setting.session!r}"):
                runs = [
                    (slot.cell.key, [needed.run(rows[at]) for at in slot.rows])
                    for slot in slots
                ]
            visits.append(_visit(setting, same, figures, runs))
            cells |= {slot.cell.key: slot.cell for slot in slots}
    visits.sort(key=lambda visit: visit.session)
    places = {run_id: place for place, run_id in enumerate(run_ids)}
    ordered = sorted(cells.values(), key=lambda cell: places[cell.run_id])
    return Visits(tuple(visits), tuple(ordered))


class Needed(Struct, frozen=True):
    """How much of runs some metrics need: all, or figures in some directions."""

    fields: Fields
    condition: str

    @classmethod
    def of(cls, metrics: Sequence[Metric]) -> Needed:
        if any(needs_parts(one) or one.sought for one in metrics):
            return cls(Fields.ALL, "")
        directions = {TOTAL, *(one.direction for one in metrics if one.direction)}
        texts = ", ".join(f"'{one}'" for one in directions)
        return cls(Fields.FIGURES, f"AND f.direction IN ({texts})")

    def read(
        self, store: Store, sessions: Sequence[str], run_ids: Sequence[str]
    ) -> list[list[RunRows]]:
        """The rows of each session that did any of these runs."""
        of_sessions, names = listed("session", sessions)
        of_ids, ids = listed("run_id", run_ids)
        condition = f"{of_sessions} AND {of_ids}"
        with store.reading() as connection:
            rows = read_rows(
                connection, self.fields, condition, self.condition, **names, **ids
            )
        by_session = groupby(rows, key=lambda one: one.run["session"])
        return [list(group) for _, group in by_session]

    def run(self, rows: RunRows) -> RunRecord:
        """What its metrics look at."""
        return record_of(*rows) if self.fields == Fields.ALL else measured_of(rows)


class Shapes:
    """The cells of sessions, found once for those whose runs are of the same places."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._known: dict[tuple[object, ...], tuple[Slot, ...]] = {}

    def of(self, rows: Sequence[RunRows]) -> tuple[Slot, ...]:
        """What is judged steady, or decided, differs from session to session."""
        if any(one.run["steady"] or one.run["decided"] for one in rows):
            return self._slots(rows)
        shape = tuple([SHAPED(one.run) for one in rows])
        if shape not in self._known:
            self._known[shape] = self._slots(rows)
        return self._known[shape]

    def _slots(self, rows: Sequence[RunRows]) -> tuple[Slot, ...]:
        at = {one.run["seq"]: place for place, one in enumerate(rows)}
        return tuple(
            Slot(_cell(cell), tuple(at[run.seq] for run in cell.runs))
            for cell in cells_of([record_of(*one) for one in rows], self._kind)
            if cell.runs
        )


def _settings(
    store: Store, page: Sequence[tuple[Sequence[RunRows], tuple[Slot, ...]]]
) -> list[RunRecord]:
    """Of each session the first run that counts, with what it was done on."""
    rows = [rows[slots[0].rows[0]].run for rows, slots in page]
    firsts = {row["session"]: row["seq"] for row in rows}
    if not firsts:
        return []
    condition, values = listed("session", [*firsts])
    numbers = ", ".join(map(str, {*firsts.values()}))
    runs = store.runs(Fields.SETUP, f"{condition} AND run.seq IN ({numbers})", **values)
    return [one for one in runs if firsts[one.session] == one.seq]


def _visit(
    first: RunRecord,
    conditions: dict[str, str],
    figures: Mapping[str, FigureOf],
    cells: Sequence[tuple[Key, Sequence[RunRecord]]],
) -> Visit:
    """`first` says on what it was done, and by what."""
    return Visit(
        session=first.session,
        at=first.started_at,
        model=model_of(first),
        conditions=conditions,
        figures={name: _logs(of, cells) for name, of in figures.items()},
    )


def _logs(
    of: FigureOf, cells: Sequence[tuple[Key, Sequence[RunRecord]]]
) -> dict[Key, tuple[float, ...]]:
    """Of the cells that have a figure."""
    return {key: logs for key, runs in cells if (logs := logs_of([*map(of, runs)]))}


def _cell(cell: CellRuns) -> Cell:
    run = cell.any
    return Cell(key_of(cell), cell.run_id, _title(run), tuple(run.asked.cell.items()))


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
