"""All sessions that did the same runs, each as the figures of its cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from ioplan.compare.earlier import RunFigures, key_of
from ioplan.compare.noise import Key
from ioplan.compare.outline import needs_parts, outlined
from ioplan.compare.side import CellRuns, cells_of
from ioplan.history.conditions import conditions_of
from ioplan.language.metric import Metric
from ioplan.records.record import RunRecord
from ioplan.records.setup import model_of
from ioplan.report.reader import Reader
from ioplan.store.pages import pages_of_runs
from ioplan.store.store import Store


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


def read_visits(
    store: Store,
    sessions: Sequence[str],
    run_ids: Sequence[str],
    metrics: Sequence[Metric],
    kind: str = "run",
) -> Visits:
    """Read these runs of these sessions, one query a page. Raises StoreError."""
    reader, parts = Reader(store), any(map(needs_parts, metrics))
    found: list[Visit] = []
    cells: dict[Key, Cell] = {}
    for rows in pages_of_runs(store, sessions, run_ids):
        records = (outlined(row, parts) for row in rows)
        for _, runs in groupby(records, key=lambda run: run.session):
            of_session = [cell for cell in cells_of(runs, kind) if cell.runs]
            if of_session:
                found.append(_visit(reader, of_session, metrics))
                cells |= {cell.key: cell for cell in map(_cell, of_session)}
    found.sort(key=lambda visit: visit.session)
    places = {run_id: place for place, run_id in enumerate(run_ids)}
    ordered = sorted(cells.values(), key=lambda cell: places[cell.run_id])
    return Visits(tuple(found), tuple(ordered))


def _visit(
    reader: Reader, cells: Sequence[CellRuns], metrics: Sequence[Metric]
) -> Visit:
    first = cells[0].runs[0]
    return Visit(
        session=first.session,
        at=first.started_at,
        model=model_of(first),
        conditions=conditions_of(first),
        figures={
            str(of.metric): {
                key_of(cell): found for cell in cells if (found := of.logs(cell.runs))
            }
            for of in (RunFigures(reader, metric) for metric in metrics)
        },
    )


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
) -> Iterator[tuple[int, float]]:
    """The mean of the logarithms of each session that has the cell, and its place."""
    for place, visit in enumerate(visits):
        found = visit.figures[metric].get(cell.key)
        if found:
            yield place, sum(found) / len(found)
