"""A chart that is to be drawn, with the runs that it is drawn of, and its words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from ioplan.language.metric import DURING, PERCENTILE, Metric
from ioplan.language.output_table import CHARTS
from ioplan.language.plan import Chart
from ioplan.results.measure.metrics import RATIO_METRICS
from ioplan.results.report.charts.encoding import Datum, drawn, varied
from ioplan.results.report.documents import ChartSpec, Column, Scale
from ioplan.results.report.point import Point
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
CPU_UNIT = "% of one CPU"
"""What else is measured in percent is CPU time: on 8 CPUs, 800 % is all of them."""
MEANINGS = {
    "cpu": "what the program that does the I/O used, in user mode and in the kernel",
    "system_cpu": "all that was not idle, waiting for I/O or stolen, on all CPUs",
    "stack_cpu": "system_cpu without other programs, and without what ioplan and its "
    "programs used in user mode: kernel, drivers, interrupts",
}


class Request(Struct, frozen=True):
    """A chart, and the points that meet its condition."""

    chart: Chart
    points: list[Point]
    reader: Reader

    @property
    def marks(self) -> str:
        return CHARTS[self.chart.kind].marks

    @property
    def is_over_axis(self) -> bool:
        """Whether it has a place for each value of an axis."""
        return CHARTS[self.chart.kind].renderer == "axis"

    @property
    def by(self) -> str:
        """What it is drawn over; empty for points without an axis."""
        return self.chart.by[0] if self.chart.by else ""

    @property
    def along(self) -> list[Point]:
        """The points that have a place on the first axis."""
        return [p for p in self.points if not self.by or self.by in p.dimensions]

    @property
    def varied(self) -> dict[str, list[str]]:
        return varied(point.dimensions for point in self.points)

    @property
    def units(self) -> Iterator[list[Metric]]:
        """Metrics that can share an axis."""
        for unit in dict.fromkeys(metric.unit for metric in self.chart.metrics):
            yield [m for m in self.chart.metrics if m.unit == unit]

    def y_scale(self, otherwise: Scale = "linear") -> Scale:
        """What the plan says of the y axis."""
        return "log" if "log y" in self.chart.scales else otherwise

    def x_scale(self, otherwise: Scale) -> Scale:
        """What the plan says of the x axis."""
        return "log" if "log x" in self.chart.scales else otherwise

    def picture(
        self,
        kind: str,
        title: str,
        data: Sequence[Datum],
        columns: tuple[Column, ...],
        **more: Any,
    ) -> ChartSpec:
        """Rows as a chart with the title and the words of its line."""
        further = self.chart.by[1:] if self.is_over_axis else ()
        more = {"per": (*self.chart.per, *further), "line": self.chart.text} | more
        return drawn(kind, f"{title}{self.when}", data, columns, **more)

    @property
    def when(self) -> str:
        """The condition as the plan writes it, for a title."""
        _, when, condition = self.chart.text.partition(" when ")
        return f" ({condition.partition(',')[0].strip()})" if when else ""


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
