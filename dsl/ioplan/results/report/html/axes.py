"""Axes and scales of a chart, each with what its switch offers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from ioplan.results.report.charts.axis import LONG_S, time_ticks
from ioplan.results.report.document import ChartSpec, Column, Frame, Scale

Spec = dict[str, Any]

MOST_TICKS = 16
LOG_PADDING = 14
"""Pixels beyond the smallest and the largest value, in place of whole decades."""
UNIT_TITLES = {
    "B/s": "MB/s",
    "% of one CPU": "% of one CPU",
    "W": "W",
    "°C": "°C",
}
RATIOS = {
    "1/s per %": "IOPS per % of one CPU",
    "1/s per W": "IOPS per watt",
    "B/s per W": "MB/s per watt",
}
"""Titles for these units; the chart's title says what they are of."""


def title(column: Column) -> str:
    """`throughput (MB/s)`; times and sizes carry their unit at each tick."""
    if column.unit in RATIOS:
        return RATIOS[column.unit]
    unit = UNIT_TITLES.get(column.unit, "")
    return f"{column.title} ({unit})" if unit else column.title


def x_choices(picture: ChartSpec) -> dict[str, Spec]:
    """The x axis for each position of its switch, the first one first."""
    column = picture.frame.column(picture.x)
    if picture.x_scale == "names":
        return {"names": _names(column)}
    if picture.x_scale == "nines":
        percent = picture.frame.column("percent")
        linear = _numbers(percent, "linear", ())
        return {"nines": _nines(column), "linear": linear}
    ticks = _ticks(picture.frame, picture.x) if picture.kind == "lines" else ()
    found = _both(column, picture.x_scale, ticks, zero=False)
    if column.unit == "s" and (end_s := _largest(picture)) >= LONG_S:
        found["linear"]["axis"] |= _times(end_s)
    return found


def _largest(picture: ChartSpec) -> float:
    at = [column.key for column in picture.frame.columns].index(picture.x)
    found = (row[at] for row in picture.frame.rows)
    return max((x for x in found if isinstance(x, (int, float))), default=0.0)


def _times(end_s: float) -> Spec:
    label = "tick(datum.value, 'duration')"
    return {"values": time_ticks(end_s), "labelExpr": label}


def y_choices(picture: ChartSpec) -> dict[str, Spec]:
    """The y axis for each position of its switch."""
    column = picture.frame.column(picture.y)
    if picture.y_scale == "names":
        return {"names": _names(column, reversed(column.order))}
    if picture.kind == "bands":  # whose columns are named after the percentiles
        column = Column(column.key, "latency", column.unit)
    zero = picture.kind not in ("convergence", "history")
    return _both(column, picture.y_scale, (), zero=zero)


def _both(
    column: Column, start: Scale, ticks: tuple[float, ...], zero: bool
) -> dict[str, Spec]:
    scales: tuple[Scale, ...] = ("linear", "log")
    first = start if start in scales else "linear"
    order = (first, *(s for s in scales if s != first))
    return {s: _numbers(column, s, _fitting(column, ticks, s), zero) for s in order}


def _fitting(
    column: Column, ticks: tuple[float, ...], scale: Scale
) -> tuple[float, ...]:
    """The measured values as ticks, where they do not crowd; always of sizes."""
    steps = [after - before for before, after in pairwise(ticks)]
    even = bool(steps) and max(steps) <= 1.01 * min(steps)
    return ticks if scale == "log" or even or column.unit == "size" else ()


def _names(column: Column, order: Iterable[str] | None = None) -> Spec:
    """The order is a domain, not a sort: that would put texts into expressions."""
    axis: Spec | None = {
        "title": title(column) or None,
        "labelAngle": 0,
        "labelLimit": 140,
        **({"labelOverlap": "greedy"} if len(column.order) > MOST_TICKS else {}),
    }
    if column.order in ((), ("",)):
        axis = None
    return {
        "field": column.key,
        "type": "nominal",
        "sort": None,
        "scale": {"domain": list(order or column.order)},
        "axis": axis,
    }


def _numbers(
    column: Column, scale: Scale, ticks: tuple[float, ...], zero: bool = False
) -> Spec:
    axis: Spec = {
        "title": title(column),
        "labelExpr": f"datum.label === '' ? '' : tick(datum.value, '{column.unit}')",
    }
    if ticks:
        axis |= _fixed(ticks, column)
    if column.unit == "" and scale == "linear":
        axis["tickMinStep"] = 1
    kind: Spec = {"type": scale, "nice": scale == "linear" and not ticks}
    kind |= {"base": 2 if ticks else 10} if scale == "log" else {"zero": zero}
    if zero and scale == "log":
        kind["padding"] = LOG_PADDING
    return {
        "field": column.key,
        "type": "quantitative",
        "axis": axis,
        "scale": kind,
    }


def _fixed(ticks: Sequence[float], column: Column) -> Spec:
    """Ticks at these values; Vega drops every other one unless it has their number."""
    label = f"tick(datum.value, '{column.unit}')"
    return {"values": list(ticks), "tickCount": len(ticks), "labelExpr": label}


def _nines(column: Column) -> Spec:
    """Each nine takes the same room; the value is the negative log of what is left."""
    half = 0.30103
    ticks = [0, half, 1, 2, 3, 4, 5, 6, 7]
    return {
        "field": column.key,
        "type": "quantitative",
        "axis": {"title": column.title, **_fixed(ticks, column)},
        "scale": {"type": "linear", "nice": False, "zero": False},
    }


def _ticks(frame: Frame, key: str) -> tuple[float, ...]:
    """The values that were measured, where they are few."""
    at = [column.key for column in frame.columns].index(key)
    values = {value for row in frame.rows if isinstance(value := row[at], (int, float))}
    return tuple(sorted(values)) if len(values) <= MOST_TICKS else ()
