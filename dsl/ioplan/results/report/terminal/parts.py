"""The parts of a picture that the terminal draws one by one, and their curves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from ioplan.core.text import printable
from ioplan.results.report.charts.axis import axis_title
from ioplan.results.report.document import ChartSpec, Column, Frame, Value

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
