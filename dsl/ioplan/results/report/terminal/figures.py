"""Figures by name, of each cell or of a part of its time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.console import Console

from ioplan.core.grouping import grouped
from ioplan.core.text import counted, line
from ioplan.core.units import metric_text, time_text
from ioplan.job import SECOND_NS
from ioplan.language.metric import Metric, parse_metric
from ioplan.records.current import current_records
from ioplan.records.record import RunRecord
from ioplan.results.measure.interval_counts import IntervalCounts
from ioplan.results.measure.metrics import Figure, Sample, Stretch, stretch
from ioplan.results.measure.over_time import Stated
from ioplan.results.report.charts.request import unit_of
from ioplan.results.report.charts.tables import axes_of, run_frame, table_rows
from ioplan.results.report.point import Point, points
from ioplan.results.report.reader import Reader
from ioplan.results.report.terminal.tables import MOST_CELLS, run_table
from ioplan.results.report.writers import title_line
from ioplan.results.store.store import Store


class During(Struct, frozen=True):
    """The time [begin, end) since the measured part of a run began."""

    begin_ns: float
    end_ns: float

    def __str__(self) -> str:
        begin, end = (time_text(ns / SECOND_NS) for ns in (self.begin_ns, self.end_ns))
        return f"{begin} to {end}"

    def of(self, store: Store, run: RunRecord) -> Stretch | None:
        """That part of a run; none where it has no intervals then."""
        counts = IntervalCounts(store.intervals(run.session, run.seq))
        streams = run.asked.job.streams
        return stretch(counts, self.begin_ns, self.end_ns, streams)


class StretchReader(Reader):
    """Reads parts of runs in place of the runs, by their numbers."""

    def __init__(self, store: Store, stretches: dict[int, Stretch]) -> None:
        super().__init__(store)
        self.stretches = stretches

    def samples(
        self,
        records: Sequence[RunRecord],
        whole: bool = False,
        only_series: bool = False,
    ) -> list[Sample]:
        return [self.stretches[record.seq].sample for record in records]


def show_figures(
    console: Console,
    store: Store,
    records: Sequence[RunRecord],
    names: Sequence[str],
    during: During | None,
) -> None:
    """Print a line for each figure of each cell; without names, a table of each test.

    Raises MetricError, StoreError and IntervalsDamaged.
    """
    all_runs = [r for r in current_records(records) if r.asked.kind == "run"]
    for title, runs in grouped(all_runs, key=lambda run: run.asked.test).items():
        console.print(title_line(title))
        for text in _lines(store, runs, names, during) if names else ():
            console.print(line(text), soft_wrap=True)
        if during and not names:
            _print_table(console, store, runs, during)


def _print_table(
    console: Console, store: Store, runs: Sequence[RunRecord], during: During
) -> None:
    """A row a cell, and which intervals of which runs they are: whole ones."""
    parts = {run.seq: part for run in runs if (part := during.of(store, run))}
    measured = [_as_run(run, parts[run.seq]) for run in runs if run.seq in parts]
    if cells := points({"": measured})[:MOST_CELLS]:
        frame = run_frame(cells, StretchReader(store, parts))
        rows = [""] * sum(len(table_rows(cell)) for cell in cells)
        console.print(run_table(frame, axes_of(cells), rows, console))
    covered = {(During(p.begin_ns, p.end_ns), p.intervals) for p in parts.values()}
    texts = [
        f"of {time} of the run, {counted(intervals, 'whole interval')}"
        for time, intervals in sorted(covered, key=str)
    ]
    if missing := [run for run in runs if run.seq not in parts]:
        longest = time_text(max(run.run_s for run in missing))
        without = f"{counted(len(missing), 'run')} without intervals"
        texts.append(f"{without} that begin in {during} (the longest took {longest})")
    for text in texts:
        console.print(line(text, "dim"))


def _as_run(run: RunRecord, part: Stretch) -> RunRecord:
    """The run's record with the figures of a part of it, and without all others."""
    names = ("run_s", "streams", "directions", "total")
    figures = {name: getattr(part, name) for name in names}
    absent = dict.fromkeys(("cpu", "cpu_percent", "telemetry", "wear", "found"))
    return run.model_copy(update=figures | absent)


def _lines(
    store: Store,
    runs: Sequence[RunRecord],
    names: Sequence[str],
    during: During | None,
) -> Iterator[str]:
    streams = {stream.name for run in runs for stream in run.streams}
    steps = {run.asked.name for run in runs if run.asked.name}
    metrics = [parse_metric(name, streams, steps) for name in names]
    cells = points({"": runs})
    axes = axes_of(cells)
    for cell in cells:
        place = ", ".join(f"{axis} {cell.dimensions.get(axis, '')}" for axis in axes)
        for metric in metrics:
            stated = _figure(store, cell, metric, during)
            text = stated.figure.why or "–"
            if stated.figure.value is not None:
                text = metric_text(stated.figure.value, unit_of(metric))
            text += f" ({stated.definition})" * bool(stated.definition)
            yield f"{f'{place}: ' if place else ''}{metric}: {text}"


def _figure(store: Store, cell: Point, metric: Metric, during: During | None) -> Stated:
    """The figure of a cell; of a part of the time, that of its last run."""
    if during is None:
        return Reader(store).stated(metric, cell.counted)
    part = during.of(store, cell.counted[-1])
    if part is None:
        return Stated(Figure(None, f"no interval in {during}"))
    return Stated(part.figure(metric))
