"""The phases of a picture over time as lines above it in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from rich.text import Text

from ioplan.core.text import printable
from ioplan.results.report.charts.phases import lanes
from ioplan.results.report.document import ChartSpec, Frame

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
