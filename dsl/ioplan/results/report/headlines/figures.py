"""Headlines made of figures: each is one of `measure.metrics`, as the export has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial

from msgspec import Struct
from msgspec.structs import replace

from ioplan.language.metric import RATES, Metric, parse_metric
from ioplan.records.record import RunRecord, Verdict
from ioplan.results.measure.metrics import more_is_better
from ioplan.results.measure.over_time import Burst, OverTime
from ioplan.results.measure.zero_losses import BOUNDED, cuts_read, zero_text
from ioplan.results.report.charts.request import MEANINGS as HOST_MEANINGS
from ioplan.results.report.charts.request import metric_name, unit_of
from ioplan.results.report.headlines.doubts import (
    BURST,
    CHANGED,
    Doubts,
    is_virtual,
)
from ioplan.results.report.headlines.headline import Headline
from ioplan.results.report.headlines.places import (
    access,
    axis_name,
    cell_text,
    is_reached,
    place,
    size_of,
    where,
    writes,
)
from ioplan.results.report.headlines.regained import Writes, with_pause
from ioplan.results.report.point import Point, only_trims
from ioplan.results.report.reader import Reader
from ioplan.workload import SYNCS

MEANINGS = {
    "iops": "completed I/Os per second of measured time",
    "bandwidth": "bytes moved per second of measured time",
    "mean": "the mean time from submission to completion, of all I/Os",
    **HOST_MEANINGS,
}

UNMET, WORST = "failed its limit", "worst"
SYNC_MEANINGS = {
    "flush": "all flushes",
    "commit": "all commits, each from the start of a write to the end of its flush",
}


class Value(Struct, frozen=True):
    """The figure of a cell, or why there is none, and what it does over time."""

    value: float | None
    why: str = ""
    definition: str = ""
    spread_percent: float | None = None
    spread: str = ""
    error_percent: float | None = None
    burst: Burst | None = None
    word: str = ""
    """`steady` of a window that the drive's state can bear, else `settled`."""
    against: tuple[str, ...] = ()


class Figures(Struct, frozen=True, dict=True):
    """The figures of the points of one test in one session.

    Those that failed are told by why: a cell is told by what it differs in from them.
    """

    points: Sequence[Point]
    reader: Reader
    doubts: Doubts
    known: dict[tuple[Metric, int], Value] = {}
    """By metric and point: several headlines look at the same."""
    limits: Mapping[str, Metric] = {}
    """What the expectations of the plan are about, by their texts."""

    def metric(self, name: str, points: Sequence[Point]) -> Metric:
        """A metric of reads and writes; of trims where some points did nothing else."""
        return self.scoped(parse_metric(name), points)

    def scoped(self, metric: Metric, points: Sequence[Point]) -> Metric:
        """A metric as it is named, of the step that the points are of; of trims where
        some did nothing else."""
        if metric.direction or metric.stream:
            return metric
        trims = only_trims(run for point in points for run in point.runs)
        return replace(metric, step=None, direction="trim" if trims else None)

    def durable(self, name: str, points: Sequence[Point]) -> Metric:
        """A latency of commits; of flushes where the backend measures only these."""
        runs = [run for point in points for run in point.counted]
        only_flush = any("flush" in one.directions for one in runs) and not any(
            "commit" in one.directions for one in runs
        )
        return Metric(name=name, direction="flush" if only_flush else "commit")

    def worst(self, metric: Metric, points: Sequence[Point]) -> Iterator[Headline]:
        """The figure of a cell; of several cells the worst, if all have one."""
        values = [(self.value(metric, one), one) for one in points]
        if not values:
            return
        lacking = [(told, one) for told, one in values if told.value is None]
        choose, word = (
            (max, "highest ") if unit_of(metric) == "ns" else (min, "lowest ")
        )
        told, point = (
            lacking[0] if lacking else choose(values, key=lambda one: one[0].value or 0)
        )
        word = word if len(points) > 1 else ""
        count = f", the {word}of {len(points)} cells" if word else ""
        yield self._headline(
            f"{word}{self._name(metric)}", metric, told, point, points, count
        )

    def value(self, metric: Metric, point: Point) -> Value:
        """The figure of a point: the steady window's, or what it sustains."""
        key = metric, id(point)
        if key not in self.known:
            self.known[key] = self._value(metric, point)
        return self.known[key]

    def _value(self, metric: Metric, point: Point) -> Value:
        if point.failed:
            return Value(None, point.status)
        told = self.reader.stated(metric, point.counted)
        found, over = told.figure, told.over
        against = (*self.doubts.of(point), *([BURST] * self._is_before_fall(point)))
        if found.value is None:
            return Value(None, found.why, against=against)
        if told.changed or (over and over.last_fall):
            against = (*against, CHANGED)
        value = Value(found.value, definition=told.definition, against=against)
        if over is None or metric.stream or metric.name not in RATES:
            return value
        burst = over.burst
        if burst and len(point.counted) == 1:
            run = point.counted[0]
            burst = with_pause(
                burst, run, self._writes, partial(self._over_run, metric)
            )
        value = replace(value, error_percent=over.error_percent, burst=burst)
        if told.steady:
            range_percent = told.steady.range_percent
            word = "settled" if told.steady.limits else "steady"
            spread = {"spread": "range", "spread_percent": range_percent}
            return replace(value, **spread, word=word)
        if over.spread_percent is None or is_reached(point):
            return value
        return replace(value, spread="±", spread_percent=over.spread_percent)

    def _is_before_fall(self, point: Point) -> bool:
        """Whether a later cell used up what made this one fast, as a cache of writes.

        None where anything was prepared between them.
        """
        if point.failed or not writes(point) or self._falls(point):
            return False
        last = point.counted[-1].seq
        later = [seq for seq in self._fallen if seq > last]
        return bool(later) and not any(
            last < seq < later[0] for seq in self.doubts.prepared
        )

    @cached_property
    def _fallen(self) -> list[int]:
        """The numbers of the writing runs whose rate fell within them."""
        written = [one for one in self.points if not one.failed and writes(one)]
        return sorted(one.counted[0].seq for one in written if self._falls(one))

    @cached_property
    def _writes(self) -> Writes:
        """The runs of all points that write."""
        points = [one for one in self.points if not one.failed and writes(one)]
        return {run.seq: run for point in points for run in point.counted}

    def _over_run(self, metric: Metric, run: RunRecord) -> OverTime:
        return self.reader.over_time(metric, [run])

    def _falls(self, point: Point) -> bool:
        return self.reader.over_time(Metric(name="iops"), point.counted).falls

    def worst_interval(self, name: str, points: Sequence[Point]) -> Iterator[Headline]:
        """The lowest rate in any interval of some cells."""
        metric = self.metric(name, points)
        found = [
            (self.reader.over_time(metric, one.counted), one)
            for one in points
            if not one.failed
        ]
        known = [
            (one.worst, one, point) for one, point in found if one.worst is not None
        ]
        if len(known) < len(points) or not known:
            return
        value, over, point = min(known, key=lambda one: one[0])
        text = f"the lowest {self._name(metric)} of {len(over.values)} intervals"
        against = tuple(self.doubts.of(point))
        told = Value(value, definition=text, against=against)
        yield self._headline(f"{WORST} {over.interval}", metric, told, point, points)

    def found(self) -> Iterator[Headline]:
        """What a seek has found, the least favourable of its cells."""
        cells = [one for one in self.points if one.runs and one.runs[-1].found]
        found = cells[0].runs[-1].found
        assert found
        choose = max if found.goal == "lowest" else min
        metric = Metric(name=found.axis, sought=found.kind)
        values = [(self.value(metric, one).value, one) for one in cells]
        known = [(value, one) for value, one in values if value is not None]
        if known:
            yield self.found_at(choose(known, key=lambda one: one[0])[1])
        else:
            yield replace(self.found_at(cells[0]), why=found.nothing)

    def found_at(self, point: Point) -> Headline:
        """What a seek has found in a cell; the name has the condition."""
        found = point.runs[-1].found
        assert found
        metric = Metric(name=found.axis, sought=found.kind)
        _, _, condition = found.seek.partition(" where ")
        name = f"{found.goal} {axis_name(found.axis)}"
        name += f" where {condition}" if condition else ""
        told = replace(self.value(metric, point), definition=found.seek)
        made = self._headline(name, metric, told, point, self.points)
        return replace(
            made,
            where=cell_text(point, self.points),
            bound=found.beyond,
            goal=found.goal,
            more_is_better=found.goal == "highest",
        )

    def _headline(
        self,
        name: str,
        metric: Metric,
        told: Value,
        point: Point,
        among: Sequence[Point],
        count: str = "",
    ) -> Headline:
        meaning = MEANINGS.get(metric.name, metric_name(metric))
        ios = SYNC_MEANINGS.get(metric.direction or "", "all I/Os")
        if metric.percent is not None:
            meaning = f"{metric.percent:g} % of {ios} took no longer"
        elif metric.direction in SYNCS and metric.name == "mean":
            meaning = f"the mean time of {ios}"
        judged = self._judged(name, metric, point)
        return Headline(
            name=f"{told.word} {name}".strip(),
            metric=str(metric),
            value=told.value,
            unit=unit_of(metric),
            kind=self._kind(point),
            where=where(point, self.points) if point.runs else _cell(point),
            cell=dict(place(point)),
            among=frozenset(place(one) for one in among),
            definition=(told.definition or meaning) + count,
            spread_percent=told.spread_percent,
            spread=told.spread,
            error_percent=told.error_percent,
            burst=told.burst,
            is_simulated=any(is_virtual(run.backend.name) for run in point.runs),
            is_shortened=any(run.asked.shortened for run in point.runs),
            why=told.why,
            zero=self._zero(metric, told, point),
            unmet=f"{metric} {UNMET}" * any(one.outcome == "failed" for one in judged),
            against=told.against,
            quantity=self._quantity(metric),
            word=f"{told.word} {name.removesuffix(self._name(metric))}".strip(),
            size=size_of(point) if point.runs else "",
            more_is_better=more_is_better(metric),
            limit=next((one.limit for one in judged), None),
        )

    def _judged(self, name: str, metric: Metric, point: Point) -> list[Verdict]:
        """The verdicts on this very metric; one on a run says nothing of its worst
        second."""
        if name.startswith(WORST):
            return []
        verdicts = (one for run in point.counted for one in run.verdicts)
        return [one for one in verdicts if self.limits.get(one.expectation) == metric]

    def _zero(self, metric: Metric, told: Value, point: Point) -> str:
        """The bound by the power cuts in its cell that its runs have judged."""
        if told.value != 0 or metric.name not in BOUNDED:
            return ""
        runs = (run for one in self.points for run in one.runs)
        cell = [run for run in runs if run.asked.cell == point.runs[-1].asked.cell]
        return zero_text(metric, told.value, cuts_read(cell, point.counted, metric))

    def _quantity(self, metric: Metric) -> str:
        if metric.direction == "trim":
            metric = replace(metric, direction=None)
        return metric_name(metric)

    def _name(self, metric: Metric) -> str:
        name = self._quantity(metric)
        return name.removesuffix(" latency") if metric.percent is not None else name

    def _kind(self, point: Point) -> str:
        """What I/O it is, where the test has several kinds."""
        return access(point) if self._has_kinds and point.runs else ""

    @cached_property
    def _has_kinds(self) -> bool:
        return len({access(one) for one in self.points if one.runs}) > 1


def _cell(point: Point) -> str:
    return ", ".join(f"{axis_name(name)} {text}" for name, text in place(point))
