"""A picture as a Vega-Lite specification, a plain dict.

The page adds what depends on it: the width, the theme, the rows. `usermeta.choices`
holds, for each channel with a switch, its encoding in each position.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from ioplan.results.report.charts.axis import (
    LONG_S,
    NINES,
    axis_title,
    is_even,
    numbers,
    time_ticks,
)
from ioplan.results.report.charts.request import CPU_UNIT
from ioplan.results.report.documents import ChartSpec, Column, Scale
from ioplan.results.report.html.layers import (
    LANE_HEIGHT,
    Spec,
    by_text,
    ends,
    layer,
    layers,
    phase_layers,
    phase_names,
)

MOST_TICKS = 16
LOG_PADDING = 14
"""Pixels beyond the smallest and the largest value, in place of whole decades."""
RATIOS = {
    "1/s per %": "IOPS per % of one CPU",
    "1/s per W": "IOPS per watt",
    "B/s per W": "throughput per watt",
}
"""Titles for these units; the chart's title says what they are of."""
HEIGHT, PANEL_HEIGHT = 320, 220
ROW_HEIGHT, LOW_ROW_HEIGHT = 34, 14
MANY_ROWS = 40
"""More are lower."""
FEW_ORDERED = 3
UNTITLED = ("", axis_title("session"), axis_title("metric"))
"""Names of these need no heading."""

Choices = dict[str, Spec]
"""An encoding for each position of a switch, the first one first."""


def spec(picture: ChartSpec, marks: list[Spec] | None = None) -> Spec | None:
    """The specification, with the marks of its kind or others; None for a table."""
    if picture.kind == "table" or not picture.frame.rows:
        return None
    choices = {"x": _x_choices(picture), "y": _y_choices(picture)}
    if picture.kind == "heatmap":
        choices["color"] = _ramp(picture.frame.column("y"), ("linear", "log"))
    if picture.kind == "latencies":
        choices["color"] = _ramp(picture.frame.column("count"), ("log", "linear"))
    shared = {name: next(iter(ways.values())) for name, ways in choices.items()}
    drawn = marks or [*layers(picture), *ends(picture)]
    view: Spec = {
        "height": _height(picture),
        "encoding": {**shared, **_color(picture)},
        "layer": [*phase_layers(picture), *drawn],
    }
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": picture.title,
        "data": {"name": "rows"},
        "params": _parameters(picture),
        **(_panels(picture, view) if picture.channels.panel else view),
        "usermeta": {"choices": choices},
    }


def _x_choices(picture: ChartSpec) -> Choices:
    column = picture.frame.column(picture.x)
    if picture.x_scale == "names":
        return {"names": _names(column, column.order)}
    if picture.x_scale == "nines":  # each nine takes the same room
        nines = _numbers(column, "linear", NINES)
        nines["axis"]["title"] = column.title
        percent = picture.frame.column("percent")
        return {"nines": nines, "linear": _numbers(percent, "linear")}
    places = {row[picture.x] for row in picture.frame.records()}
    values = sorted(place for place in places if isinstance(place, (int, float)))
    ticks = values if picture.kind == "lines" and len(values) <= MOST_TICKS else []
    choices = _both(column, picture.x_scale, ticks)
    if column.unit == "s" and values and values[-1] >= LONG_S:
        choices["linear"]["axis"]["values"] = time_ticks(values[-1])
    return choices


def _y_choices(picture: ChartSpec) -> Choices:
    column = picture.frame.column(picture.y)
    if picture.y_scale == "names":
        return {"names": _names(column, tuple(reversed(column.order)))}
    if picture.kind == "bands":  # whose columns are named after the percentiles
        column = Column(column.key, "latency", column.unit)
    zero = picture.kind not in ("convergence", "history")
    return _both(column, picture.y_scale, (), zero)


def _both(
    column: Column, start: Scale, ticks: Sequence[float], zero: bool = False
) -> Choices:
    """Measured values are ticks where they do not crowd; always those of sizes."""
    steps = [after - before for before, after in pairwise(ticks)]
    spaced = ticks if is_even(steps) or column.unit == "size" else ()
    scales: tuple[Scale, ...] = ("log", "linear")
    return {
        scale: _numbers(column, scale, ticks if scale == "log" else spaced, zero)
        for scale in (scales if start == "log" else reversed(scales))
    }


def _title(column: Column) -> str:
    """`throughput`: ticks carry their unit, but for what it is a share of."""
    if column.unit == CPU_UNIT:
        return f"{column.title} ({column.unit})"
    return RATIOS.get(column.unit, column.title)


def _names(column: Column, order: Iterable[str]) -> Spec:
    """The order is a domain, not a sort: that would put texts into expressions."""
    axis: Spec = {"title": _title(column) or None, "labelAngle": 0, "labelLimit": 140}
    if len(column.order) > MOST_TICKS:
        axis["labelOverlap"] = "greedy"
    is_plain = column.order in ((), ("",))
    return {
        **{"field": column.key, "type": "nominal", "sort": None},
        **{"scale": {"domain": [*order]}, "axis": None if is_plain else axis},
    }


def _tick(column: Column) -> str:
    return f"tick(datum.value, '{column.unit}')"


def _numbers(
    column: Column, scale: Scale, ticks: Sequence[float] = (), zero: bool = False
) -> Spec:
    axis: Spec = {"title": _title(column)}
    if ticks:  # Vega drops every other one unless it has their number
        axis |= {
            "values": [*ticks],
            "tickCount": len(ticks),
            "labelExpr": _tick(column),
        }
    else:
        axis["labelExpr"] = f"datum.label === '' ? '' : {_tick(column)}"
    if column.unit == "" and scale == "linear":
        axis["tickMinStep"] = 1
    kind: Spec = {"type": scale, "nice": scale == "linear" and not ticks}
    kind |= {"base": 2 if ticks else 10} if scale == "log" else {"zero": zero}
    if zero and scale == "log":
        kind["padding"] = LOG_PADDING
    return {"field": column.key, "type": "quantitative", "axis": axis, "scale": kind}


def _ramp(column: Column, scales: Iterable[Scale]) -> Choices:
    """Colours of a heatmap: even, or by powers of ten."""
    legend = {"title": _title(column), "orient": "right", "labelExpr": _tick(column)}
    shared = {"field": column.key, "type": "quantitative", "legend": legend}
    return {scale: {**shared, "scale": {"type": scale}} for scale in scales}


def _height(picture: ChartSpec) -> int:
    if picture.kind == "heatmap":
        rows = len(picture.frame.column("row").order)
        return (ROW_HEIGHT if rows <= MANY_ROWS else LOW_ROW_HEIGHT) * max(2, rows)
    return PANEL_HEIGHT if picture.channels.panel else HEIGHT


def _color(picture: ChartSpec) -> Spec:
    """Numbers that are many take a range of colours in their order."""
    key = picture.channels.color
    if not key:
        return {}
    legend: Spec = {"symbolOpacity": 1}
    if picture.kind in ("percentiles", "cumulative"):  # lines without points
        legend |= {"symbolType": "stroke", "symbolStrokeWidth": 3}
    color, order = by_text(picture, key, **legend), picture.frame.column(key).order
    if len(order) > FEW_ORDERED and numbers(order) is not None:
        color["type"] = "ordinal"
    return {"color": color}


def _panels(picture: ChartSpec, view: Spec) -> Spec:
    """Panels are numbered: a sort by texts would put these into an expression."""
    header: Spec = {"title": None, "labelLimit": 320, "labelPadding": 2}
    header["labelExpr"] = "panels[datum.value]"
    # names of panels stand above all marks, wherever these are: so in one line
    count = {"aggregate": [{"op": "count", "as": "n"}], "groupby": ["panel"]}
    top = {"value": -12 - LANE_HEIGHT * len(phase_names(picture))}
    place = {"x": {"value": 0}, "y": top, "color": {"value": "#888888"}}
    dot = {"type": "circle", "size": 1, "opacity": 0.001}
    view["layer"].append(layer(dot, place, count))
    facet = {"field": "panel", "type": "ordinal", "header": header}
    apart = picture.kind == "convergence"  # drives differ by more than they drift
    resolve = {"scale": {"y": "independent"}} if apart else {}
    return {"facet": facet, "columns": 1, "spec": view, "resolve": resolve}


def _parameters(picture: ChartSpec) -> list[Spec]:
    """The point that the keyboard has reached, the series that is looked at, where
    names and labels have room, and the names of the panels."""
    values: Spec = {"cursor": -1, "lit": "", "places": {"ends": {}, "points": {}}}
    if picture.channels.panel:
        column = picture.frame.column(picture.channels.panel)
        title = "" if column.title in UNTITLED else f"{column.title} "
        values["panels"] = [f"{title}{text}" for text in column.order]
    return [{"name": name, "value": value} for name, value in values.items()]
