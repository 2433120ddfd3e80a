"""The counts of runs over time, for a page on which a stretch of them is chosen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ioplan.results.report.charts.tables import dimension_values, table_rows, varying
from ioplan.results.report.charts.timeline import MOST_CELLS, Timeline, cells_of, placed
from ioplan.results.report.curve import Curve, CurveRow, CurveRun
from ioplan.results.report.documents import ChartSpec
from ioplan.results.report.point import Point
from ioplan.results.report.reader import Reader
from ioplan.workload import parts_of

MOST_BYTES = 6 << 20
"""Packed, of all curves of a test; a page with more would load slowly."""


def _has_time(picture: ChartSpec) -> bool:
    """Whether a stretch of time can be chosen in it."""
    return bool(picture.x) and picture.frame.column(picture.x).unit == "s"


def curves(
    found: Sequence[Point], pictures: Iterable[ChartSpec], reader: Reader
) -> tuple[Curve, ...]:
    """Those of a test with charts over time; none where they are too large.

    A row of a target is left out: intervals are counted of all together.
    """
    if not any(map(_has_time, pictures)):
        return ()
    some = [point for point in found if point.runs]
    made = list(_curves(some, varying(some), reader))
    size = sum(run.counts.size for one in made for run in one.runs)
    return tuple(made) if size <= MOST_BYTES else ()


def _curves(
    found: Sequence[Point], axes: Sequence[str], reader: Reader
) -> Iterator[Curve]:
    for cell in list(cells_of(found).values())[:MOST_CELLS]:
        lines = [Timeline(point) for point in cell]
        runs: dict[int, list[CurveRun]] = {}
        for run, line, start_s in placed(lines):
            parts = parts_of(run.asked.job.streams)
            made = CurveRun(start_s, reader.intervals(run), parts)
            runs.setdefault(id(line), []).append(made)
        for line in lines:
            label = ", ".join(str(v) for v in dimension_values(line.point, axes) if v)
            rows = [
                CurveRow(row.label, row.direction, row.stream)
                for row in table_rows(line.point)
                if not row.target
            ]
            yield Curve(label, tuple(rows), tuple(runs[id(line)]))
