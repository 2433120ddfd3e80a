"""The measurement window of a steady state as SNIA's report format has it: a table of
its values, and the equation of the straight line through them.
"""

from __future__ import annotations

from ioplan.results.report.blocks import MOST_CARDS, Table, Text
from ioplan.results.report.documents import ChartSpec, Value

SHOWN_IN = {"ns": (1e3, "µs"), "B/s": (1e6, "MB/s"), "1/s": (1.0, "IOPS")}


def windows(picture: ChartSpec) -> list[tuple[Table | Text, ...]]:
    """The windows of a picture of a steady state, as many as have room."""
    if picture.kind != "convergence" or picture.overlay is None:
        return []
    limits = list(picture.overlay.records())[:MOST_CARDS]
    return [_window(picture, limit) for limit in limits]


def _window(picture: ChartSpec, of: dict[str, Value]) -> tuple[Table | Text, ...]:
    """Number, value, line, and deviation of each; then the line, and the limits."""
    column, number = picture.frame.column(picture.y), picture.frame.column(picture.x)
    factor, unit = SHOWN_IN.get(column.unit, (1.0, column.unit))
    title = column.title
    first, last, mean, low, high, fit, fit2 = (
        float(of[key] or 0) for key in ("x", "x2", "mean", "low", "high", "fit", "fit2")
    )
    slope = (fit2 - fit) / (last - first) if last > first else 0.0
    start = fit - slope * first
    places = {key: str(text) for key, text in of.items() if key[:1] == "d"}
    rows = [
        (
            f"{x:g}",
            _digits(y / factor),
            _digits((fit + slope * (x - first)) / factor),
            f"{100 * (y - mean) / mean:+.2f} %" if mean else "",
        )
        for row in picture.frame.records()
        if places.items() <= row.items()
        for x, y in [(float(row[picture.x] or 0), row[picture.y])]
        if isinstance(y, (int, float)) and first <= x <= last
    ]
    heading = title if title.endswith(unit) else f"{title} ({unit})"
    table = Table(
        ": ".join(filter(None, ("Measurement window", ", ".join(places.values())))),
        (number.title, heading, "fit", "from mean"),
        tuple(tuple(map(Text, row)) for row in rows),
        frozenset(range(4)),
    )
    line = (
        f"least-squares fit: {title} = {_digits(slope / factor)} x {number.title} "
        f"{'+' if start >= 0 else '-'} {_digits(abs(start / factor))} {unit}"
    )
    limits = (
        f"mean {_digits(mean / factor)} {unit}; permitted range "
        f"{_digits(low / factor)} to {_digits(high / factor)} {unit}"
    )
    return table, Text(line, "soft"), Text(limits, "soft")


def _digits(value: float) -> str:
    """Six digits, as a reader has to find the line again."""
    return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
