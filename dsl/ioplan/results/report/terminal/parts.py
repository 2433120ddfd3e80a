"""The parts of a chart that a terminal draws one by one, their curves and phases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count

from msgspec import Struct
from rich.text import Text

from ioplan.core.grouping import grouped
from ioplan.core.text import printable
from ioplan.results.report.charts.axis import UNTITLED
from ioplan.results.report.documents import ChartSpec, Column, Frame, Value

Row = dict[str, Value]
Span = tuple[float, float, str]

MOST_PARTS = 12
"""As many as the page has panels."""
BEGIN, ON = "├", "─"


class Part(Struct, frozen=True):
    """The rows of one panel of a chart, or of one choice, with its name."""

    name: str
    rows: list[Row]
    overlay: list[Row]


class Curve(Struct, frozen=True):
    """Points in their order; a failed one has no `y`."""

    name: str
    points: list[tuple[float, float | None]]


def parts(chart: ChartSpec) -> list[Part]:
    """The chart's rows, split by what the page has panels or a choice for."""
    keys = [key for key in (chart.channels.pick, chart.channels.panel) if key]
    over = chart.overlay
    overlay = _split(over.records(), over, keys) if over else {}
    return [
        Part(_name(chart.frame, keys, values), rows, overlay.get(values, []))
        for values, rows in _split(chart.frame.records(), chart.frame, keys).items()
    ]


def _split(
    rows: Iterable[Row], frame: Frame, keys: Sequence[str]
) -> dict[tuple[Value, ...], list[Row]]:
    """The rows by their values in some columns, in the order of these."""
    orders = [frame.column(key).order for key in keys]

    def rank(row: Row) -> list[int]:
        return [o.index(str(row[key])) for key, o in zip(keys, orders, strict=True)]

    in_order = sorted(rows, key=rank)
    return grouped(in_order, key=lambda row: tuple(row[key] for key in keys))


def _name(frame: Frame, keys: Sequence[str], values: Sequence[Value]) -> str:
    """`block size 4KiB, A`."""
    titles = (frame.column(key).title for key in keys)
    pairs = zip(titles, values, strict=True)
    texts = (f"{'' if t in UNTITLED else t} {value}".strip() for t, value in pairs)
    return printable(", ".join(texts))


def curves(chart: ChartSpec, part: Part) -> list[Curve]:
    """A curve for each colour and dash; of bands, one for each percentile."""
    if chart.kind == "bands":
        columns = [c for c in chart.frame.columns if c.key.startswith("y")]
        return [_curve(chart, c.title, part.rows, c.key) for c in columns]
    keys = [key for key in (chart.channels.color, chart.channels.dash) if key]
    return [
        _curve(chart, _name(chart.frame, keys, values), rows, chart.y)
        for values, rows in _split(part.rows, chart.frame, keys).items()
    ]


def _curve(chart: ChartSpec, name: str, rows: Sequence[Row], y: str) -> Curve:
    """Its points in the order of x; of a hockey stick, of what is swept."""
    x = chart.frame.column(chart.x)

    def rank(row: Row) -> float:
        is_swept = chart.kind == "hockey"
        return float(row["number"] or 0) if is_swept else place_on(x, row)

    points = [
        (place_on(x, row), None if row[y] is None else float(row[y] or 0))
        for row in sorted(rows, key=rank)
    ]
    return Curve(name, points)


def place_on(column: Column, row: Row) -> float:
    """Where a row is on an axis: of names, by their number."""
    x = row[column.key]
    return float(column.order.index(str(x)) if column.order else x or 0)


def phase_lines(
    chart: ChartSpec, left: int, width: int, column: Callable[[float], float]
) -> list[Text]:
    """The phases of a chart over time: a line for each lane, the last one lowest.

    `column` maps a time, or the number of a named column, to one of `width` columns
    that begin after `left`.
    """
    spans = list(_spans(chart.phases)) if chart.phases else []
    lane_of = _lanes(spans)
    lines = {lane: [" "] * width for lane in sorted({*lane_of.values()}, reverse=True)}
    for begin, end, name in spans:
        first = max(0, round(column(begin)))
        room = max(1, min(round(column(end)), width) - first)
        text = (BEGIN + printable(name))[:room].ljust(room, ON)
        lines[lane_of[name]][first : first + room] = text
    return [Text(" " * left + "".join(s[:width]).rstrip()) for s in lines.values()]


def _lanes(spans: Sequence[Span]) -> dict[str, int]:
    """A lane for each phase: those that overlap have different ones."""
    lanes: dict[str, int] = {}
    for name, own in grouped(spans, key=lambda span: span[2]).items():
        taken = {
            lanes[other]
            for begin, end, other in spans
            if other in lanes and any(a < end and begin < b for a, b, _ in own)
        }
        lanes[name] = next(n for n in count() if n not in taken)
    return lanes


def _spans(phases: Frame) -> list[Span]:
    """From where to where each phase is; columns in a row are joined."""
    x, spans = phases.columns[0], list[Span]()
    for row in phases.records():
        name, begin = str(row["phase"]), place_on(x, row)
        end = begin + 1 if x.order else float(row["x2"] or 0)
        if x.order and spans and spans[-1][1:] == (begin, name):
            begin = spans.pop()[0]
        spans.append((begin, end, name))
    return spans
