"""Marks whose colours mean something: windows, limits, and bands of percentiles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ioplan.results.report.documents import ChartSpec

Spec = dict[str, Any]


def role(name: str) -> Spec:
    """Rows that the page adds to the points, for one layer.

    They stand among the others, so that panels split them too.
    """
    return {"filter": f"datum.role === '{name}'"}


OVER: Spec = role("over")
POINTS: Spec = {"filter": "!datum.role"}
SOLID: Spec = {"title": None, "symbolOpacity": 1}
TIP: Spec = {"field": "i", "type": "quantitative", "format": "d"}
"""A tooltip is the number of its row; the page finds the rest."""
BAND_COLORS = {
    "p50": "#0072B2",
    "p50 to p99": "#56B4E9",
    "p99 to p99.9": "#E69F00",
    "max": "#D55E00",
}
LINE_COLORS = {
    "measured": "#0072B2",
    "mean": "#009E73",
    "limits of the range": "#D55E00",
    "least-squares fit": "#CC79A7",
    "range of the window": "#56B4E9",
}


def line_color(name: str) -> Spec:
    """The colour of what is drawn of a steady window."""
    return _color(name, LINE_COLORS)


def _color(name: str, colors: dict[str, str]) -> Spec:
    scale = {"domain": list(colors), "range": list(colors.values())}
    return {"color": {"datum": name, "scale": scale, "legend": SOLID}}


def last_part(picture: ChartSpec) -> list[Spec]:
    """Mean and spread of the last part of a run over time."""
    if picture.overlay is None:
        return []
    ends = {"x2": {"field": "x2"}}
    band = {
        "transform": [OVER],
        "mark": {"type": "rect", "opacity": 0.22},
        "encoding": {**ends, "y": {"field": "low"}, "y2": {"field": "high"}},
    }
    mean = {
        "transform": [OVER],
        "mark": {"type": "rule", "strokeWidth": 2.5},
        "encoding": {**ends, "y": {"field": "mean"}},
    }
    return [band, mean]


def limit(picture: ChartSpec) -> list[Spec]:
    """What a seek asks for."""
    if picture.overlay is None:
        return []
    mark = {"type": "rule", "strokeWidth": 2, "strokeDash": [7, 4]}
    ends = {"x2": {"field": "x2"}, "y": {"field": "limit"}}
    color = {"color": {"value": LINE_COLORS["limits of the range"]}}
    return [{"transform": [OVER], "mark": mark, "encoding": {**ends, **color}}]


def steady_window(picture: ChartSpec) -> list[Spec]:
    """The range as a band, mean and limits as lines, the fit across."""
    if picture.overlay is None:
        return []
    span = {
        "transform": [OVER],
        "mark": {"type": "rect", "opacity": 0.2},
        "encoding": {
            "x2": {"field": "x2"},
            "y": {"field": "least"},
            "y2": {"field": "most"},
            **line_color("range of the window"),
        },
    }
    return [
        span,
        _rule("low", "low", [3, 3], "limits of the range"),
        _rule("high", "high", [3, 3], "limits of the range"),
        _rule("mean", "mean", [1, 0], "mean"),
        _rule("fit", "fit2", [7, 4], "least-squares fit"),
    ]


def _rule(low: str, high: str, dash: list[int], color: str) -> Spec:
    ends = {"x2": {"field": "x2"}, "y": {"field": low}}
    far = {"y2": {"field": high}} if high != low else {}
    return {
        "transform": [OVER],
        "mark": {"type": "rule", "strokeWidth": 2, "strokeDash": dash},
        "encoding": {**ends, **far, **line_color(color)},
    }


def bands(_: ChartSpec) -> list[Spec]:
    """Areas between percentiles, a line at the median, a point at each maximum."""
    return [
        _area("y0", "y1", "p50 to p99"),
        _area("y1", "y2", "p99 to p99.9"),
        {
            "mark": {"type": "circle", "size": 10, "opacity": 0.6},
            "encoding": {
                "y": {"field": "y3"},
                **_color("max", BAND_COLORS),
                "tooltip": TIP,
            },
        },
        {
            "mark": {"type": "line", "strokeWidth": 2},
            "encoding": {"y": {"field": "y0"}, **_color("p50", BAND_COLORS)},
        },
    ]


def _area(low: str, high: str, name: str) -> Spec:
    mark = {"type": "area", "opacity": 0.45, "line": False}
    ends = {"y": {"field": low}, "y2": {"field": high}}
    return {"mark": mark, "encoding": {**ends, **_color(name, BAND_COLORS)}}


# The names of lines at their ends, where a legend would send the eye back and forth.
#
# The page adds a row with the role `end` for each line, and moves names apart.


OWN: Spec = {"value": {"expr": "datum.ink"}}
"""The colour that a row has itself."""


def ends(picture: ChartSpec, role_of_lines: str = "") -> list[Spec]:
    """The text layer; none where lines have no end of their own."""
    channels, key = picture.channels, picture.channels.color
    has_names = bool(key or channels.dash or role_of_lines)
    is_plain = not channels.panel and picture.x_scale != "names"
    if not picture.marks.has_ends or not is_plain or not has_names:
        return []
    mark = {
        "type": "text",
        "align": "left",
        "dx": 8,
        "dy": {"expr": "places.ends[datum.end] || 0"},
        "fontSize": 11,
        "fontWeight": 600,
        "limit": 150,
    }
    return [
        {
            "transform": [role("end")],
            "mark": mark,
            "encoding": {"text": {"field": "end"}, "color": OWN},
        }
    ]


# The phases of a picture over time as bands of the page, with their names above.

LANE_HEIGHT = 14
LEAST_NAMED = 6.5
"""Pixels of a sign of a name."""
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
PHASE: Spec = role("phase")
WIDTH = "abs(scale('x', datum.x2) - scale('x', datum.x))"


def phase_layers(picture: ChartSpec) -> Iterator[Spec]:
    """Of each phase lines above the picture with its name, and a pale band in it.

    What is coloured all over has no band.
    """
    names = picture.phases.column("phase").order if picture.phases else ()
    for number, name in enumerate(names):
        chosen = {"filter": {"field": "phase", "equal": name}}
        color = {"color": {"value": COLORS[number % len(COLORS)]}}
        ends = {} if picture.kind == "heatmap" else {"x2": {"field": "x2"}}
        foot = -LANE_HEIGHT * number
        if not picture.marks.has_areas or picture.kind == "bands":
            yield _rect(chosen, 0.1, {**ends, **color, **_high(0, "height")})
        yield _rect(chosen, 0.9, {**ends, **color, **_high(foot - 5, foot - 2)})
        yield _name(picture, chosen, foot - 6)


def height(picture: ChartSpec) -> int:
    """What the names take above a picture."""
    return LANE_HEIGHT * len(
        picture.phases.column("phase").order if picture.phases else ()
    )


def _high(low: int, high: int | str) -> Spec:
    return {"y": {"value": low}, "y2": {"value": high}}


def _rect(chosen: Spec, opacity: float, encoding: Spec) -> Spec:
    mark = {"type": "rect", "opacity": opacity}
    return {"transform": [PHASE, chosen], "mark": mark, "encoding": encoding}


def _name(picture: ChartSpec, chosen: Spec, y: int) -> Spec:
    """At its first begin, and wherever there is room.

    `text` stands in the mark, so that the page never drops it.
    """
    wide = "bandwidth('x') * datum.columns" if picture.kind == "heatmap" else WIDTH
    fits = f"{wide} > {LEAST_NAMED} * length(datum.label)"
    mark = {
        **{"type": "text", "align": "left", "baseline": "bottom", "fontSize": 10},
        "text": {"expr": f"datum.first || {fits} ? datum.label : ''"},
    }
    if picture.kind == "heatmap":
        mark["dx"] = {"expr": "-bandwidth('x') / 2"}
    encoding = {"y": {"value": y}, "color": {"value": {"expr": "ink"}}}
    return {"transform": [PHASE, chosen], "mark": mark, "encoding": encoding}
