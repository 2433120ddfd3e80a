"""A picture as Vega-Lite specifications: plain dicts.

The page adds what depends on it: the width, the theme, the rows. `usermeta.choices`
holds, for each channel with a switch, its encoding in each position.

The marks of each kind are layers made from `marks.json`; all share the encoding of the
view: x, y, colour. Rows that the page adds to the points have a `role`; they stand
among the others, so that panels split them too. A template there is Vega-Lite, and
besides: `as`, a template that it adds to; `if`, what is true of the picture; `use`,
encodings that depend on it; `color`, the text of a colour in the legend; `role` and
`filter`, the rows that it is of.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from itertools import pairwise
from typing import Any

from msgspec.structs import asdict, replace

from ioplan.results.report.charts.axis import (
    LONG_S,
    NINES,
    axis_title,
    is_even,
    numbers,
    time_ticks,
)
from ioplan.results.report.charts.request import CPU_UNIT
from ioplan.results.report.documents import JUDGED, ChartSpec, Column, Scale

MOST_TICKS = 16
LOG_PADDING = 14
"""Pixels beyond the smallest and the largest value, in place of whole decades."""
RATIOS = {
    "1/s per %": "IOPS per % of one CPU",
    "1/s per W": "IOPS per watt",
    "B/s per W": "throughput per watt",
}
"""Titles for these units; the chart's title says what they are of."""
HEIGHT, PANEL_HEIGHT, SMALL_PANEL_HEIGHT = 320, 220, 110
ROW_HEIGHT, LOW_ROW_HEIGHT = 34, 14
MANY_ROWS = 40
"""More are lower."""
FEW_ORDERED = 3
UNTITLED = ("", axis_title("session"), axis_title("metric"))
"""Names of these need no heading."""
MOST_TOGETHER = 8
"""More series cannot be told apart in one plot."""

Spec = dict[str, Any]
Choices = dict[str, Spec]
"""An encoding for each position of a switch, the first one first."""


def modes(picture: ChartSpec) -> dict[str, Spec]:
    """For each way to draw its series a specification and its channels.

    The page chooses by how many are shown: few together, more in a panel each, and very
    many sessions as their spread.
    """
    ways = {"together": _mode(picture, spec(picture))}
    if not has_many_series(picture):
        return ways
    channels = picture.channels
    if not (channels.panel and channels.pick):
        pick = channels.pick or channels.panel
        own = replace(channels, panel=channels.color, pick=pick)
        apart = replace(picture, channels=own)
        if panels := spec(apart, [*_of_points(apart), *_marks(apart, "median")]):
            panels["spec"]["height"] = SMALL_PANEL_HEIGHT
        ways["apart"] = _mode(apart, panels)
    is_of_sessions = picture.frame.column(channels.color).title == axis_title("session")
    if is_of_sessions and picture.marks.can_spread:
        plain = replace(picture, channels=replace(channels, color=""))
        ways["spread"] = _mode(plain, spec(plain, [*_marks(picture, *OF_SPREAD)]))
    return ways


def _mode(picture: ChartSpec, drawn: Spec | None) -> Spec:
    return {"spec": drawn, "channels": asdict(picture.channels)}


def has_many_series(picture: ChartSpec) -> bool:
    key = picture.channels.color
    many = bool(key) and len(picture.frame.column(key).order) > MOST_TOGETHER
    return many and picture.marks.can_part


def spec(picture: ChartSpec, drawn: list[Spec] | None = None) -> Spec | None:
    """The specification, with the marks of its kind or others; None for a table."""
    if picture.kind == "table" or not picture.frame.rows:
        return None
    choices = {"x": _x_choices(picture), "y": _y_choices(picture)}
    if picture.kind == "heatmap":
        choices["color"] = _ramp(picture.frame.column("y"), ("linear", "log"))
    if picture.kind == "latencies":
        choices["color"] = _ramp(picture.frame.column("count"), ("log", "linear"))
    shared = {name: next(iter(ways.values())) for name, ways in choices.items()}
    drawn = drawn or [*_of_points(picture), *_marks(picture, "ends")]
    view: Spec = {
        "height": _height(picture),
        "encoding": {**shared, **_color(picture)},
        "layer": [*_phase_layers(picture), *drawn],
    }
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": picture.title,
        "data": {"name": "rows"},
        "params": _parameters(picture),
        **(_panels(picture, view) if picture.channels.panel else view),
        "usermeta": {"choices": choices},
    }


def _height(picture: ChartSpec) -> int:
    if picture.kind == "heatmap":
        rows = len(picture.frame.column("row").order)
        return (ROW_HEIGHT if rows <= MANY_ROWS else LOW_ROW_HEIGHT) * max(2, rows)
    return PANEL_HEIGHT if picture.channels.panel else HEIGHT


def _panels(picture: ChartSpec, view: Spec) -> Spec:
    """Panels are numbered: a sort by texts would put these into an expression."""
    header: Spec = {"title": None, "labelLimit": 320, "labelPadding": 2}
    header["labelExpr"] = "panels[datum.value]"
    # names of panels stand above all marks, wherever these are: so in one line
    count = {"aggregate": [{"op": "count", "as": "n"}], "groupby": ["panel"]}
    top = {"value": -12 - LANE_HEIGHT * len(_phase_names(picture))}
    place = {"x": {"value": 0}, "y": top, "color": {"value": "#888888"}}
    dot = {"type": "circle", "size": 1, "opacity": 0.001}
    view["layer"].append(_layer(dot, place, count))
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


# The axes, and the colours of a legend.


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
        axis |= {"values": [*ticks], "tickCount": len(ticks)}
        axis["labelExpr"] = _tick(column)
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


def _color(picture: ChartSpec) -> Spec:
    """Numbers that are many take a range of colours in their order."""
    key = picture.channels.color
    if not key:
        return {}
    legend: Spec = {"symbolOpacity": 1}
    if picture.kind in ("percentiles", "cumulative"):  # lines without points
        legend |= {"symbolType": "stroke", "symbolStrokeWidth": 3}
    color, order = _by_text(picture, key, **legend), picture.frame.column(key).order
    if len(order) > FEW_ORDERED and numbers(order) is not None:
        color["type"] = "ordinal"
    return {"color": color}


def _by_text(picture: ChartSpec, key: str, **legend: Any) -> Spec:
    """An encoding of a column of texts; the titles of panels are enough for these."""
    column = picture.frame.column(key)
    titled = {"title": column.title, **legend}
    return {
        **{"field": key, "type": "nominal", "scale": {"domain": list(column.order)}},
        "legend": None if key == picture.channels.panel else titled,
    }


# The layers.

FEW = 400
"""Up to so many points a mark of each is drawn, and a larger one to point at."""
FEW_OVER_TIME = 100
"""Few enough points to mark, where one follows the other closely."""
MOST_LABELS = 48
FAINT = 0.12
LIT = "lit === '' || datum.series === lit"
OK: Spec = {"filter": "!(datum.status && datum.status !== 'ok')"}
POINTS: Spec = {"filter": "!datum.role"}
TIP: Spec = {"tooltip": {"field": "i", "type": "quantitative", "format": "d"}}
"""A tooltip is the number of its row; the page finds the rest."""
DASHES = [[1, 0], [7, 4], [2, 3], [12, 3, 2, 3]]
"""One for each of MOST_DASHES; a sample of each has to fit into a legend."""
SAMPLE = {"symbolType": "stroke", "symbolSize": 480, "symbolStrokeWidth": 2}
OF_SPREAD = ("spread", "ends", "limits", "judged small", "cursor", "failed")
TEMPLATES: dict[str, list[Spec]] = json.loads(
    (files("ioplan.results.report.html") / "marks.json").read_text("utf-8")
)


def _of_points(picture: ChartSpec) -> Iterator[Spec]:
    """The marks of a picture, of what failed or did not keep to a limit, and the ring
    that the keyboard moves."""
    has_more_rows = any((picture.overlay, picture.limits, picture.phases))
    has_roles = has_more_rows or not picture.marks.has_areas
    for made in _marks(picture, picture.kind, "cursor"):
        mark, encoding = made["mark"], made.get("encoding", {})
        if picture.channels.color and mark["type"] != "text":
            encoding = _lit(encoding, mark.get("opacity", 1))
        conditions = made.get("transform", [])
        if _role("over") not in conditions:
            # a line keeps the rows that have no value: it is broken there
            is_whole = picture.frame.marks_failures and mark["type"] != "line"
            conditions = [*[OK] * is_whole, *[POINTS] * has_roles, *conditions]
        yield _layer(mark, encoding, *conditions)
    yield from _marks(picture, "failed", "limits", "judged")


def _lit(encoding: Spec, opacity: float) -> Spec:
    """Others fade while one series is looked at."""
    if "color" in encoding:
        return encoding
    condition = {"condition": {"test": LIT, "value": opacity}, "value": opacity * FAINT}
    return {**encoding, "opacity": condition}


def _layer(mark: Spec, encoding: Spec, *of: Spec) -> Spec:
    made: Spec = {"transform": [*of], "mark": mark, "encoding": encoding}
    return {key: value for key, value in made.items() if value}


def _role(name: str) -> Spec:
    return {"filter": f"datum.role === '{name}'"}


def _marks(picture: ChartSpec, *names: str) -> Iterator[Spec]:
    """The layers of these templates, as far as they are for such a picture."""
    encodings, true_of = _encodings(picture), _true_of(picture)
    for template in (made for name in names for made in _templates(name, true_of, {})):
        of = [_role(template["role"])] if "role" in template else []
        of += [{"filter": template["filter"]}] if "filter" in template else []
        encoding: Spec = {}
        for use in template.get("use", ()):
            encoding |= encodings.get(use, {})
        encoding |= template["encoding"]
        if color := template.get("color"):
            (colors,) = TEMPLATES[f"colors of {picture.kind}"]
            scale = {"domain": list(colors), "range": list(colors.values())}
            legend = {"title": None, "symbolOpacity": 1}
            encoding["color"] = {"datum": color, "scale": scale, "legend": legend}
        yield _layer(template["mark"], encoding, *of)


def _templates(name: str, true_of: set[str], more: Spec) -> Iterator[Spec]:
    """Templates with all that those which they are part of add to them."""
    for template in TEMPLATES[name]:
        if not {*template.get("if", ())} <= true_of:
            continue
        made = {**template, **more}
        for part in ("mark", "encoding"):
            made[part] = {**template.get(part, {}), **more.get(part, {})}
        own = {key: value for key, value in made.items() if key not in ("as", "if")}
        if "as" in template:
            yield from _templates(template["as"], true_of, own)
        else:
            yield own


def _true_of(picture: ChartSpec) -> set[str]:
    channels, kind = picture.channels, picture.marks
    unit, pick = picture.frame.column(picture.x).unit, channels.pick
    choices = len(picture.frame.column(pick).order) if pick else 1
    rows = len(picture.frame.rows) / max(1, choices)  # about so many at once
    is_dense = unit in ("s", "B") and picture.kind == "lines"
    has_ends = kind.has_ends and not channels.panel and picture.x_scale != "names"
    facts = {
        "heatmap": picture.kind == "heatmap",
        "bars": picture.kind == "bars",
        "names": picture.x_scale == "names",
        "overlay": picture.overlay is not None,
        "labelled": rows <= MOST_LABELS,
        "few": rows <= (FEW_OVER_TIME if is_dense else FEW),
        "failures": picture.frame.marks_failures,
        "limits": picture.limits is not None,
        "judged": JUDGED in picture.frame.columns,
        "ends": has_ends and bool(channels.color or channels.dash),
        "spread": kind.can_spread,
    }
    return {name if is_so else f"no {name}" for name, is_so in facts.items()}


def _encodings(picture: ChartSpec) -> dict[str, Spec]:
    """What templates `use`, where the picture has the columns for it."""
    color, dash = picture.channels.color, picture.channels.dash
    units = {column.key: column.unit for column in picture.frame.columns}
    value = {"value": {"expr": f"short(datum.y, '{units.get('y')}')"}}
    encodings: dict[str, Spec] = {"tip": TIP, "figure": {"text": value}}
    if dash:
        nominal = _by_text(picture, dash, **SAMPLE)
        nominal["scale"]["range"] = DASHES[: len(nominal["scale"]["domain"])]
        encodings["dash"] = {"strokeDash": nominal}
        encodings["detail"] = {"detail": {"field": dash}}
    if color:  # it alone must not carry the meaning; the page gives texts their markers
        nominal = _by_text(picture, color)
        encodings["shape"] = {"shape": nominal}
        if picture.kind == "bars":  # which stand side by side
            offset = {"field": color, "scale": nominal["scale"]}
            encodings["offset"] = {"xOffset": offset}
    return encodings


# The phases of a picture over time as bands of the page, with their names above.

LANE_HEIGHT = 14
SIGN_WIDTH = 6.5
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
WIDTH = "abs(scale('x', datum.x2) - scale('x', datum.x))"


def _phase_names(picture: ChartSpec) -> tuple[str, ...]:
    return picture.phases.column("phase").order if picture.phases else ()


def _phase_layers(picture: ChartSpec) -> Iterator[Spec]:
    """Of each phase lines above the picture with its name, at its first begin and
    wherever there is room, and a pale band in it: but not where all is coloured."""
    is_cells = picture.kind == "heatmap"
    wide = "bandwidth('x') * datum.columns" if is_cells else WIDTH
    fits = f"{wide} > {SIGN_WIDTH} * length(datum.label)"
    # `text` stands in the mark, so that the page never drops it
    text = {"expr": f"datum.first || {fits} ? datum.label : ''"}
    style: Spec = {"type": "text", "align": "left", "baseline": "bottom"}
    style |= {"fontSize": 10, "text": text}
    if is_cells:
        style["dx"] = {"expr": "-bandwidth('x') / 2"}
    for number, name in enumerate(_phase_names(picture)):
        of = _role("phase"), {"filter": {"field": "phase", "equal": name}}
        look: Spec = {} if is_cells else {"x2": {"field": "x2"}}
        look["color"] = {"value": COLORS[number % len(COLORS)]}
        top = -LANE_HEIGHT * number
        if not picture.marks.has_areas or picture.kind == "bands":
            band = {"y": {"value": 0}, "y2": {"value": "height"}}
            yield _layer({"type": "rect", "opacity": 0.1}, look | band, *of)
        bar = {"y": {"value": top - 5}, "y2": {"value": top - 2}}
        yield _layer({"type": "rect", "opacity": 0.9}, look | bar, *of)
        ink = {"color": {"value": {"expr": "ink"}}}
        yield _layer(style, {"y": {"value": top - 6}, **ink}, *of)
