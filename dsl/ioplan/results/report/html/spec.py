"""A picture as a Vega-Lite specification, a plain dict.

The page adds what depends on it: the width, the theme, the rows. `usermeta.choices`
holds, for each channel with a switch, its encoding in each position.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ioplan.results.report.charts.axis import axis_title, numbers
from ioplan.results.report.document import ChartSpec, Column
from ioplan.results.report.html.axes import Spec, title, x_choices, y_choices
from ioplan.results.report.html.ends import ends
from ioplan.results.report.html.layers import layers
from ioplan.results.report.html.phases import height, phase_layers

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
    """The point that the keyboard has reached, the series that is looked at, how far
    names at ends are moved, and the names of the panels."""
    found: list[Spec] = [
        {"name": "cursor", "value": -1},
        {"name": "lit", "value": ""},
        {"name": "shifts", "value": {}},
    ]
    if picture.channels.panel:
        column = picture.frame.column(picture.channels.panel)
        title = "" if column.title in PLAIN else f"{column.title} "
        names = [f"{title}{text}" for text in column.order]
        found.append({"name": "panels", "value": names})
    return found
