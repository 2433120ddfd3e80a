"""A picture as a Vega-Lite specification, a plain dict.

The page adds what depends on it: the width, the theme, the rows. `usermeta.choices`
holds, for each channel with a switch, its encoding in each position.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from ioplan.results.report.charts.axis import LONG_S, axis_title, numbers, time_ticks
from ioplan.results.report.documents import ChartSpec, Column, Frame, Scale
from ioplan.results.report.html.layers import layers
from ioplan.results.report.html.overlays import ends, height, phase_layers

# Axes and scales of a chart, each with what its switch offers.

Spec = dict[str, Any]

MOST_TICKS = 16
LOG_PADDING = 14
"""Pixels beyond the smallest and the largest value, in place of whole decades."""
RATIOS = {
    "1/s per %": "IOPS per % of one CPU",
    "1/s per W": "IOPS per watt",
    "B/s per W": "throughput per watt",
}
"""Titles for these units; the chart's title says what they are of."""
OF_A_WHOLE = "% of one CPU"


def title(column: Column) -> str:
    """`throughput`: ticks carry their unit, but for what it is a share of."""
    if column.unit == OF_A_WHOLE:
        return f"{column.title} ({column.unit})"
    return RATIOS.get(column.unit, column.title)


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
    return {"values": time_ticks(end_s)}


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


HEIGHT = 320
PANEL_HEIGHT = 220
ROW_HEIGHT, LOW_ROW_HEIGHT = 34, 14
MANY_ROWS = 40
"""More are lower."""
FEW_ORDERED = 3
STRUT: Spec = {
    "transform": [{"aggregate": [{"op": "count", "as": "n"}], "groupby": ["panel"]}],
    "mark": {"type": "circle", "size": 1, "opacity": 0.001},
    "encoding": {"x": {"value": 0}, "y": {"value": -12}, "color": {"value": "#888888"}},
}
"""Names of panels stand above all marks, wherever these are: so in one line."""
PLAIN = ("", axis_title("session"), axis_title("metric"))
"""Names of these need no heading."""


def spec(picture: ChartSpec, marks: list[Spec] | None = None) -> Spec | None:
    """The specification, with the marks of its kind or others; None for a table."""
    if picture.kind == "table" or not picture.frame.rows:
        return None
    choices = _choices(picture)
    shared = {name: next(iter(found.values())) for name, found in choices.items()}
    view: Spec = {
        "height": _height(picture),
        "encoding": {**shared, **_color(picture)},
        "layer": [
            *phase_layers(picture),
            *(marks or [*layers(picture), *ends(picture)]),
        ],
    }
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": picture.title,
        "data": {"name": "rows"},
        "params": _parameters(picture),
        **(_panels(picture, view) if picture.channels.panel else view),
        "usermeta": {"choices": choices},
    }


def _choices(picture: ChartSpec) -> dict[str, dict[str, Spec]]:
    found = {"x": x_choices(picture), "y": y_choices(picture)}
    if picture.kind == "heatmap":
        found["color"] = _ramp(picture.frame.column("y"), ("linear", "log"))
    if picture.kind == "latencies":
        found["color"] = _ramp(picture.frame.column("count"), ("log", "linear"))
    return found


def _ramp(column: Column, scales: Sequence[str]) -> dict[str, Spec]:
    """Colours of a heatmap: even, or by powers of ten."""
    legend = {
        "title": title(column),
        "orient": "right",
        "labelExpr": f"tick(datum.value, '{column.unit}')",
    }
    return {
        scale: {
            "field": column.key,
            "type": "quantitative",
            "scale": {"type": scale},
            "legend": legend,
        }
        for scale in scales
    }


def _height(picture: ChartSpec) -> int:
    if picture.kind == "heatmap":
        rows = len(picture.frame.column("row").order)
        return (ROW_HEIGHT if rows <= MANY_ROWS else LOW_ROW_HEIGHT) * max(2, rows)
    return PANEL_HEIGHT if picture.channels.panel else HEIGHT


def _color(picture: ChartSpec) -> dict[str, Any]:
    """Numbers that are many take a range of colours in their order."""
    key = picture.channels.color
    if not key:
        return {}
    column = picture.frame.column(key)
    named = key == picture.channels.panel  # each panel tells its name
    ordered = len(column.order) > FEW_ORDERED and numbers(column.order) is not None
    return {
        "color": {
            "field": key,
            "type": "ordinal" if ordered else "nominal",
            "scale": {"domain": list(column.order)},
            "legend": None if named else {"title": column.title, **_symbol(picture)},
        }
    }


def _symbol(picture: ChartSpec) -> Spec:
    """A stroke for what is a line without points."""
    if picture.kind in ("percentiles", "cumulative"):
        return {"symbolType": "stroke", "symbolOpacity": 1, "symbolStrokeWidth": 3}
    return {"symbolOpacity": 1}


def _panels(picture: ChartSpec, view: Spec) -> Spec:
    """Panels are numbered: a sort by texts would put these into an expression."""
    header = {
        "title": None,
        "labelLimit": 320,
        "labelPadding": 2,
        "labelExpr": "panels[datum.value]",
    }
    over = {"y": {"value": -12 - height(picture)}}
    view["layer"].append({**STRUT, "encoding": {**STRUT["encoding"], **over}})
    facet = {"field": "panel", "type": "ordinal", "header": header}
    apart = picture.kind == "convergence"  # drives differ by more than they drift
    resolve = {"scale": {"y": "independent"}} if apart else {}
    return {"facet": facet, "columns": 1, "spec": view, "resolve": resolve}


def _parameters(picture: ChartSpec) -> list[Spec]:
    """The point that the keyboard has reached, the series that is looked at, where
    names and labels have room, and the names of the panels."""
    found: list[Spec] = [
        {"name": "cursor", "value": -1},
        {"name": "lit", "value": ""},
        {"name": "places", "value": {"ends": {}, "points": {}}},
    ]
    if picture.channels.panel:
        column = picture.frame.column(picture.channels.panel)
        title = "" if column.title in PLAIN else f"{column.title} "
        names = [f"{title}{text}" for text in column.order]
        found.append({"name": "panels", "value": names})
    return found
