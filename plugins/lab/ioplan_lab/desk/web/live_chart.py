"""Lines over time as SVG, drawn by the desk, so that no script is needed for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise

from markupsafe import Markup

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 640, 170, 64, 10, 22
COLOURS = 6
"""Lines of one colour differ by their dashes; see desk.css."""
GAP_S = 15.0
"""After so long without a value the line is broken."""
DAY, SECOND = "%Y-%m-%d", "%H:%M:%S UTC"
STEPS = (1, 2, 2.5, 5, 10)

Points = Sequence[tuple[float, float]]
"""Seconds since 1970, and the value."""
Text = Callable[[float], str]


def chart(
    title: str, lines: Mapping[str, Points], text: Text, days: bool = False
) -> Markup:
    """A chart from 0 to the highest value; empty without any value. Over `days`, lines
    are not broken."""
    lines = {name: points for name, points in lines.items() if points}
    if not lines:
        return Markup()
    times = [at for points in lines.values() for at, _ in points]
    first, last = min(times), max(*times, min(times) + 1.0)
    top = _round_up(max(value for points in lines.values() for _, value in points))
    body = [*_axes(top, first, last, text, days)]
    for number, points in enumerate(lines.values()):
        body += _line(number, points, first, last, top, days)
    return Markup(
        '<svg class="live" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>'
    ).format(WIDTH, HEIGHT, _told(title, lines, text), Markup().join(body))


def legend(names: Sequence[str]) -> Markup:
    """Which line is whose."""
    items = (
        Markup('<li class="live-{}">{}</li>').format(number % COLOURS, name)
        for number, name in enumerate(names)
    )
    return Markup('<ul class="legend">{}</ul>').format(Markup().join(items))


def _told(title: str, lines: Mapping[str, Points], text: Text) -> str:
    """The chart for those who do not see it."""
    parts = (f"{name} {text(points[-1][1])}" for name, points in lines.items())
    return f"{title}, now: {', '.join(parts)}"


def _round_up(value: float) -> float:
    """To a figure that is easily read."""
    scale = 1.0
    while scale * 10 <= value:
        scale *= 10
    while scale > value > 0:
        scale /= 10
    return next((step * scale for step in STEPS if step * scale >= value), scale) or 1.0


def _axes(
    top: float, first: float, last: float, text: Text, days: bool
) -> Iterator[Markup]:
    for share in (0.0, 0.5, 1.0):
        y = _y(share)
        yield Markup('<line x1="{}" x2="{}" y1="{}" y2="{}"/>').format(
            LEFT, WIDTH, y, y
        )
        yield Markup('<text x="{}" y="{}" text-anchor="end">{}</text>').format(
            LEFT - 6, y + 4, text(top * share)
        )
    for at, anchor, x in ((first, "start", LEFT), (last, "end", WIDTH)):
        stamp = format(datetime.fromtimestamp(at, UTC), DAY if days else SECOND)
        yield Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>').format(
            x, HEIGHT - 4, anchor, stamp
        )


def _line(
    number: int, points: Points, first: float, last: float, top: float, days: bool
) -> Iterator[Markup]:
    style = f"live-{number % COLOURS}" + (" dashed" if number >= COLOURS else "")
    for part in [list(points)] if days else _unbroken(points):
        places = " ".join(
            f"{_x((at - first) / (last - first))},{_y(value / top)}"
            for at, value in (part if len(part) > 1 else [*part, *part])
        )
        yield Markup('<polyline class="{}" points="{}"/>').format(style, places)


def _unbroken(points: Points) -> Iterator[list[tuple[float, float]]]:
    part = [points[0]]
    for (before, _), one in pairwise(points):
        if one[0] - before > max(GAP_S, 3 * _usual_s(points)):
            yield part
            part = []
        part.append(one)
    yield part


def _usual_s(points: Points) -> float:
    """From one point to the next."""
    return (points[-1][0] - points[0][0]) / max(1, len(points) - 1)


def _x(share: float) -> float:
    return round(LEFT + (WIDTH - LEFT) * share, 1)


def _y(share: float) -> float:
    return round(TOP + (HEIGHT - TOP - BOTTOM) * (1 - share), 1)
