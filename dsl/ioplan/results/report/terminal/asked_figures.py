"""Figures that are asked for by name, of each cell, or of a stretch of its runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.console import Console

from ioplan.core.text import counted, line
from ioplan.core.units import metric_text, time_text
from ioplan.job import SECOND_NS
from ioplan.language.metric import Metric, parse_metric
from ioplan.records.current import current_records
from ioplan.records.record import RunRecord
from ioplan.results.measure.interval_counts import IntervalCounts
from ioplan.results.measure.metrics import Figure, Sample
from ioplan.results.measure.over_time import Stated
from ioplan.results.measure.stretches import Stretch, stretch
from ioplan.results.report.charts.request import unit_of
from ioplan.results.report.charts.tables import axes_of, run_frame, table_rows
from ioplan.results.report.point import Point, points
from ioplan.results.report.reader import Reader
from ioplan.results.report.terminal.tables import MOST_CELLS, run_table
from ioplan.results.store.store import Store

# What runs did in a stretch of their time, as a table for each test.


class During(Struct, frozen=True):
    """The time [begin, end) since the measured part of a run began."""

    begin_ns: float
    end_ns: float

    def __str__(self) -> str:
        begin, end = (time_text(ns / SECOND_NS) for ns in (self.begin_ns, self.end_ns))
        return f"{begin} to {end}"


class StretchReader(Reader):
    """Reads stretches instead of the runs that they are of, by seq."""

    def __init__(self, store: Store, found: dict[int, Stretch]) -> None:
        super().__init__(store)
        self.found = found

    def samples(self, records: Sequence[RunRecord]) -> list[Sample]:
        """The stretches with their histograms."""
        return [self.found[record.seq].sample for record in records]


def show_during(
    console: Console, store: Store, records: Sequence[RunRecord], during: During
) -> None:
    """Print a table for each test, and which runs have no intervals then.

    Raises StoreError and IntervalsDamaged.
    """
    runs = [r for r in current_records(records) if r.asked.kind == "run"]
    for title in dict.fromkeys(run.asked.test for run in runs):
        part = [run for run in runs if run.asked.test == title]
        console.rule(line(title, style="bold"), align="left", characters="─")
        _show_test(console, store, part, during)


def _show_test(
    console: Console, store: Store, runs: Sequence[RunRecord], during: During
) -> None:
    found = {run.seq: one for run in runs if (one := stretch_of(store, run, during))}
    measured = [_as_run(run, found[run.seq]) for run in runs if run.seq in found]
    if measured:
        shown = points({"": measured})[:MOST_CELLS]
        frame = run_frame(shown, StretchReader(store, found))
        rows = [""] * sum(len(table_rows(point)) for point in shown)
        console.print(run_table(frame, axes_of(shown), rows, console))
    for text in _notes(runs, found, during):
        console.print(line(text, style="dim"))


def stretch_of(store: Store, run: RunRecord, during: During) -> Stretch | None:
    """That part of a run; none where it has no intervals then. Raises StoreError and
    IntervalsDamaged."""
    packed = store.intervals(run.session, run.seq)
    streams = run.asked.job.streams
    return stretch(IntervalCounts(packed), during.begin_ns, during.end_ns, streams)


def _as_run(run: RunRecord, found: Stretch) -> RunRecord:
    """The run's record with the figures of a stretch; what it has none of is absent."""
    change = {
        "run_s": found.run_s,
        "streams": found.streams,
        "directions": found.directions,
        "total": found.total,
    }
    nothing = dict.fromkeys(("cpu", "cpu_percent", "telemetry", "wear", "found"))
    return run.model_copy(update=change | nothing)


def _notes(
    runs: Sequence[RunRecord], found: dict[int, Stretch], during: During
) -> Iterator[str]:
    """What the figures are of: whole intervals."""
    covered = {
        (During(one.begin_ns, one.end_ns), one.intervals) for one in found.values()
    }
    for some, intervals in sorted(covered, key=str):
        yield f"of {some} of the run, {counted(intervals, 'whole interval')}"
    if missing := [run for run in runs if run.seq not in found]:
        longest = time_text(max(run.run_s for run in missing))
        yield (
            f"{counted(len(missing), 'run')} without intervals that begin in {during} "
            f"(the longest took {longest})"
        )


def show_figures(
    console: Console,
    store: Store,
    records: Sequence[RunRecord],
    asked: Sequence[str],
    during: During | None,
) -> None:
    """Print a line for each figure of each cell.

    Raises MetricError, StoreError and IntervalsDamaged.
    """
    runs = [r for r in current_records(records) if r.asked.kind == "run"]
    for title in dict.fromkeys(run.asked.test for run in runs):
        part = [run for run in runs if run.asked.test == title]
        console.rule(line(title, style="bold"), align="left", characters="─")
        for text in _lines(store, part, asked, during):
            console.print(line(text), soft_wrap=True)


def _lines(
    store: Store,
    runs: Sequence[RunRecord],
    asked: Sequence[str],
    during: During | None,
) -> Iterator[str]:
    streams = {stream.name for run in runs for stream in run.streams}
    steps = {run.asked.name for run in runs if run.asked.name}
    metrics = [parse_metric(text, streams, steps) for text in asked]
    cells = points({"": runs})
    axes = axes_of(cells)
    for point in cells:
        named = (f"{axis} {point.dimensions.get(axis, '')}" for axis in axes)
        cell = ", ".join(named)
        for metric in metrics:
            found = _figure(store, point, metric, during)
            told = found.figure.why or "–"
            if found.figure.value is not None:
                told = metric_text(found.figure.value, unit_of(metric))
            more = f" ({found.definition})" if found.definition else ""
            yield f"{f'{cell}: ' if cell else ''}{metric}: {told}{more}"


def _figure(
    store: Store, point: Point, metric: Metric, during: During | None
) -> Stated:
    """Of a stretch it is that of the last run."""
    if during is None:
        return Reader(store).stated(metric, point.counted)
    found = stretch_of(store, point.counted[-1], during)
    if found is None:
        return Stated(Figure(None, f"no interval in {during}"))
    return Stated(found.figure(metric))
