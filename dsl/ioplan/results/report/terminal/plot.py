"""Curves and points as text, with axes, a legend, and marks of what failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, groupby, repeat
from string import ascii_lowercase, ascii_uppercase

import plotext
from rich.text import Text

from ioplan.core.text import printable
from ioplan.results.report.documents import FAILED, ChartSpec
from ioplan.results.report.terminal.bars import Axis, axis, x_ticks, y_ticks
from ioplan.results.report.terminal.parts import Curve, Part, curves, phase_lines

HEIGHT = 15
WIDEST = 100
MARKERS = ascii_lowercase + ascii_uppercase
"""Each curve is drawn with its letter; more curves than letters take several plots."""
RICH_COLORS = {
    **{"blue+": "bright_blue", "orange": "yellow", "green": "green"},
    **{"magenta+": "bright_magenta", "cyan": "cyan", "red+": "bright_red"},
}
"""plotext's names, and rich's of the same colours."""
COLORS = tuple(RICH_COLORS)
"""Each of so few curves has a colour, where there are colours."""
STROKE = "⠒⠒"
GAP = "   "
MOST_LABELS = 24
FEW_POINTS = 100
WINDOW = {"mean": "─", "low": "╌", "high": "╌"}
"""The last fifth over time: its mean, and the deviation below and above."""
CONVERGENCE = {
    ("low", "low"): "╌",
    ("high", "high"): "╌",
    ("fit", "fit2"): "·",
    ("mean", "mean"): "─",
}
EVENT = "┊"
CORNER, OTHER_CORNER = "└", "┘"
LIMIT = {"limit": "─"}
"""What a seek asks for."""
LINE_NAMES = {"─": "mean", "╌": "limits of the range", "·": "least-squares fit"}


def plots(
    picture: ChartSpec, part: Part, width: int, colored: bool = False
) -> Iterator[Text]:
    """The curves of a part, in as many plots as they need letters for.

    Where there are colours, few curves are drawn finely, each in its own.
    """
    found = curves(picture, part)
    fine = colored and 1 < len(found) <= len(COLORS)
    for start in range(0, len(found), len(MARKERS)):
        some = found[start : start + len(MARKERS)]
        yield _plot(picture, part, some, min(width, WIDEST), fine)


def _plot(
    picture: ChartSpec, part: Part, some: list[Curve], width: int, fine: bool
) -> Text:
    """One plot, and the legend below it, where it hides nothing."""
    x, y = _axes(picture, part, some)
    _begin(width, x, y)
    for segment in _overlays(picture, part):
        _segment(x, y, *segment)
    for at in _events(picture):
        _segment(x, y, at, y.low, at, y.high, EVENT)
    for curve, letter, color in _marked(some):
        if fine:
            _draw(picture, curve, x, y, _lone(picture, curve), color)
        else:
            lone = len(some) < 2
            _draw(picture, curve, x, y, _lone(picture, curve) if lone else letter)
    if picture.kind == "hockey" and len(part.rows) <= MOST_LABELS:
        _label(part, x, y)
    for curve in some:
        _mark_failed(curve, x, y)
    _set_ticks(some, x, y, width)
    drawn = Text.from_ansi(plotext.build(), no_wrap=True, overflow="ignore")
    lines = [*drawn.split("\n"), *_legend(picture, some, width, fine)]
    lines = [*_phases(picture, lines, x), *lines]
    for line in lines:
        line.rstrip()
    return Text("\n", no_wrap=True, overflow="ignore").join(lines)


def _phases(picture: ChartSpec, lines: Sequence[Text], x: Axis) -> list[Text]:
    """Above the plot, whose frame tells where it is."""
    below = next((line.plain for line in lines if CORNER in line.plain), "")
    left = below.find(CORNER) + 1
    width = below.find(OTHER_CORNER) - left
    if picture.phases is None or width < 1:
        return []
    per_column = (x.at(x.high) - x.at(x.low)) / width
    return phase_lines(picture, left, width, lambda v: (v - x.low) / per_column)


def _marked(some: Sequence[Curve]) -> Iterator[tuple[Curve, str, str]]:
    """With their letters and colours."""
    return zip(some, MARKERS, chain(COLORS, repeat("")), strict=False)


def _axes(picture: ChartSpec, part: Part, some: Sequence[Curve]) -> tuple[Axis, Axis]:
    frame = picture.frame
    xs = [x for curve in some for x in curve.xs]
    ys = [y for curve in some for y in curve.ys if y is not None]
    keys = [key for pair in CONVERGENCE for key in pair]
    for row in part.overlay if picture.kind == "convergence" else ():
        ys += [value for key in keys if isinstance(value := row[key], (int, float))]
    if picture.kind == "histogram":
        xs += [float(row["x2"] or 0) for row in part.rows]
    zero = picture.kind != "convergence"
    return (
        axis(frame.column(picture.x), picture.x_scale, xs, zero=False),
        axis(frame.column(picture.y), picture.y_scale, ys or [0.0], zero),
    )


def _begin(width: int, x: Axis, y: Axis) -> None:
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.plot_size(width, HEIGHT)
    plotext.xlim(x.at(x.low), x.at(x.high))
    plotext.ylim(y.at(y.low), y.at(y.high))


def _set_ticks(some: Sequence[Curve], x: Axis, y: Axis, width: int) -> None:
    marks = y_ticks(y)
    plotext.yticks([at for at, _ in marks], [text for _, text in marks])
    room = width - max(len(text) for _, text in marks) - 3
    ticks = x_ticks(x, [value for curve in some for value in curve.xs], room)
    plotext.xticks([at for at, _ in ticks], [text for _, text in ticks])


def _draw(
    picture: ChartSpec,
    curve: Curve,
    x: Axis,
    y: Axis,
    marker: str,
    color: str | None = None,
) -> None:
    """A line, broken where a point failed; or points."""
    for xs, ys in unbroken(curve, x, y):
        if picture.marks.has_points:
            plotext.scatter(xs, ys, marker=marker, color=color)
        elif picture.kind == "histogram":
            steps = _steps(xs, ys, x.at(x.high))
            plotext.plot(*steps, marker=marker, color=color)
        else:
            plotext.plot(xs, ys, marker=marker, color=color)


def _lone(picture: ChartSpec, curve: Curve) -> str:
    """The marker of a curve without others: fine, but points that are few are seen."""
    few = picture.marks.has_points and len(curve.xs) <= FEW_POINTS
    return "•" if few else "braille"


def unbroken(
    curve: Curve, x: Axis, y: Axis
) -> Iterator[tuple[list[float], list[float]]]:
    """The places of the points between those that failed."""
    points = zip(curve.xs, curve.ys, strict=True)
    for present, group in groupby(points, key=lambda point: point[1] is not None):
        if present:
            known = ((a, b) for a, b in group if b is not None)
            found = [(a, b) for a, b in known if x.has(a) and y.has(b)]
            yield [x.at(a) for a, _ in found], [y.at(b) for _, b in found]


def _steps(
    xs: Sequence[float], ys: Sequence[float], end: float
) -> tuple[list[float], list[float]]:
    """The outline of bars that touch."""
    ends = [*xs[1:], end]
    corners = [
        corner
        for left, right, value in zip(xs, ends, ys, strict=True)
        for corner in ((left, value), (right, value))
    ]
    return [a for a, _ in corners], [b for _, b in corners]


def _overlays(
    picture: ChartSpec, part: Part
) -> Iterator[tuple[float, float, float, float, str]]:
    """From x and y, to x and y, and the sign of the line."""
    for row in part.overlay:
        found = {key: float(v) for key, v in row.items() if isinstance(v, (int, float))}
        level = LIMIT if picture.kind == "probes" else WINDOW
        names = {(key, key): sign for key, sign in level.items()}
        chosen = CONVERGENCE if picture.kind == "convergence" else names
        for (start, end), sign in chosen.items():
            yield found["x"], found[start], found["x2"], found[end], sign


def _events(picture: ChartSpec) -> Iterator[float]:
    """Where lines stand from bottom to top."""
    for row in picture.limits.records() if picture.limits else ():
        if row[picture.y] is None:
            yield float(row[picture.x] or 0)


def _segment(
    x: Axis, y: Axis, x1: float, y1: float, x2: float, y2: float, sign: str
) -> None:
    if x.has(x1) and y.has(y1) and y.has(y2):
        plotext.plot([x.at(x1), x.at(x2)], [y.at(y1), y.at(y2)], marker=sign)


def _label(part: Part, x: Axis, y: Axis) -> None:
    """The value of the swept axis beside its point, on the side that has room."""
    middle = (x.at(x.low) + x.at(x.high)) / 2
    for row in part.rows:
        across, up = float(row["x"] or 0), float(row["y"] or 0)
        if row["label"] and x.has(across) and y.has(up):
            side = "left" if x.at(across) < middle else "right"
            text = printable(f" {row['label']} ")
            plotext.text(text, x.at(across), y.at(up), alignment=side)


def _mark_failed(curve: Curve, x: Axis, y: Axis) -> None:
    """On the axis, where no value is read."""
    for at, value in zip(curve.xs, curve.ys, strict=True):
        if value is None and x.has(at):
            plotext.scatter([x.at(at)], [y.at(y.low)], marker=FAILED)


def _legend(
    picture: ChartSpec, some: Sequence[Curve], width: int, fine: bool
) -> Iterator[Text]:
    """The letter, or a stroke in the colour, of each curve with its name, in lines."""
    entries = []
    if len(some) > 1:
        for curve, letter, color in _marked(some):
            sign = Text(STROKE, RICH_COLORS[color]) if fine else Text(letter)
            entries.append(sign + f" {curve.name}")
    if picture.kind == "convergence" and picture.overlay:
        entries += [Text(f"{sign} {name}") for sign, name in LINE_NAMES.items()]
    line = Text()
    for entry in entries:
        if line and len(line) + len(GAP) + len(entry) > width:
            yield line
            line = Text()
        line = line + GAP + entry if line else entry
    if line:
        yield line
