"""A picture as Vega-Lite specifications: plain dicts.

The page adds what depends on it: the width, the theme, the rows. `usermeta.choices`
holds, for each channel with a switch, its encoding in each position.

What is drawn stands in `templates.json`; here is decided what of it, and with which
values. A template is a list of parts in Vega-Lite: `$name` is a value, `if` names those
that a part needs, and `unless` those that exclude it. The parts of a view are merged,
as are those of an encoding. Those of marks are layers, which share the encoding of the
view: x, y, colour; `as` is a template that they add to, and `use` are encodings. Rows
that the page adds to the points have a `role`; they stand among the others, so that
panels split them too.
"""

from __future__ import annotations

import json
import string
from collections.abc import Iterator, Sequence
from functools import reduce
from importlib.resources import files
from itertools import pairwise
from typing import Any

from msgspec.structs import asdict, replace

from ioplan.results.report.charts.axis import (
    LONG_S,
    NINES,
    UNTITLED,
    axis_title,
    figures,
    is_even,
    numbers,
    time_ticks,
)
from ioplan.results.report.charts.request import CPU_UNIT
from ioplan.results.report.documents import ChartSpec, Column, Scale

Spec = dict[str, Any]
Choices = dict[str, Spec]
"""An encoding for each position of a switch, the first one first."""

MOST_TOGETHER = 8
"""More series cannot be told apart in one plot."""


def modes(picture: ChartSpec) -> dict[str, Spec]:
    """For each way to draw its series a specification and its channels.

    The page chooses by how many are shown: few together, more in a panel each, and very
    many sessions as their spread.
    """
    channels = picture.channels
    ways = {"together": _mode(picture, "together")}
    if not has_many_series(picture):
        return ways
    if not (channels.panel and channels.pick):
        pick = channels.pick or channels.panel
        own = replace(channels, panel=channels.color, pick=pick)
        ways["apart"] = _mode(replace(picture, channels=own), "apart")
    is_of_sessions = picture.frame.column(channels.color).title == axis_title("session")
    if is_of_sessions and picture.marks.can_spread:
        ways["spread"] = _mode(picture, "spread")
        ways["spread"]["channels"]["color"] = ""
    return ways


def has_many_series(picture: ChartSpec) -> bool:
    key = picture.channels.color
    many = bool(key) and len(picture.frame.column(key).order) > MOST_TOGETHER
    return many and picture.marks.can_part


def _mode(picture: ChartSpec, way: str) -> Spec:
    return {"spec": spec(picture, way), "channels": asdict(picture.channels)}


def spec(picture: ChartSpec, way: str = "together") -> Spec | None:
    """The specification in one of the ways; None for a table."""
    if picture.kind == "table" or not picture.frame.rows:
        return None
    values, choices = _values(picture, way), _choices(picture)
    shared = {name: next(iter(ways.values())) for name, ways in choices.items()}
    own = {
        "choices": choices,
        "encoding": shared | _view("color", values),
        "layer": [*_phases(values), *_points(values), *_layers("besides", values)],
    }
    return _view("chart", values | own)


# Templates with values.

TEMPLATES: dict[str, list[Any]] = json.loads(
    (files("ioplan.results.report.html") / "templates.json").read_text("utf-8")
)
CONDITIONS = ("if", "unless")


def _view(name: str, values: Spec) -> Spec:
    return reduce(_merged, _parts(name, values), {})


def _layers(name: str, values: Spec) -> Iterator[Spec]:
    for part in _parts(name, values):
        below = _layers(part.pop("as"), values) if "as" in part else [{}]
        uses = [_view(use, values) for use in part.pop("use", ())]
        layer = reduce(_merged, [{"encoding": use} for use in uses if use], part)
        yield from (_merged(base, layer) for base in below)


def _parts(name: str, values: Spec) -> Iterator[Spec]:
    for part in TEMPLATES[name]:
        conditions, exceptions = part.get("if", ()), part.get("unless", ())
        if all(map(values.get, conditions)) and not any(map(values.get, exceptions)):
            yield {
                key: _filled(part[key], values) for key in part if key not in CONDITIONS
            }


def _filled(template: Any, values: Spec) -> Any:
    if isinstance(template, dict):
        return {key: _filled(value, values) for key, value in template.items()}
    if isinstance(template, list):
        return [_filled(value, values) for value in template]
    if not isinstance(template, str):
        return template
    if template[:1] == "$":
        return values[template[1:]]
    return string.Template(template).substitute(values)


def _merged(base: Any, more: Any) -> Any:
    """Dicts key by key, lists one after the other; else the second value."""
    if isinstance(base, dict) and isinstance(more, dict):
        both = {key: _merged(base[key], more[key]) for key in more if key in base}
        return base | more | both
    if isinstance(base, list) and isinstance(more, list):
        return base + more
    return more


# The axes, and the colours of figures.

MOST_TICKS = 16
RATIOS = {
    "1/s per %": "IOPS per % of one CPU",
    "1/s per W": "IOPS per watt",
    "B/s per W": "throughput per watt",
}
"""Titles for these units; the chart's title says what they are of."""
RAMPS = {"heatmap": ("y", "linear", "log"), "latencies": ("count", "log", "linear")}
"""The figures that have colours, which are even or by powers of ten."""


def _choices(picture: ChartSpec) -> dict[str, Choices]:
    choices = {"x": _x_choices(picture), "y": _y_choices(picture)}
    if picture.kind in RAMPS:
        key, *scales = RAMPS[picture.kind]
        column = picture.frame.column(key)
        choices["color"] = {s: _of_column("ramp", column, scale=s) for s in scales}
    return choices


def _x_choices(picture: ChartSpec) -> Choices:
    column = picture.frame.column(picture.x)
    if picture.x_scale == "names":
        return {"names": _names(column, column.order)}
    if picture.x_scale == "nines":  # each nine takes the same room
        percent = _numbers(picture.frame.column("percent"), "linear")
        return {"nines": _numbers(column, "linear", NINES), "linear": percent}
    values = sorted(figures({row[picture.x] for row in picture.frame.records()}))
    ticks = values if picture.kind == "lines" and len(values) <= MOST_TICKS else []
    choices = _both(column, picture.x_scale, ticks)
    if column.unit == "s" and values and values[-1] >= LONG_S:
        choices["linear"]["axis"]["values"] = time_ticks(values[-1])
    return choices


def _y_choices(picture: ChartSpec) -> Choices:
    column = picture.frame.column(picture.y)
    if picture.y_scale == "names":
        return {"names": _names(column, column.order[::-1])}
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
    log = {"log": _numbers(column, "log", ticks, zero)}
    linear = {"linear": _numbers(column, "linear", spaced, zero)}
    return log | linear if start == "log" else linear | log


def _numbers(
    column: Column, scale: Scale, ticks: Sequence[float] = (), zero: bool = False
) -> Spec:
    """Vega drops every other tick unless it has their number."""
    return _of_column(
        "numbers",
        column,
        scale=scale,
        is_log=scale == "log",
        ticks=ticks,
        tick_count=len(ticks),
        zero=zero,
    )


def _names(column: Column, order: Sequence[str]) -> Spec:
    """The order is a domain, not a sort: that would put texts into expressions."""
    crowded = len(order) > MOST_TICKS
    return _of_column("names", column, order=order, named=any(order), crowded=crowded)


def _of_column(template: str, column: Column, **values: Any) -> Spec:
    """Ticks carry their unit, but for what it is a share of."""
    title = RATIOS.get(column.unit, column.title)
    if column.unit == CPU_UNIT:
        title = f"{column.title} ({column.unit})"
    values |= {"key": column.key, "title": title, "unit": column.unit}
    return _view(template, values)


# The layers.

LANE_HEIGHT = 14
OVER = {"filter": "datum.role === 'over'"}
FAINT = 0.12


def _phases(values: Spec) -> Iterator[Spec]:
    """Of each phase lines above the picture with its name, and a pale band in it."""
    colors = TEMPLATES["colors of phases"]
    for number, name in enumerate(values["phase_names"]):
        own = {"phase": name, "phase_color": colors[number % len(colors)]}
        lane = {f"above_{up}": -LANE_HEIGHT * number - up for up in (2, 5, 6)}
        yield from _layers("phase", values | own | lane)


def _points(values: Spec) -> Iterator[Spec]:
    """The marks of points, and the ring that the keyboard moves: of their rows only,
    and faint while another series is looked at."""
    for layer in _layers("marks", values):
        opacity = layer["mark"].get("opacity", 1)
        own = {
            layer["mark"]["type"]: True,
            "opacity": opacity,
            "faint": opacity * FAINT,
            "colored": "color" in layer.get("encoding", ()),
            "over": OVER in layer.get("transform", ()),
        }
        yield _merged(_view("of points", values | own), layer)


# What is true of a picture, and the values that its templates leave open.

ROW_HEIGHT, LOW_ROW_HEIGHT = 34, 14
MANY_ROWS = 40
"""More are lower."""
FEW_ORDERED = 3
"""Numbers that are more take a range of colours in their order."""
FEW = 400
"""Up to so many points a mark of each is drawn, and a larger one to point at."""
FEW_OVER_TIME = 100
"""Few enough points to mark, where one follows the other closely."""
MOST_LABELS = 48
NO_COLUMN = Column("", "")


def _values(picture: ChartSpec, way: str) -> Spec:
    """Besides, its kind, way, channels and columns are values by their own names."""
    columns = {column.key: column for column in picture.frame.columns}
    more = [name for name in ("overlay", "limits", "phases") if getattr(picture, name)]
    phases = picture.phases.column("phase").order if picture.phases else ()
    return {
        **dict.fromkeys([picture.kind, picture.x_scale, way, *columns, *more], True),
        **asdict(picture.marks),
        **_channels(picture, columns),
        **_amounts(picture, columns),
        "kind": picture.kind,
        "description": picture.title,
        "more_rows": more,
        "phase_names": phases,
        "above_panel": -12 - LANE_HEIGHT * len(phases),
        "y_unit": columns.get("y", NO_COLUMN).unit,
    }


def _channels(picture: ChartSpec, columns: dict[str, Column]) -> Spec:
    channels = asdict(picture.channels)
    color, dash, panel, _ = (columns.get(key, NO_COLUMN) for key in channels.values())
    heading = "" if panel.title in UNTITLED else f"{panel.title} "
    return {
        **channels,
        "colors": color.order,
        "color_title": color.title,
        "is_ramp": len(color.order) > FEW_ORDERED and numbers(color.order),
        "dashes": dash.order,
        "dash_title": dash.title,
        "strokes": TEMPLATES["dashes"][: len(dash.order)],
        "panels": [f"{heading}{text}" for text in panel.order],
    }


def _amounts(picture: ChartSpec, columns: dict[str, Column]) -> Spec:
    """Whether there is room for marks and figures; and the height of cells."""
    picks = columns.get(picture.channels.pick, NO_COLUMN).order
    points = len(picture.frame.rows) / max(1, len(picks))  # about so many at once
    is_dense = columns[picture.x].unit in ("s", "B") and picture.kind == "lines"
    rows = len(columns.get("row", NO_COLUMN).order)
    row_height = ROW_HEIGHT if rows <= MANY_ROWS else LOW_ROW_HEIGHT
    return {
        "few": points <= (FEW_OVER_TIME if is_dense else FEW),
        "labelled": points <= MOST_LABELS,
        "rows_height": row_height * max(2, rows),
    }
