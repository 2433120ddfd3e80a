"""The charts of a test in the terminal: lines over an axis, a heatmap over two
axes, or a run over time."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log

import plotext
from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from ioplan.core.text import fits, line, printable
from ioplan.core.units import metric_text
from ioplan.language.metric import Metric
from ioplan.language.plan import Chart, Test
from ioplan.measure.metrics import Sample, figure
from ioplan.records.record import RunDetail, RunRecord
from ioplan.report.charts.axis import in_order, scale_of
from ioplan.report.charts.over_time import metric_at

CIVIDIS = (
    (0, 34, 78),
    (53, 69, 108),
    (102, 105, 112),
    (148, 142, 119),
    (200, 184, 102),
    (254, 232, 56),
)
"""Dark to bright, the same to every eye; Nuñez and others, PLOS ONE 13 (2018)."""
BRIGHT = 0.179
"""From this relative luminance on, black letters have more contrast than white ones:
4.5 at least, as WCAG 2 asks."""

Place = tuple[str, str]


@dataclass(frozen=True)
class Heat:
    """Values by their place on the axis across and the axis down."""

    metric: Metric
    axes: Place
    values: Mapping[Place, float | None]
    rest: str = ""

    @property
    def across(self) -> tuple[str, ...]:
        """The columns, in order."""
        return in_order(place[0] for place in self.values)

    @property
    def down(self) -> tuple[str, ...]:
        """The rows, in order."""
        return in_order(place[1] for place in self.values)

    def turned(self) -> Heat:
        """The same with rows and columns exchanged."""
        axes = (self.axes[1], self.axes[0])
        values = {(b, a): value for (a, b), value in self.values.items()}
        return Heat(self.metric, axes, values, self.rest)


def heat_table(heat: Heat) -> Table:
    """A row for each value of the axis down; what was not run is left empty."""
    across, down = heat.axes
    unit = " in MB/s" if heat.metric.unit == "B/s" else ""
    title = f"{heat.metric}{unit} by {across} and {down}{heat.rest}"
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=0,
        pad_edge=False,
        title=line(title),
        title_style="",
        title_justify="left",
    )
    table.add_column(line(f"{down} \\ {across} "), justify="right", no_wrap=True)
    for text in heat.across:
        table.add_column(line(f" {text} "), justify="right", no_wrap=True)
    color = _colors([v for v in heat.values.values() if v is not None])
    for row in heat.down:
        cells = [_cell(heat, (text, row), color) for text in heat.across]
        table.add_row(line(f"{row} "), *cells)
    return table


def _cell(heat: Heat, place: Place, color: Colors) -> Text:
    value = heat.values.get(place)
    if value is None:
        return Text(" – " if place in heat.values else "")
    text = metric_text(value, heat.metric.unit).removesuffix(" MB/s")
    return Text(f" {text} ", style=color.of(value))


@dataclass(frozen=True)
class Colors:
    """From the smallest value to the largest."""

    low: float
    high: float
    log: bool

    def of(self, value: float) -> str:
        """A style: a background, and letters that can be read on it."""
        red, green, blue = _between(self._share(value))
        ink = 0 if _luminance((red, green, blue)) >= BRIGHT else 255
        return f"rgb({ink},{ink},{ink}) on rgb({red},{green},{blue})"

    def _share(self, value: float) -> float:
        if self.high <= self.low:
            return 0.5
        if self.log:
            return log(value / self.low) / log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def _colors(values: Sequence[float]) -> Colors:
    low, high = min(values, default=0.0), max(values, default=0.0)
    return Colors(low, high, scale_of(values) == "log")


def _luminance(rgb: Sequence[int]) -> float:
    """Relative luminance, as WCAG 2 defines it."""
    red, green, blue = (_linear(part / 255) for part in rgb)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return float(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4)


def _between(share: float) -> tuple[int, int, int]:
    """The colour at a share of the way."""
    at = share * (len(CIVIDIS) - 1)
    first = min(int(at), len(CIVIDIS) - 2)
    red, green, blue = (
        round(a + (b - a) * (at - first))
        for a, b in zip(CIVIDIS[first], CIVIDIS[first + 1], strict=True)
    )
    return red, green, blue


HEIGHT = 15
WIDEST = 100
ACROSS_TWO = ("heatmap", "table")
MARKERS = "abcdefghi"
"""Each line is drawn with its letter; as many lines as letters."""

Details = Callable[[RunRecord], RunDetail]


@dataclass(frozen=True)
class Curve:
    """Points to draw, with the name for the legend."""

    name: str
    xs: list[float]
    ys: list[float]


def terminal_charts(
    test: Test, records: Sequence[RunRecord], details: Details, console: Console
) -> list[RenderableType]:
    """The charts that the plan asks for, or the one that its axes suggest."""
    charts = test.charts or (_by_axes(test),)
    drawn = (_drawn(chart, records, details, console) for chart in charts)
    return [one for one in drawn if one]


def _drawn(
    chart: Chart, records: Sequence[RunRecord], details: Details, console: Console
) -> RenderableType:
    """Over two axes where there is room, else lines; empty if there is nothing."""
    if chart.kind in ACROSS_TWO and len(chart.by) == 2:
        heat = _heat(chart, records, details)
        for one in (heat, heat.turned()):
            table = heat_table(one)
            if len(one.across) > 1 and fits(table, console):
                return table
    canvas = Canvas(min(console.width, WIDEST) - 2, console.is_terminal)
    return Text.from_ansi(_draw(chart, records, details, canvas))


def _heat(chart: Chart, records: Sequence[RunRecord], details: Details) -> Heat:
    """The first metric of a chart line over its two axes."""
    across, down = chart.by
    places: dict[tuple[str, str], list[RunRecord]] = {}
    for record in records:
        cell = record.asked.cell
        if across in cell and down in cell:
            places.setdefault((cell[across], cell[down]), []).append(record)
    metric = chart.metrics[0]
    values = {
        place: figure(metric, [Sample(r, details(r)) for r in found]).value
        for place, found in places.items()
    }
    return Heat(metric, (across, down), values, _rest(_others(records, chart.by)))


@dataclass(frozen=True)
class Canvas:
    """Where lines are drawn."""

    width: int = 78
    color: bool = True


def plain(text: str) -> str:
    """Without colours and without blanks at the ends of lines."""
    bare = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return "\n".join(line.rstrip() for line in bare.splitlines())


def _by_axes(test: Test) -> Chart:
    """IOPS over both axes, else by the last one, a line for each of the one before."""
    names = [name for axis in test.axes for name in axis.names[:1]]
    two = len([axis for axis in test.axes if len(axis.values) > 1]) == len(names) == 2
    return Chart(
        kind="heatmap" if two else "lines" if names else "scatter",
        metrics=(Metric(name="iops"),),
        by=tuple(reversed(names)) if two else tuple(names[-1:]) or ("time",),
        per=() if two else tuple(names[-2:-1]),
        when=None,
        scales=(),
        text="",
    )


def _draw(
    chart: Chart, records: Sequence[RunRecord], details: Details, canvas: Canvas
) -> str:
    """The first metric of a chart line, over all cells, its condition or not."""
    metric = chart.metrics[0]
    if chart.by[:1] == ("time",):
        return _over_time(metric, records, details, canvas)
    axis = chart.by[0] if chart.by else ""
    known = [r for r in records if axis in r.asked.cell]
    if len({r.asked.cell[axis] for r in known}) < 2:
        return ""
    per = (chart.per or chart.by[1:2])[:1]
    return _lines(metric, known, (axis, *per), details, canvas)


def _lines(
    metric: Metric,
    records: Sequence[RunRecord],
    axes: tuple[str, ...],
    details: Details,
    canvas: Canvas,
) -> str:
    """Evenly spaced values of the axis, as a doubling axis wants it."""
    axis, per = axes[0], axes[1:]
    ticks = list(dict.fromkeys(r.asked.cell[axis] for r in records))
    curves = []
    for name, points in _series(records, axis, per).items():
        values = {
            float(ticks.index(tick)): figure(
                metric, [Sample(r, details(r)) for r in found]
            ).value
            for tick, found in points.items()
        }
        known = {x: y for x, y in values.items() if y is not None}
        curves.append(Curve(name, list(known), list(known.values())))
    rest = _rest(_others(records, axes))
    title = f"{metric} by {axis}{' per ' + per[0] if per else ''}{rest}"
    return _rendered(title, metric, curves, ticks, canvas)


def _others(records: Sequence[RunRecord], axes: tuple[str, ...]) -> list[str]:
    """Axes that are not drawn over."""
    cells = [record.asked.cell for record in records]
    names = dict.fromkeys(name for cell in cells for name in cell)
    return [name for name in names if name not in axes]


def _rest(others: list[str]) -> str:
    return f" (all {', '.join(others)} together)" if others else ""


def _series(
    records: Sequence[RunRecord], axis: str, per: tuple[str, ...]
) -> dict[str, dict[str, list[RunRecord]]]:
    """Line name -> value of the axis -> the runs of that point."""
    series: dict[str, dict[str, list[RunRecord]]] = {}
    for record in records:
        cell = record.asked.cell
        name = f"{per[0]} {cell.get(per[0], '')}" if per else ""
        if name in series or len(series) < len(MARKERS):
            series.setdefault(name, {}).setdefault(cell[axis], []).append(record)
    return series


def _over_time(
    metric: Metric, records: Sequence[RunRecord], details: Details, canvas: Canvas
) -> str:
    series = details(records[-1]).series if records else ()
    points = [(point.t_s, metric_at(metric, point)) for point in series]
    known = [(t, v) for t, v in points if v is not None]
    if len(known) < 2:
        return ""
    curve = Curve("", [t for t, _ in known], [v for _, v in known])
    return _rendered(f"{metric} over time, in seconds", metric, [curve], None, canvas)


def _rendered(
    title: str,
    metric: Metric,
    curves: list[Curve],
    ticks: list[str] | None,
    canvas: Canvas,
) -> str:
    """The y axis begins at 0 and is labelled in the metric's unit."""
    top = max((y for curve in curves for y in curve.ys), default=0.0)
    if not top:
        return ""
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.plot_size(canvas.width, HEIGHT)
    plotext.title(printable(title))
    for curve, letter in zip(curves, MARKERS, strict=False):
        marker = "braille" if len(curves) == 1 else letter
        draw = plotext.plot if ticks else plotext.scatter
        draw(curve.xs, curve.ys, marker=marker)
    if ticks:
        plotext.xticks(list(range(len(ticks))), [*map(printable, ticks)])
    plotext.ylim(0, top)
    marks = [top * part / 4 for part in range(5)]
    plotext.yticks(marks, [metric_text(mark, metric.unit) for mark in marks])
    drawn = str(plotext.build())
    return (drawn if canvas.color else plain(drawn)) + _legend(curves)


def _legend(curves: list[Curve]) -> str:
    """Below the chart, where it hides nothing."""
    if len(curves) == 1:
        return ""
    pairs = zip(MARKERS, curves, strict=False)
    return "\n" + "   ".join(
        f"{letter} {printable(curve.name)}" for letter, curve in pairs
    )
