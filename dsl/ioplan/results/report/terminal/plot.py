"""Curves and points as text, with axes, a legend, and marks of what failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle, groupby
from string import ascii_letters
from typing import NamedTuple

import plotext
from msgspec import Struct
from rich.text import Text

from ioplan.core.text import printable
from ioplan.results.report.charts.axis import figures
from ioplan.results.report.documents import FAILED, ChartSpec
from ioplan.results.report.terminal.axis import Axis, Ticks, axis, x_ticks, y_ticks
from ioplan.results.report.terminal.parts import Curve, Part, curves, phase_lines

HEIGHT = 15
WIDEST = 100
BRAILLE, POINT = "braille", "•"
FEW_POINTS = 100
COLORS = {
    **{"blue+": "bright_blue", "orange": "yellow", "green": "green"},
    **{"magenta+": "bright_magenta", "cyan": "cyan", "red+": "bright_red"},
    **{"white": "bright_white", "gray": "bright_black"},
}
"""plotext's names, and rich's of the same colours; more curves take several plots."""
GAP = "   "
FRAME_LINES = 3
"""Above a plot, below it, and its ticks."""
MOST_LABELS = 24
SPREAD = {("mean", "mean"): "─", ("low", "low"): "╌", ("high", "high"): "╌"}
"""The signs of an overlay's lines by where these begin and end: of the last fifth over
time; then of the window of a steady state, and of the limit of a search."""
CONVERGENCE = SPREAD | {("fit", "fit2"): "·"}
LINES = {"probes": {("limit", "limit"): "─"}, "convergence": CONVERGENCE}
LINE_NAMES = {"─": "mean", "╌": "limits of the range", "·": "least-squares fit"}
EVENT = "┊"

Points = Sequence[tuple[float, float | None]]


class Styled(NamedTuple):
    """A curve, how it is drawn, and the sign that the legend shows it by."""

    curve: Curve
    marker: str
    color: str | None = None
    sign: Text | None = None


class Canvas(Struct, frozen=True):
    """What is drawn on: places are values of its axes."""

    x: Axis
    y: Axis
    width: int

    def begin(self, height: int) -> None:
        plotext.clear_figure()
        plotext.theme("clear")
        plotext.plot_size(self.width, height)
        plotext.xlim(self.x.at(self.x.low), self.x.at(self.x.high))
        plotext.ylim(self.y.at(self.y.low), self.y.at(self.y.high))

    def draw(
        self,
        points: Points,
        marker: str,
        color: str | None = None,
        is_line: bool = True,
    ) -> None:
        """A line, or its points alone; what has no place on an axis is left out."""
        x, y = self.x, self.y
        placed = [(a, b) for a, b in points if b is not None and x.has(a) and y.has(b)]
        places = [x.at(a) for a, _ in placed], [y.at(b) for _, b in placed]
        draw = plotext.plot if is_line else plotext.scatter
        draw(*places, marker=marker, color=color)

    @property
    def left(self) -> int:
        """Columns before the plot: the longest tick, and the frame."""
        return max(len(text) for _, text in y_ticks(self.y)) + 1

    def lines(self, values: Sequence[float]) -> list[Text]:
        plotext.yticks(*zip(*y_ticks(self.y), strict=True))
        across = x_ticks(self.x, values, self.width - self.left - 2)
        plotext.xticks(*zip(*across, strict=True))
        text = Text.from_ansi(plotext.build(), no_wrap=True, overflow="ignore")
        return [*text.split("\n")[:-1], Text(self._tick_line(across), no_wrap=True)]

    def _tick_line(self, ticks: Ticks) -> str:
        """The texts of ticks below their marks; plotext, which takes them in the order
        of a set, puts them a column aside in every other process."""
        columns, low = self.width - self.left - 1, self.x.at(self.x.low)
        per_place = (columns - 1) / (self.x.at(self.x.high) - low)
        line = " " * self.width
        for place, text in ticks:
            middle = self.left + round((place - low) * per_place)
            start = max(0, min(middle - len(text) // 2, self.width - len(text)))
            line = line[:start] + text + line[start + len(text) :]
        return line

    def cell(self, across: float, up: float, rows: int) -> tuple[int, int]:
        """The line and the column of a point in a plot of so many rows."""
        x, y, columns = self.x, self.y, self.width - self.left - 1
        right = (x.at(across) - x.at(x.low)) / (x.at(x.high) - x.at(x.low))
        down = (y.at(y.high) - y.at(up)) / (y.at(y.high) - y.at(y.low))
        return 1 + round(down * (rows - 1)), self.left + round(right * (columns - 1))


def plots(
    chart: ChartSpec, part: Part, width: int, colored: bool, height: int = HEIGHT
) -> Iterator[Text]:
    every = curves(chart, part)
    canvas = Canvas(*_axes(chart, part, every), min(width, WIDEST))
    styled = list(_styled(chart, every, colored))
    most = len(COLORS if colored else ascii_letters)
    for start in range(0, len(styled), most):
        canvas.begin(height)
        lines = _plot(chart, part, styled[start : start + most], canvas)
        yield Text("\n", no_wrap=True, overflow="ignore").join(lines)


def _axes(chart: ChartSpec, part: Part, every: Sequence[Curve]) -> tuple[Axis, Axis]:
    points = [point for curve in every for point in curve.points]
    xs, ys = [x for x, _ in points], [y for _, y in points if y is not None]
    is_convergence = chart.kind == "convergence"
    for row in part.overlay if is_convergence else ():
        ys += figures(row[key] for pair in CONVERGENCE for key in pair)
    if chart.kind == "histogram":
        xs += [float(row["x2"] or 0) for row in part.rows]
    x, y = chart.frame.column(chart.x), chart.frame.column(chart.y)
    return (
        axis(x, chart.x_scale, xs, zero=False),
        axis(y, chart.y_scale, ys or [0.0], zero=not is_convergence),
    )


def _styled(
    chart: ChartSpec, every: Sequence[Curve], colored: bool
) -> Iterator[Styled]:
    """Braille, in colours if there are several; letters where there are no colours."""
    for curve, letter, color in zip(
        every, cycle(ascii_letters), cycle(COLORS), strict=False
    ):
        is_sparse = chart.marks.has_points and len(curve.points) <= FEW_POINTS
        fine = POINT if is_sparse else BRAILLE
        if len(every) == 1:
            yield Styled(curve, fine)
        elif colored:
            yield Styled(curve, fine, color, Text("⠒⠒", COLORS[color]))
        else:
            yield Styled(curve, letter, None, Text(letter))


def _plot(
    chart: ChartSpec, part: Part, styled: Sequence[Styled], canvas: Canvas
) -> list[Text]:
    """One plot, its phases above and its legend below, where these hide nothing."""
    _draw_overlays(chart, part, canvas)
    for item in styled:
        _draw(chart, item, canvas)
    points = [point for item in styled for point in item.curve.points]
    for x, y in points:
        if y is None:  # on the axis, where no value is read
            canvas.draw([(x, canvas.y.low)], FAILED, is_line=False)
    lines = canvas.lines([x for x, _ in points])
    if chart.kind == "hockey" and len(part.rows) <= MOST_LABELS:
        _label_points(lines, part, canvas)
    begin, room = canvas.x.low, canvas.width - canvas.left - 1
    per_x = room / (canvas.x.high - begin)
    phases = phase_lines(chart, canvas.left, room, lambda v: (v - begin) * per_x)
    lines = [*phases, *lines, *_legend(chart, styled, canvas.width)]
    for line in lines:
        line.rstrip()
    return lines


def _draw(chart: ChartSpec, styled: Styled, canvas: Canvas) -> None:
    """A line, broken where a point failed; or points; of a histogram the outline of
    bars that touch."""
    curve, marker, color, _ = styled
    for is_failed, group in groupby(curve.points, key=lambda point: point[1] is None):
        points = list(group)
        if chart.kind == "histogram":
            ends = [*(left for left, _ in points[1:]), canvas.x.high]
            bars = zip(points, ends, strict=True)
            points = [(x, y) for (left, y), right in bars for x in (left, right)]
        if not is_failed:
            canvas.draw(points, marker, color, not chart.marks.has_points)


def _draw_overlays(chart: ChartSpec, part: Part, canvas: Canvas) -> None:
    """Lines across the plot, and events from bottom to top."""
    for row in part.overlay:
        values = {k: float(v) for k, v in row.items() if isinstance(v, (int, float))}
        for (start, end), sign in LINES.get(chart.kind, SPREAD).items():
            ends = (values["x"], values[start]), (values["x2"], values[end])
            canvas.draw(ends, sign)
    for row in chart.limits.records() if chart.limits else ():
        if row[chart.y] is None:
            at = float(row[chart.x] or 0)
            canvas.draw([(at, canvas.y.low), (at, canvas.y.high)], EVENT)


def _label_points(lines: list[Text], part: Part, canvas: Canvas) -> None:
    """Write labels beside their points, the highest load first, where there is room:
    a label hides neither a curve nor another label."""
    for row in reversed(part.rows):
        x, y = float(row["x"] or 0), float(row["y"] or 0)
        if not (row["label"] and canvas.x.has(x) and canvas.y.has(y)):
            continue
        text = printable(f" {row['label']} ")
        number, at = canvas.cell(x, y, len(lines) - FRAME_LINES)
        for down, start in _places_beside(at, len(text)):
            line = lines[number + down]
            end, is_within = start + len(text), start >= canvas.left
            if is_within and line.plain[start:end] == " " * len(text):
                lines[number + down] = line[:start] + text + line[end:]
                break


def _places_beside(at: int, size: int) -> Iterator[tuple[int, int]]:
    """Where a label of this size may stand: by how many lines lower than its mark, and
    from which column on. A mark may be drawn a cell beside its place."""
    yield from ((0, at + 1), (0, at + 2), (0, at - size), (0, at - size - 1))
    for start in (at - size // 2, at - size + 1, at):
        yield from ((-1, start), (1, start))


def _legend(chart: ChartSpec, styled: Sequence[Styled], width: int) -> list[Text]:
    """The sign of each curve with its name, in lines."""
    entries = [item.sign + f" {item.curve.name}" for item in styled if item.sign]
    if chart.kind == "convergence" and chart.overlay:
        entries += [Text(f"{sign} {name}") for sign, name in LINE_NAMES.items()]
    lines: list[Text] = []
    for entry in entries:
        if lines and len(lines[-1]) + len(GAP) + len(entry) <= width:
            lines[-1] = lines[-1] + GAP + entry
        else:
            lines.append(entry)
    return lines
