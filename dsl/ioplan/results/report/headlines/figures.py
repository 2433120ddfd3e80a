"""Headlines made of figures: each is one of `measure.metrics`, as the export has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property, partial
from operator import itemgetter
from statistics import fmean

from msgspec import Struct
from msgspec.structs import replace

from ioplan.language.metric import RATES, Metric, parse_metric
from ioplan.records.record import RunRecord
from ioplan.results.measure.metrics import more_is_better
from ioplan.results.measure.over_time import FALL, Burst, OverTime, is_led
from ioplan.results.measure.zero_losses import BOUNDED, cuts_read, zero_text
from ioplan.results.report.charts.request import MEANINGS as HOST_MEANINGS
from ioplan.results.report.charts.request import metric_name, unit_of
from ioplan.results.report.headlines.doubts import (
    BURST,
    CHANGED,
    Doubts,
    is_virtual,
)
from ioplan.results.report.headlines.headline import WORST, Headline
from ioplan.results.report.headlines.places import (
    access,
    axis_name,
    cell_text,
    is_reached,
    place,
    size_of,
    sync_of,
    where,
    writes,
)
from ioplan.results.report.point import Point, only_trims
from ioplan.results.report.reader import Reader
from ioplan.workload import SYNCS

MEANINGS = {
    "iops": "completed I/Os per second of measured time",
    "bandwidth": "bytes moved per second of measured time",
    "mean": "the mean time from submission to completion, of all I/Os",
    **HOST_MEANINGS,
}

IOPS = Metric(name="iops")
SYNC_MEANINGS = {
    "flush": "all flushes",
    "commit": "all commits, each from the start of a write to the end of its flush",
}


class TestFigures(Struct, frozen=True, dict=True):
    """The figures of the points of one test in one session.

    Points without a figure are among `points`, as a cell is named by the axes in which
    it differs from all others.
    """

    points: Sequence[Point]
    reader: Reader
    doubts: Doubts
    cells: dict[tuple[Metric, int], Headline] = {}
    """By metric and point, as several headlines are of the same figure."""
    limits: Mapping[str, Metric] = {}
    """The metrics of the plan's expectations by the texts of these."""

    def metric(self, name: str, points: Sequence[Point]) -> Metric:
        """A metric of reads and writes; of trims where some points did nothing else."""
        return self.scoped(parse_metric(name), points)

    def scoped(self, metric: Metric, points: Sequence[Point]) -> Metric:
        """The metric within the points, which are of one step already."""
        if metric.direction or metric.stream:
            return metric
        trims = only_trims(run for point in points for run in point.runs)
        return replace(metric, step=None, direction="trim" if trims else None)

    def durable(self, name: str, points: Sequence[Point]) -> Metric:
        return Metric(name=name, direction=sync_of(points))

    def worst(self, metric: Metric, points: Sequence[Point]) -> Iterator[Headline]:
        """The figure of a cell; of several cells the worst, if all have one."""
        cells = [(self.cell(metric, point), point) for point in points]
        if not cells:
            return
        lacking = (pair for pair in cells if pair[0].value is None)
        is_latency = unit_of(metric) == "ns"
        choose, word = (max, "highest ") if is_latency else (min, "lowest ")
        word *= len(points) > 1
        figure, point = next(lacking, None) or choose(
            cells, key=lambda pair: pair[0].value or 0.0
        )
        count = f", the {word}of {len(points)} cells" if word else ""
        name = f"{word}{_short_name(metric)}"
        yield self._headline(name, metric, figure, point, points, count)

    def cell(self, metric: Metric, point: Point) -> Headline:
        """The figure of a point: the steady window's, or what the drive sustains.

        Its `word` is `steady` of a window that the drive's state can bear, or
        `settled`.
        """
        key = metric, id(point)
        if key not in self.cells:
            self.cells[key] = self._cell(metric, point)
        return self.cells[key]

    def _cell(self, metric: Metric, point: Point) -> Headline:
        if point.failed:
            return Headline(None, why=point.status)
        stated = self.reader.stated(metric, point.counted)
        over, steady, value = stated.over, stated.steady, stated.figure.value
        if value is None:
            return Headline(None, why=stated.figure.why)
        against = (CHANGED,) * stated.changed
        figure = Headline(value, definition=stated.definition, against=against)
        if over is None or metric.stream or metric.name not in RATES:
            return figure
        burst = over.burst
        if burst and len(point.counted) == 1:
            writing = {r.seq: r for p in self._writing for r in p.counted}
            over_run = partial(self._over_run, metric)
            burst = with_pause(burst, point.counted[0], writing, over_run)
        if _is_steered(point):  # its spread is the plan's own
            return figure
        figure = replace(figure, error_percent=over.error_percent, burst=burst)
        if steady:
            own = {"spread_percent": steady.range_percent, "word": steady.word}
            return replace(figure, spread="range", **own)
        if over.spread_percent is None or is_reached(point):
            return figure
        return replace(figure, spread="±", spread_percent=over.spread_percent)

    def _over_run(self, metric: Metric, run: RunRecord) -> OverTime:
        return self.reader.over_time(metric, [run])

    def _is_before_fall(self, point: Point) -> bool:
        """Whether a later cell used up what made this one fast, as a cache of writes.

        A preparation between the two tells nothing of this cell.
        """
        if point.failed or not writes(point) or self._falls(point):
            return False
        last, between = point.counted[-1].seq, self.doubts.prepared
        fall = next((seq for seq in self._fallen if seq > last), 0)
        return bool(fall) and not any(last < seq < fall for seq in between)

    @cached_property
    def _writing(self) -> list[Point]:
        return [point for point in self.points if not point.failed and writes(point)]

    @cached_property
    def _fallen(self) -> list[int]:
        """The numbers of the writing runs whose rate fell within them."""
        return sorted(p.counted[0].seq for p in self._writing if self._falls(p))

    def _falls(self, point: Point) -> bool:
        return self.reader.over_time(IOPS, point.counted).falls

    def worst_interval(self, name: str, points: Sequence[Point]) -> Iterator[Headline]:
        """The lowest rate in any interval of some cells, if all have intervals."""
        metric = self.metric(name, points)
        valid = [point for point in points if not point.failed]
        rates = [(self.reader.over_time(metric, p.counted), p) for p in valid]
        lowest = [(o.worst, o, p) for o, p in rates if o.worst is not None]
        if len(lowest) < len(points) or not lowest or any(map(_is_steered, points)):
            return
        value, over, point = min(lowest, key=itemgetter(0))
        text = f"the lowest {_short_name(metric)} of {len(over.values)} intervals"
        figure = Headline(value, definition=text)
        yield self._headline(f"{WORST} {over.interval}", metric, figure, point, points)

    def search(self) -> Headline:
        """The result of a search, of several cells the least favourable."""
        points = [point for point in self.points if point.runs and point.runs[-1].found]
        first = points[0].runs[-1].found
        assert first
        metric = Metric(name=first.axis, sought=first.kind)
        values = [(self.cell(metric, point).value, point) for point in points]
        valued = [(value, point) for value, point in values if value is not None]
        choose = max if first.goal == "lowest" else min
        point = choose(valued, key=itemgetter(0))[1] if valued else points[0]
        result = point.runs[-1].found
        assert result
        _, where, condition = result.seek.partition(" where ")
        name = f"{result.goal} {axis_name(result.axis)}{where}{condition}"
        figure = replace(self.cell(metric, point), definition=result.seek)
        headline = self._headline(name, metric, figure, point, self.points)
        return replace(
            headline,
            where=cell_text(point, self.points),
            bound=result.beyond,
            goal=result.goal,
            why=headline.why if valued else result.nothing,
            more_is_better=result.goal == "highest",
        )

    def _headline(
        self,
        name: str,
        metric: Metric,
        figure: Headline,
        point: Point,
        among: Sequence[Point],
        count: str = "",
    ) -> Headline:
        is_worst, runs = name.startswith(WORST), point.runs
        verdicts = [
            verdict
            for run in (() if is_worst else point.counted)
            for verdict in run.verdicts
            if self.limits.get(verdict.expectation) == metric
        ]
        missed = [verdict for verdict in verdicts if verdict.outcome == "failed"]
        against = () if point.failed else self.doubts.of(point)
        is_burst = not is_worst and self._is_before_fall(point)
        return replace(
            figure,
            name=f"{figure.word} {name}".strip(),
            metric=str(metric),
            unit=unit_of(metric),
            kind=access(point) if runs and self._has_kinds else "",
            where=where(point, self.points),
            cell=dict(place(point)),
            among=frozenset(map(place, among)),
            definition=(figure.definition or _meaning(metric)) + count,
            is_simulated=any(is_virtual(run.backend.name) for run in runs),
            is_shortened=any(run.asked.shortened for run in runs),
            zero=self._zero(metric, figure, point),
            unmet=bool(missed),
            against=(*against, *((BURST,) * is_burst), *figure.against),
            quantity=_quantity(metric),
            word=f"{figure.word} {name.removesuffix(_short_name(metric))}".strip(),
            size=size_of(point) if runs else "",
            is_of_search=bool(runs and runs[-1].found),
            more_is_better=more_is_better(metric),
            limit=next((verdict.limit for verdict in (*missed, *verdicts)), None),
        )

    def _zero(self, metric: Metric, figure: Headline, point: Point) -> str:
        """The bound by the power cuts in its cell that its runs have judged."""
        if figure.value != 0 or metric.name not in BOUNDED:
            return ""
        cell = point.runs[-1].asked.cell
        runs = [r for p in self.points for r in p.runs if r.asked.cell == cell]
        return zero_text(metric, 0.0, cuts_read(runs, point.counted, metric))

    @cached_property
    def _has_kinds(self) -> bool:
        return len({access(point) for point in self.points if point.runs}) > 1


def _is_steered(point: Point) -> bool:
    """Whether the plan itself changes the load of the only run of a cell."""
    workloads = (run.asked.workload for run in point.counted)
    led = (is_led(stream) for workload in workloads for stream in workload.streams)
    return len(point.counted) == 1 and any(led)


def _quantity(metric: Metric) -> str:
    is_trim = metric.direction == "trim"
    return metric_name(replace(metric, direction=None) if is_trim else metric)


def _short_name(metric: Metric) -> str:
    name = _quantity(metric)
    return name.removesuffix(" latency") if metric.percent is not None else name


def _meaning(metric: Metric) -> str:
    ios = SYNC_MEANINGS.get(metric.direction or "", "all I/Os")
    if metric.percent is not None:
        return f"{metric.percent:g} % of {ios} took no longer"
    if metric.direction in SYNCS and metric.name == "mean":
        return f"the mean time of {ios}"
    return MEANINGS.get(metric.name, metric_name(metric))


# How fast a cache or erased blocks come back while a drive is idle.

SAME = 1.1
"""A run that ends at no more than so many times the sustained rate has used up what
came before."""
ALL = 0.95
"""So much of what an unpaused run had may be all of it."""


def with_pause(
    burst: Burst,
    run: RunRecord,
    writing: Mapping[int, RunRecord],
    over: Callable[[RunRecord], OverTime],
) -> Burst:
    """The burst of a run; all that precedes its last level, with the pause that made it
    possible, where the plan leaves the drive idle right before the run, and the run
    before that wrote the same until its own burst was used up.
    """
    before, regained = writing.get(run.seq - 1), over(run).unsustained
    if not (before and regained and _is_paused(run) and _wrote_alike(before, run)):
        return burst
    sustained, last = fmean(over(run).sustained), fmean(over(before).sustained or [0.0])
    if not last <= SAME * sustained or sustained > FALL * regained.value:
        return burst
    others = (over(run).unsustained for run in writing.values() if not _is_paused(run))
    most = max((burst.written_bytes for burst in others if burst), default=0.0)
    is_least = regained.written_bytes >= ALL * most
    return replace(regained, idle_s=_idle_s(before, run), may_be_all=is_least)


def _is_paused(run: RunRecord) -> bool:
    return bool(run.state and run.state.idle_s)


def _wrote_alike(before: RunRecord, run: RunRecord) -> bool:
    """Whether the run, all of which was measured, wrote what that before did."""
    is_alike = before.asked.workload == run.asked.workload
    return is_alike and before.status == "ok" and not run.asked.job.warmup_ns


def _idle_s(before: RunRecord, run: RunRecord) -> float:
    """Between the runs; a simulated clock runs ahead of ours."""
    if is_virtual(run.backend.name):
        return run.state.idle_s if run.state else 0.0
    begin, end = map(datetime.fromisoformat, (before.ended_at, run.started_at))
    return (end - begin).total_seconds()
