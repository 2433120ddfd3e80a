"""Headlines made of figures: each is one of `measure.metrics`, as the export has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from ioplan.language.metric import Metric, parse_metric
from ioplan.report.charts.request import MEANINGS as HOST_MEANINGS
from ioplan.report.charts.request import metric_name, unit_of
from ioplan.report.headlines.headline import Headline
from ioplan.report.headlines.over_time import over_time, steady_of
from ioplan.report.headlines.places import access, axis_name, cell_text, place, where
from ioplan.report.points import Point, only_trims
from ioplan.report.reader import Reader

MEANINGS = {
    "iops": "completed I/Os per second of measured time",
    "bandwidth": "bytes moved per second of measured time",
    "mean": "the mean time from submission to completion, of all I/Os",
    **HOST_MEANINGS,
}
Choice = Callable[..., tuple[float, Point]]
WORDS: dict[Choice, str] = {max: "highest", min: "lowest"}


class Figures(Struct, frozen=True, dict=True):
    """The figures of the points of one test in one session; none of those failed.

    `every` has those that failed, too: a cell is told by what it differs in from them.
    """

    points: Sequence[Point]
    reader: Reader
    every: Sequence[Point]
    known: dict[tuple[Metric, int], float | None] = {}
    """By metric and point: several headlines look for the best of the same."""

    def metric(self, name: str, points: Sequence[Point]) -> Metric:
        """Of reads and writes; of trims where some points did nothing else."""
        trims = only_trims(run for point in points for run in point.runs)
        return parse_metric(f"trim.{name}" if trims else name)

    def value(self, metric: Metric, point: Point) -> float | None:
        """The figure of a point; None without one that can be believed."""
        key = metric, id(point)
        if key not in self.known:
            self.known[key] = self.reader.figure(metric, point.counted).value
        return self.known[key]

    def best(self, name: str, points: Sequence[Point], choose: Choice) -> Point | None:
        """The point with the highest or the lowest figure; of equal ones the first."""
        return self._best(self.metric(name, points), points, choose)

    def _best(
        self, metric: Metric, points: Sequence[Point], choose: Choice
    ) -> Point | None:
        valued = ((self.value(metric, point), point) for point in points)
        known = [(value, point) for value, point in valued if value is not None]
        return choose(known, key=lambda pair: pair[0])[1] if known else None

    def extreme(
        self, name: str, points: Sequence[Point], choose: Choice = max
    ) -> Iterator[Headline]:
        """The highest or the lowest figure of some points."""
        if point := self.best(name, points, choose):
            word = f"{WORDS[choose]} " if len(points) > 1 else ""
            yield from self._at(self.metric(name, points), point, points, word)

    def each_at(self, point: Point, *names: str) -> Iterator[Headline]:
        """Those of some figures that a point has."""
        for name in names:
            yield from self._at(self.metric(name, [point]), point, [point])

    def _at(
        self, metric: Metric, point: Point, among: Sequence[Point], word: str = ""
    ) -> Iterator[Headline]:
        value = self.value(metric, point)
        if value is None:
            return
        meaning = MEANINGS.get(metric.name, metric_name(metric))
        if metric.percent is not None:
            meaning = f"{metric.percent:g} % of all I/Os took no longer"
        count = f", the {word}of {len(among)} cells" if word else ""
        name = f"{word}{self._name(metric)}"
        yield self._headline(name, metric, value, point, among, meaning + count)

    def best_found(self) -> Point | None:
        """Where the highest value was found; where that is sought, the lowest."""
        cells = [point for point in self.points if point.runs[-1].found]
        found = cells[0].runs[-1].found
        assert found
        choose = min if found.goal == "lowest" else max
        return self._best(Metric(name=found.axis, sought=found.kind), cells, choose)

    def found(self, point: Point) -> Headline:
        """What a seek has found in a cell; the name has the condition."""
        found = point.runs[-1].found
        assert found and found.value is not None
        metric = Metric(name=found.axis, sought=found.kind)
        _, _, condition = found.seek.partition(" where ")
        name = f"{found.goal} {axis_name(found.axis)}"
        name += f" where {condition}" if condition else ""
        told = self._headline(name, metric, found.value, point, [point], found.seek)
        among = frozenset(place(one) for one in self.points)
        end = "" if found.no_at is not None else "the end of the range"
        where = cell_text(point, self.every) or end
        return replace(told, among=among, where=where, bound=found.beyond)

    def over_time(self, name: str, point: Point) -> Iterator[Headline]:
        """The mean of a cell with its spread, and its worst interval."""
        metric = self.metric(name, [point])
        found, title = over_time(metric, point, self.reader), self._name(metric)
        if steady := steady_of(metric, point):
            text = f"the mean of the {steady.window} values of the steady window"
            told = self._headline(
                f"steady {title}", metric, steady.mean, point, [], text
            )
            yield replace(told, spread_percent=steady.range_percent, spread="range")
        for told in self._at(metric, point, [point]) if not steady else ():
            yield replace(told, spread_percent=found.spread_percent, spread="±")
        if found.worst is not None:
            text = f"the lowest {title} of {len(found.values)} intervals"
            name = f"worst {found.interval}"
            yield self._headline(name, metric, found.worst, point, [point], text)

    def _headline(
        self,
        name: str,
        metric: Metric,
        value: float,
        point: Point,
        among: Sequence[Point],
        definition: str,
    ) -> Headline:
        return Headline(
            name=name,
            metric=str(metric),
            value=value,
            unit=unit_of(metric),
            kind=self._kind(point),
            where=where(point, self.every),
            cell=dict(place(point)),
            among=frozenset(place(one) for one in among),
            definition=definition,
        )

    def _name(self, metric: Metric) -> str:
        if metric.percent is not None:
            return metric.name
        return metric_name(replace(metric, direction=None))

    def _kind(self, point: Point) -> str:
        """What I/O it is, where the test has several kinds."""
        return access(point) if self._has_kinds else ""

    @cached_property
    def _has_kinds(self) -> bool:
        return len({access(one) for one in self.points}) > 1
