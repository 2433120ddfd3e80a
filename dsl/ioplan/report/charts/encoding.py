"""Which dimension of the rows becomes colour, dash, panel or choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ioplan.report.charts.axis import axis_title, in_order
from ioplan.report.document import Channels, Column, Frame, Value

MOST_COLORS = 20
MOST_DASHES = 4
MOST_PANELS = 12
FEW = 3
TOGETHER = "where"

Place = dict[str, str]


@dataclass(frozen=True)
class Point:
    """One row before it has columns: where it is, and its values."""

    place: Place
    values: tuple[Value, ...]


@dataclass
class _Free:
    """Dimensions that vary, and what they were given to."""

    sizes: dict[str, int]
    given: dict[str, str] = field(default_factory=dict)

    def give(self, channel: str, name: str, most: int) -> bool:
        """Give a dimension to a channel, if both are free and it has the room."""
        if channel in self.given or not 1 < self.sizes.get(name, 0) <= most:
            return False
        del self.sizes[name]
        self.given[channel] = name
        return True


def framed(
    points: Sequence[Point],
    values: tuple[Column, ...],
    per: Sequence[str] = (),
    colored: bool = True,
    dashes: int = MOST_DASHES,
) -> tuple[Frame, Channels]:
    """Points as rows: a column for each dimension that varies, then the values.

    `per` is what the plan wants a line for each of. Without `colored`, curves
    cannot share a panel; `dashes` is how many kinds of line there are.
    """
    points = _untied(points)
    texts = _varying(points)
    sizes = {name: len(found) for name, found in texts.items()}
    given = _given(sizes, per, colored, dashes)
    keys = {name: f"d{number}" for number, name in enumerate(texts)}
    columns = [
        Column(keys[name], axis_title(name), "text", in_order(found))
        for name, found in texts.items()
    ]
    rows = [(*(p.place[n] for n in texts), *p.values) for p in points]
    rest = [name for name in texts if name not in given.values()]
    channel = "pick" if "panel" in given or _many(points, rest) else "panel"
    if len(rest) == 1:
        given[channel] = rest[0]
    elif rest:
        keys[TOGETHER], given[channel] = TOGETHER, TOGETHER
        joined = [together({name: p.place[name] for name in rest}) for p in points]
        columns.append(Column(TOGETHER, "", "text", tuple(dict.fromkeys(joined))))
        at = len(texts)
        rows = [
            (*row[:at], text, *row[at:]) for row, text in zip(rows, joined, strict=True)
        ]
    frame = Frame((*columns, *values), rows)
    return frame, Channels(**{c: keys[name] for c, name in given.items()})


def together(place: Place) -> str:
    """Several dimensions in one text."""
    return ", ".join(f"{name} {value}" for name, value in place.items())


def tied(places: Sequence[Place]) -> dict[str, str]:
    """Axes that move together: each later one to the first that it goes with."""
    everywhere = set.intersection(*(set(p) for p in places)) if places else set()
    names = [n for n in (places[0] if places else ()) if n in everywhere - {"session"}]
    found: dict[str, str] = {}
    for number, name in enumerate(names):
        for first in names[:number]:
            if first not in found and _together(places, first, name):
                found[name] = first
                break
    return found


def _together(places: Sequence[Place], one: str, other: str) -> bool:
    """Whether each value of either always comes with one value of the other."""
    pairs = {(p[one], p[other]) for p in places}
    ones, others = {a for a, _ in pairs}, {b for _, b in pairs}
    return 1 < len(pairs) == len(ones) == len(others)


def _untied(points: Sequence[Point]) -> list[Point]:
    """Points with the values of axes that move together in one text."""
    ties = tied([point.place for point in points])
    if not ties:
        return list(points)
    made = []
    for point in points:
        place = {n: t for n, t in point.place.items() if n not in ties}
        for name, first in ties.items():
            place[first] += f" ({axis_title(name)} {point.place[name]})"
        made.append(Point(place, point.values))
    return made


def _varying(points: Sequence[Point]) -> dict[str, list[str]]:
    """Dimensions that all points have, with more than one value."""
    if not points:
        return {}
    found: dict[str, dict[str, None]] = {name: {} for name in points[0].place}
    for point in points:
        for name in list(found):
            if name in point.place:
                found[name][point.place[name]] = None
            else:
                del found[name]
    return {name: list(texts) for name, texts in found.items() if len(texts) > 1}


def _many(points: Sequence[Point], names: list[str]) -> bool:
    return len({tuple(p.place[n] for n in names) for p in points}) > MOST_PANELS


def _given(
    sizes: dict[str, int], per: Sequence[str], colored: bool, dashes: int
) -> dict[str, str]:
    """Channel to dimension: sessions and what the plan names come first."""
    free = _Free(dict(sizes))
    wanted = next((name for name in per if name in sizes), "")
    if not colored:
        free.give("panel", "session", MOST_PANELS)
        return free.given
    if "session" in sizes and wanted and sizes[wanted] > min(FEW, dashes):
        free.give("color", wanted, MOST_COLORS)
        free.give("panel", "session", MOST_PANELS)
    free.give("color", "session", MOST_COLORS)
    for channel, most in (("color", MOST_COLORS), ("dash", dashes)):
        if wanted not in free.given.values():
            free.give(channel, wanted, most)
    for channel, most in (("color", MOST_COLORS), ("dash", dashes)):
        free.give(channel, "metric", most)
    if "color" not in free.given:
        fitting = [n for n, size in free.sizes.items() if size <= MOST_COLORS]
        free.give("color", fitting[0] if fitting else "", MOST_COLORS)
    free.give("dash", "step", dashes)
    return free.given
