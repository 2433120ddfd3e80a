"""A chart that is to be drawn, with the runs that it is drawn of.

Its words; its rows, and which of their dimensions become colour, dash, panel or choice;
the limits of expectations as lines of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ioplan.core.units import whole_text
from ioplan.language.metric import (
    DURING,
    PERCENTILE,
    Metric,
    MetricError,
    parse_metric,
)
from ioplan.language.output_table import CHARTS
from ioplan.language.plan import Chart
from ioplan.records.record import RunRecord, Verdict
from ioplan.results.measure.metrics import RATIO_METRICS
from ioplan.results.report.charts.axis import axis_title, figures, in_order, numbers
from ioplan.results.report.documents import (
    JUDGED,
    STATUS,
    Channels,
    ChartSpec,
    Column,
    Frame,
    Scale,
    Value,
)
from ioplan.results.report.point import Dimensions, Point
from ioplan.results.report.reader import Reader

NAMES = {
    "iops": "IOPS",
    "bandwidth": "throughput",
    "mean": "mean latency",
    "min": "smallest latency",
    "max": "largest latency",
    "stddev": "deviation of latency",
    "cpu": "CPU of the load generator",
    "iops_per_cpu": "IOPS per % CPU of the load generator",
    "system_cpu": "CPU of the whole system",
    "iops_per_system_cpu": "IOPS per % CPU of the whole system",
    "stack_cpu": "CPU of the storage stack only",
    "iops_per_stack_cpu": "IOPS per % CPU of the storage stack only",
    "watts": "power",
    "iops_per_watt": "IOPS per watt",
    "bandwidth_per_watt": "throughput per watt",
    "waf": "write amplification",
    "media_written": "written to the flash",
    "dwpd": "drive writes per day",
}
UNIT_NAMES = {
    "ns": "latency",
    "1/s": "IOPS",
    "B/s": "throughput",
    "%": "CPU",
    "1/s per %": "IOPS per % CPU",
}
OF_POWER = ("watts", "iops_per_watt", "temperature", "bandwidth_per_watt")
CPU_UNIT = "% of one CPU"
"""What else is measured in percent is CPU time: on 8 CPUs, 800 % is all of them."""
MEANINGS = {
    "cpu": "what the program that does the I/O used, in user mode and in the kernel",
    "system_cpu": "all that was not idle, waiting for I/O or stolen, on all CPUs",
    "stack_cpu": "system_cpu without other programs, and without what ioplan and its "
    "programs used in user mode: kernel, drivers, interrupts",
}


class Request(Struct, frozen=True):
    chart: Chart
    points: list[Point]
    reader: Reader

    @property
    def marks(self) -> str:
        return CHARTS[self.chart.kind].marks

    @property
    def is_over_axis(self) -> bool:
        return CHARTS[self.chart.kind].renderer == "axis"

    @property
    def by(self) -> str:
        """What it is drawn over; empty for points without an axis."""
        return self.chart.by[0] if self.chart.by else ""

    @property
    def along(self) -> list[Point]:
        return [p for p in self.points if not self.by or self.by in p.dimensions]

    @property
    def varied(self) -> dict[str, list[str]]:
        return varied(point.dimensions for point in self.points)

    @property
    def units(self) -> Iterator[list[Metric]]:
        """Metrics that can share an axis."""
        for unit in dict.fromkeys(metric.unit for metric in self.chart.metrics):
            yield [m for m in self.chart.metrics if m.unit == unit]

    def x_scale(self, otherwise: Scale = "linear") -> Scale:
        """Logarithmic if the plan says so."""
        return "log" if "log x" in self.chart.scales else otherwise

    def y_scale(self, otherwise: Scale = "linear") -> Scale:
        return "log" if "log y" in self.chart.scales else otherwise

    def picture(
        self,
        kind: str,
        title: str,
        data: Sequence[Datum],
        columns: tuple[Column, ...],
        **more: Any,
    ) -> ChartSpec:
        further = self.chart.by[1:] if self.is_over_axis else ()
        more = {"per": (*self.chart.per, *further), "line": self.chart.text} | more
        return drawn(kind, f"{title}{self.when}", data, columns, **more)

    @property
    def when(self) -> str:
        """The condition as the plan writes it, for a title."""
        _, when, condition = self.chart.text.partition(" when ")
        return f" ({condition.partition(',')[0].strip()})" if when else ""


# Its words.


def left_out(count: int, most: int) -> str:
    """A note on curves that are too many to draw; empty where all are drawn."""
    if count <= most:
        return ""
    return (
        f"the first {most} of {count} curves are drawn: choose others with `when` in "
        "the chart line"
    )


def metric_name(metric: Metric) -> str:
    """A metric in a title: `read p99`, `IOPS of reader`, `mean during calm`, `IOPS at
    step later`."""
    name = NAMES.get(metric.name, metric.name)
    if metric.beyond:
        return str(metric)
    if metric.plain.percent is not None:
        name = f"{metric.name} latency"
    if metric.worst:
        name = f"{name} of the worst second"
    during = f"{DURING}{metric.phase}" if metric.phase else ""
    return f"{scoped_name(metric, name)}{during}"


def scoped_name(metric: Metric, name: str) -> str:
    """Of which direction, stream and step it is: `read p99 of reader at step later`."""
    of = f" of {metric.stream}" if metric.stream else ""
    of += f" at step {metric.step}" if metric.step else ""
    return f"{metric.direction or ''} {name}{of}".strip()


def meanings(metrics: Sequence[Metric]) -> tuple[str, ...]:
    """A line on each CPU time that metrics are of, or count IOPS by."""
    names = dict.fromkeys(RATIO_METRICS.get(m.name, (m.name,))[-1] for m in metrics)
    return tuple(f"{name}: {MEANINGS[name]}" for name in names if name in MEANINGS)


def unit_of(metric: Metric) -> str:
    is_cpu = metric.unit == "%" and metric.name != "verified" and not metric.beyond
    return CPU_UNIT if is_cpu else metric.unit


def y_column(metrics: Sequence[Metric]) -> Column:
    many = UNIT_NAMES.get(metrics[0].unit, "value")
    title = metric_name(metrics[0]) if len(metrics) == 1 else many
    return Column("y", title, unit_of(metrics[0]))


def metrics_title(metrics: Sequence[Metric]) -> str:
    """`IOPS`; `mean, p99 latency`."""
    if len(metrics) == 1:
        return capital(metric_name(metrics[0]))
    many = UNIT_NAMES.get(metrics[0].unit, "")
    if "CPU" in many:
        return many  # the legend has their names, which are long
    names = ", ".join(str(m) for m in metrics)
    title = f"{names} {many}".strip()
    return title if metrics[0].stream else capital(title)


def capital(text: str) -> str:
    """A title; `p99` keeps its small letter."""
    return text if PERCENTILE.match(text) else text[:1].upper() + text[1:]


# Its rows.

MOST_COLORS = 20
ANY_NUMBER = 1 << 30
"""Any number of sessions: the page draws many as panels, or as median and band."""
MOST_DASHES = 4
DASHED = ("lines", "hockey", "percentiles", "cumulative")
"""Kinds that have lines."""
GRIDS = ("heatmap", "table")
APART = (*GRIDS, "bands", "latencies", "convergence")
"""Kinds of which no two curves can share a panel."""
MOST_PANELS = 12
FEW = 3
TOGETHER = "where"


class Datum(Struct, frozen=True):
    """One row before it has columns: where it is, and its values.

    One of a cell that failed has no value on its y axis, and says so by its status;
    `judged` tells which expectations its value does not meet.
    """

    dimensions: Dimensions
    values: tuple[Value, ...]
    status: str = "ok"
    judged: str = ""


def drawn(
    kind: str,
    title: str,
    data: Sequence[Datum],
    columns: tuple[Column, ...],
    per: Sequence[str] = (),
    over: Sequence[Datum] = (),
    over_keys: Sequence[str] = (),
    line: str = "",
    notes: Iterable[str] = (),
    **more: Any,
) -> ChartSpec:
    """A chart of rows, and of what lies `over` them where it has the same dimensions.

    `per` is what the plan wants a line for each of.
    """
    frame, channels = framed(data, columns, per, kind)
    overlay, _ = framed(over, untitled(*over_keys), per, kind)
    own, above = (
        [key for c in rows.columns if (key := c.key) == TOGETHER or key[:1] == "d"]
        for rows in (frame, overlay)
    )
    more["overlay"] = overlay if over and own == above else None
    more["notes"] = tuple(filter(None, notes))
    if kind in GRIDS:
        more |= {"y": "row", "x_scale": "names", "y_scale": "names"}
    return ChartSpec(kind, title, line, frame, channels=channels, **more)


def untitled(*keys: str) -> tuple[Column, ...]:
    """Columns of what is drawn over points, which nobody reads."""
    return tuple(Column(key, "", "") for key in keys)


def framed(
    data: Sequence[Datum],
    values: tuple[Column, ...],
    per: Sequence[str] = (),
    kind: str = "lines",
) -> tuple[Frame, Channels]:
    """Rows with a column for each dimension that varies, then the values; last what
    went wrong, where anything did."""
    places = _untied([datum.dimensions for datum in data])
    texts = {n: t for n, t in varied(places).items() if all(n in p for p in places)}
    channels = _assigned({n: len(t) for n, t in texts.items()}, per, kind)
    columns = {
        name: Column(f"d{number}", axis_title(name), "text", in_order(values))
        for number, (name, values) in enumerate(texts.items())
    }
    heads = [[place[name] for name in texts] for place in places]
    remaining = [name for name in texts if name not in channels.values()]
    if len(remaining) > 1:
        joined = [together({n: place[n] for n in remaining}) for place in places]
        heads = [[*head, text] for head, text in zip(heads, joined, strict=True)]
        order, remaining = tuple(dict.fromkeys(joined)), [TOGETHER]
        columns[TOGETHER] = Column(TOGETHER, "", "text", order)
    for name in remaining:
        is_many = "panel" in channels or len(columns[name].order) > MOST_PANELS
        channels["pick" if is_many else "panel"] = name
    failed = any(datum.status != "ok" for datum in data)
    judged = any(datum.judged for datum in data)
    rows = [
        (*head, *datum.values, *(datum.status,) * failed, *(datum.judged,) * judged)
        for head, datum in zip(heads, data, strict=True)
    ]
    marks = (STATUS,) * failed + (JUDGED,) * judged
    keys = {channel: columns[name].key for channel, name in channels.items()}
    return Frame((*columns.values(), *values, *marks), rows), Channels(**keys)


def varied(places: Iterable[Dimensions]) -> dict[str, list[str]]:
    texts: dict[str, dict[str, None]] = {}
    for place in places:
        for name, text in place.items():
            texts.setdefault(name, {})[text] = None
    return {name: list(values) for name, values in texts.items() if len(values) > 1}


def together(dimensions: Dimensions) -> str:
    return ", ".join(f"{name} {value}" for name, value in dimensions.items())


def without(dimensions: Mapping[str, str], *names: str) -> Dimensions:
    return {name: text for name, text in dimensions.items() if name not in names}


def of_metric(dimensions: Dimensions, metric: Metric, *hidden: str) -> Dimensions:
    """Where a figure belongs; a metric of a step says itself of which."""
    own = without(dimensions, *hidden, *("step",) * bool(metric.step))
    return own | {"metric": str(metric)}


def tied(places: Sequence[Dimensions]) -> dict[str, str]:
    """Axes that move together: each later one to the first that it goes with."""
    texts = varied(places)
    names = [n for n in texts if n != "session" and all(n in p for p in places)]
    ties: dict[str, str] = {}
    for first, name in combinations(names, 2):
        is_free = first not in ties and name not in ties
        if is_free and len(texts[first]) == len(texts[name]):
            pairs = {(place[first], place[name]) for place in places}
            if len(pairs) == len(texts[name]):
                ties[name] = first
    return ties


def _untied(places: Sequence[Dimensions]) -> Sequence[Dimensions]:
    """The values of axes that move together in one text."""
    if not (ties := tied(places)):
        return places
    untied = [without(place, *ties) for place in places]
    for joined, place in zip(untied, places, strict=True):
        for name, first in ties.items():
            joined[first] += f" ({axis_title(name)} {place[name]})"
    return untied


def _assigned(
    sizes: Mapping[str, int], per: Sequence[str], kind: str
) -> dict[str, str]:
    """Channel to dimension: sessions and what the plan names come first."""
    free, assigned = dict(sizes), dict[str, str]()
    dashes = MOST_DASHES if kind in DASHED else 0

    def assign(channel: str, name: str, most: int) -> None:
        if channel not in assigned and 1 < free.get(name, 0) <= most:
            del free[name]
            assigned[channel] = name

    named, sessions = next((n for n in per if n in sizes), ""), sizes.get("session", 0)
    if kind in APART:
        assign("panel", "session", MOST_PANELS)
        return assigned
    if 0 < sessions <= MOST_PANELS and sizes.get(named, 0) > min(FEW, dashes):
        assign("color", named, MOST_COLORS)
        assign("panel", "session", MOST_PANELS)
    assign("color", "session", ANY_NUMBER)
    for name in (named, "metric"):
        assign("color", name, MOST_COLORS)
        assign("dash", name, dashes)
    assign("color", next((n for n in free if free[n] <= MOST_COLORS), ""), MOST_COLORS)
    assign("dash", "step", dashes)
    return assigned


# Its limits, and the points that failed.

MOST_LIMITS = 8
REACH = 3.0
"""A limit so many times beyond the figures would flatten them."""


class Limit(NamedTuple):
    text: str
    value: float
    unit: str


def judged_of(point: Point, metric: Metric) -> str:
    """Which expectations of a figure a point does not meet; empty if it meets all."""
    failed = dict.fromkeys(
        f"{verdict.outcome}: {verdict.expectation}"
        for verdict in _verdicts(point.runs, metric)
        if verdict.outcome in ("failed", "undecided")
    )
    return "; ".join(failed)


def with_limits(request: Request, picture: ChartSpec) -> ChartSpec:
    """The picture with the limits that its figures were held against: from side to
    side, or at each place along the axis that they hold at."""
    if not picture.marks.has_limits:
        return picture
    x, y = picture.frame.column(picture.x), picture.frame.column(picture.y)
    records = [*picture.frame.records()]
    # over time there are no cells along it
    along = {None} if x.unit in ("s", "B") else {row[picture.x] for row in records}
    measured = figures(row[picture.y] for row in records)
    least, most = min(measured, default=0.0), max(measured, default=-1.0)
    low = 0.0 if picture.y_scale == "linear" else least / REACH
    places = _places(request, picture, y.unit)
    near = [limit for limit in places if low <= limit.value <= most * REACH]
    far = [limit for limit in places if limit not in near][:MOST_LIMITS]
    notes = (
        f"limit beyond the chart: {text} ({whole_text(value, unit)})"
        for text, value, unit in far
    )
    picture = replace(picture, notes=(*picture.notes, *notes))
    if not near or len(near) > MOST_LIMITS:
        return picture
    rows = picture.limits.rows if picture.limits else ()
    across = {at for at in near if places[at] >= along or None in along}
    lines = (
        (at, limit.value, limit.text.removeprefix("expect ").strip())
        for limit in near
        for at in ((None,) if limit in across else places[limit])
    )
    columns = untitled(picture.x, picture.y, "limit")
    return replace(picture, limits=Frame(columns, [*rows, *lines]))


def _places(request: Request, picture: ChartSpec, unit: str) -> dict[Limit, set[Value]]:
    """Each limit of figures of a unit, and where along the x axis it was judged."""
    texts = [p.dimensions[request.by] for p in request.along if request.by]
    numbered = None if picture.x_scale == "names" else numbers(texts)
    places: dict[Limit, set[Value]] = {}
    for point in request.points:
        text = point.dimensions.get(request.by)
        at = numbered[0][text] if numbered and text is not None else text
        for metric in request.chart.metrics:
            for verdict in _verdicts(point.runs, metric):
                if verdict.limit is not None and metric.unit == unit:
                    limit = Limit(verdict.expectation, verdict.limit, verdict.unit)
                    places.setdefault(limit, set()).add(at)
    return places


def _verdicts(runs: Sequence[RunRecord], metric: Metric) -> Iterator[Verdict]:
    """Those of a metric; their line begins with `expect METRIC`."""
    for run in runs:
        streams = [stream.name for stream in run.streams]
        for verdict in run.verdicts:
            words = verdict.expectation.split()[1:2]
            try:
                own = parse_metric("".join(words), streams, [run.asked.name])
            except MetricError:
                continue  # a store that was passed on may say anything
            if own == metric:
                yield verdict
