"""The parts of a picture that the terminal draws one by one, and their curves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct
from rich.text import Text

from ioplan.core.text import printable
from ioplan.results.report.charts.axis import axis_title
from ioplan.results.report.charts.phases import lanes
from ioplan.results.report.documents import ChartSpec, Column, Frame, Value

# The phases of a picture over time as lines above it in the terminal.

BEGIN, ON = "├", "─"

Span = tuple[int, int, str]


def phase_lines(
    picture: ChartSpec, left: int, width: int, column: Callable[[float], float]
) -> list[Text]:
    """A line for each lane, the last one next to the picture.

    `column` tells where a time is, of `width` columns that begin after `left`.
    """
    if picture.phases is None:
        return []
    found = lanes(picture.phases)
    spans = [
        (*_ends(row, column), str(row["phase"])) for row in picture.phases.records()
    ]
    return _lines(spans, found, left, width)


def phase_strips(picture: ChartSpec, left: int, wide: int) -> list[Text]:
    """The same of a picture whose columns have names, each so many signs wide."""
    if picture.phases is None:
        return []
    spans = [(wide * a, wide * b, name) for a, b, name in joined(picture.phases)]
    width = wide * len(picture.frame.column("x").order)
    return _lines(spans, lanes(picture.phases), left, width)


def joined(phases: Frame) -> Iterator[Span]:
    """Columns of a phase that follow one another, as one."""
    order, last = phases.columns[0].order, (0, -1, "")
    for row in phases.records():
        at, name = order.index(str(row["x"])), str(row["phase"])
        if last[1:] == (at, name):
            last = (last[0], at + 1, name)
            continue
        if last[2]:
            yield last
        last = (at, at + 1, name)
    if last[2]:
        yield last


def _ends(
    row: Mapping[str, object], column: Callable[[float], float]
) -> tuple[int, int]:
    begin, end = (float(str(row[key])) for key in ("x", "x2"))
    return round(column(begin)), round(column(end))


def _lines(
    spans: list[Span], found: Mapping[str, int], left: int, width: int
) -> list[Text]:
    lines = []
    for lane in sorted(set(found.values()), reverse=True):
        signs = [" "] * width
        for begin, end, name in spans:
            if found[name] == lane:
                first = max(0, begin)
                room = max(1, min(end, width) - first)
                text = (BEGIN + printable(name))[:room].ljust(room, ON)
                signs[first : first + room] = text
        lines.append(Text(" " * left + "".join(signs[:width]).rstrip()))
    return lines


Row = dict[str, Value]

MOST_PARTS = 12
"""As many as the page has panels."""
UNNAMED = ("", axis_title("session"), axis_title("metric"))
"""Values of these dimensions need no name before them."""


class Part(Struct, frozen=True):
    """The rows of one panel of a picture, or of one choice, with its name."""

    name: str
    rows: list[Row]
    overlay: list[Row]


class Curve(Struct, frozen=True):
    """Points in their order; one that failed has no `y`."""

    name: str
    xs: list[float]
    ys: list[float | None]


def parts(picture: ChartSpec) -> list[Part]:
    """The picture's rows, split by what the page has panels or a choice for."""
    keys = [key for key in (picture.channels.pick, picture.channels.panel) if key]
    rows = _split(picture.frame, keys)
    overlay = _split(picture.overlay, keys) if picture.overlay else {}
    found = []
    for values, some in rows.items():
        named = zip(keys, values, strict=True)
        name = ", ".join(_named(picture.frame.column(k), str(v)) for k, v in named)
        found.append(Part(name, some, overlay.get(values, [])))
    return found


def _split(frame: Frame, keys: Sequence[str]) -> dict[tuple[Value, ...], list[Row]]:
    """The rows by their values in some columns, in the order of these."""
    found: dict[tuple[Value, ...], list[Row]] = {}
    for row in frame.records():
        found.setdefault(tuple(row[key] for key in keys), []).append(row)
    columns = [frame.column(key) for key in keys]
    return dict(sorted(found.items(), key=lambda item: _rank(columns, item[0])))


def _rank(columns: Sequence[Column], values: tuple[Value, ...]) -> tuple[int, ...]:
    pairs = zip(columns, values, strict=True)
    return tuple(column.order.index(str(value)) for column, value in pairs)


def _named(column: Column, text: str) -> str:
    title = "" if column.title in UNNAMED else column.title
    return printable(f"{title} {text}".strip())


def series_of(picture: ChartSpec, rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of each curve by its name: a colour, a dash, or both."""
    keys = [key for key in (picture.channels.color, picture.channels.dash) if key]
    frame = Frame(picture.frame.columns, [tuple(row.values()) for row in rows])
    return {
        ", ".join(
            _named(picture.frame.column(key), str(value))
            for key, value in zip(keys, values, strict=True)
        ): found
        for values, found in _split(frame, keys).items()
    }


def curves(picture: ChartSpec, part: Part) -> list[Curve]:
    """The curves of a part; of bands, one for each percentile."""
    if picture.kind == "bands":
        named = [c for c in picture.frame.columns if c.key.startswith("y")]
        return [_curve(picture, c.title, part.rows, c.key) for c in named]
    return [
        _curve(picture, name, rows, picture.y)
        for name, rows in series_of(picture, part.rows).items()
    ]


def _curve(picture: ChartSpec, name: str, rows: Sequence[Row], y: str) -> Curve:
    points = sorted(_points(picture, rows, y), key=lambda point: point[0])
    return Curve(name, [x for _, x, _ in points], [y for _, _, y in points])


def _points(
    picture: ChartSpec, rows: Sequence[Row], y: str
) -> Iterator[tuple[float, float, float | None]]:
    """What they are in order of, x, y."""
    order = picture.frame.column(picture.x).order
    for row in rows:
        found, value = row[picture.x], row[y]
        x = order.index(str(found)) if order else float(found or 0)
        rank = row["number"] if picture.kind == "hockey" else x
        yield float(rank or 0), float(x), None if value is None else float(value)
