"""The marks of each kind of chart, as Vega-Lite layers.

All layers share the encoding of `spec`: x, y, colour. Colours come from the theme,
but for the bands, whose four colours mean something.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ioplan.report.document import Picture

Spec = dict[str, Any]

FEW = 400
"""Up to so many points a mark of each is drawn, and a larger one to point at."""
FEW_OVER_TIME = 100
"""The same where one point follows the other closely."""
MOST_LABELS = 48
MOST_SHAPES = 8
BAND_COLORS = {
    "p50": "#0072B2",
    "p50 to p99": "#56B4E9",
    "p99 to p99.9": "#E69F00",
    "max": "#D55E00",
}
DASHES = [[1, 0], [7, 4], [2, 3], [12, 3, 2, 3]]
"""One for each of MOST_DASHES; a sample of each has to fit into a legend."""
SAMPLE = {"symbolType": "stroke", "symbolSize": 480, "symbolStrokeWidth": 2}
SOLID: Spec = {"title": None, "symbolOpacity": 1}
PLAIN: Spec = {"field": "y", "type": "quantitative", "stack": None}
"""Areas that lie over one another instead of upon one another."""
OVER: Spec = {"filter": "datum.over === 1"}
UNDER: Spec = {"filter": "datum.over !== 1"}
TOLD: Spec = {"field": "i", "type": "quantitative", "format": "d"}
"""A tooltip is the number of its row; the page tells the rest."""


def layers(picture: Picture) -> list[Spec]:
    """The marks of a picture, and the ring that the keyboard moves."""
    marks = MARKS[picture.kind](picture)
    if picture.kind != "heatmap":
        marks.append(_cursor(picture))
    return [_apart(mark) for mark in marks] if picture.overlay else marks


def _apart(mark: Spec) -> Spec:
    """The overlay's rows stand among the others, so that panels split them too."""
    found = mark.get("transform", [])
    return mark if OVER in found else {**mark, "transform": [UNDER, *found]}


def _cursor(picture: Picture) -> Spec:
    return {
        "transform": [{"filter": "datum.i === cursor"}],
        "mark": {"type": "point", "size": 160, "strokeWidth": 2.5, "filled": False},
        "encoding": {"color": {"value": "#888888"}, **_offset(picture)},
    }


def _dash(picture: Picture) -> Spec:
    key = picture.channels.dash
    if not key:
        return {}
    column = picture.frame.column(key)
    domain = list(column.order)
    return {
        "strokeDash": {
            "field": key,
            "type": "nominal",
            "scale": {"domain": domain, "range": DASHES[: len(domain)]},
            "legend": {"title": column.title, **SAMPLE},
        }
    }


def _shape(picture: Picture) -> Spec:
    """Colour alone must not carry the meaning."""
    key = picture.channels.color
    if not key or len(picture.frame.column(key).order) > MOST_SHAPES:
        return {}
    column = picture.frame.column(key)
    domain = {"domain": list(column.order)}
    legend = {"title": column.title}
    return {
        "shape": {"field": key, "type": "nominal", "scale": domain, "legend": legend}
    }


def _few(picture: Picture) -> bool:
    over_time = picture.frame.column(picture.x).unit in ("s", "B")
    most = FEW_OVER_TIME if over_time and picture.kind == "lines" else FEW
    return _shown(picture) <= most


def _shown(picture: Picture) -> float:
    """How many rows are drawn at once: of a choice, about one part."""
    key = picture.channels.pick
    parts = len(picture.frame.column(key).order) if key else 1
    return len(picture.frame.rows) / max(1, parts)


def _dots(size: int, opacity: float) -> Spec:
    mark = {"type": "circle", "size": size, "opacity": opacity}
    return {"mark": mark, "encoding": {"tooltip": TOLD}}


def _hits(size: int = 380) -> Spec:
    """Points too faint to see and large enough to hit."""
    return _dots(size, 0.001)


def _line(picture: Picture, **more: Any) -> Spec:
    mark = {"type": "line", "strokeWidth": 2, "clip": True, **more}
    return {"mark": mark, "encoding": _dash(picture)}


def _lines(picture: Picture) -> list[Spec]:
    if not _few(picture):
        return [
            _line(picture),
            {
                "mark": {"type": "circle", "size": 14, "opacity": 0.6},
                "encoding": {"tooltip": TOLD},
            },
        ]
    points = {
        "mark": {"type": "point", "filled": True, "size": 46, "opacity": 1},
        "encoding": _shape(picture),
    }
    return [_line(picture), points, _hits()]


def _hockey(picture: Picture) -> list[Spec]:
    """Linked in the order of the swept axis, which is not that of the IOPS."""
    order = {"field": "number", "type": "quantitative"}
    line = _line(picture)
    line["encoding"] = {**line["encoding"], "order": order}
    labels = []
    if _shown(picture) <= MOST_LABELS:
        mark = {"type": "text", "dy": -11, "fontSize": 10}
        labels = [{"mark": mark, "encoding": {"text": {"field": "label"}}}]
    return [line, *_lines(picture)[1:], *labels]


def _offset(picture: Picture) -> Spec:
    if picture.kind != "bars" or not picture.channels.color:
        return {}
    order = list(picture.frame.column(picture.channels.color).order)
    return {"xOffset": {"field": picture.channels.color, "scale": {"domain": order}}}


def _bars(picture: Picture) -> list[Spec]:
    bar = {
        "mark": "bar",
        "encoding": {"y": PLAIN, "tooltip": TOLD, **_offset(picture)},
    }
    if _shown(picture) > MOST_LABELS:
        return [bar]
    unit = picture.frame.column(picture.y).unit
    text = {
        "transform": [{"calculate": f"short(datum.y, '{unit}')", "as": "label"}],
        "mark": {"type": "text", "dy": -7, "fontSize": 10},
        "encoding": {
            "text": {"field": "label"},
            "color": {"value": {"expr": "ink"}},
            **_offset(picture),
        },
    }
    return [bar, text]


def _heatmap(picture: Picture) -> list[Spec]:
    """The text is white on dark cells and black on light ones."""
    unit = picture.frame.column("y").unit
    dark = "luminance(scale('color', datum.y)) < 0.35"
    text = {
        "transform": [{"calculate": f"short(datum.y, '{unit}')", "as": "label"}],
        "mark": {"type": "text", "fontSize": 11},
        "encoding": {
            "text": {"field": "label"},
            "color": {"condition": {"test": dark, "value": "white"}, "value": "black"},
        },
    }
    return [{"mark": "rect", "encoding": {"tooltip": TOLD}}, text]


def _scatter(picture: Picture) -> list[Spec]:
    """Points, and over them mean and spread of the last part."""
    points = _dots(26, 0.8) if _few(picture) else _dots(9, 0.45)
    return [points, *_window(picture)]


def _window(picture: Picture) -> list[Spec]:
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


def _time_lines(picture: Picture) -> list[Spec]:
    return [*_lines(picture), *_window(picture)]


def _band_color(name: str) -> Spec:
    scale = {"domain": list(BAND_COLORS), "range": list(BAND_COLORS.values())}
    return {"color": {"datum": name, "scale": scale, "legend": SOLID}}


def _bands(picture: Picture) -> list[Spec]:
    def area(low: str, high: str, name: str) -> Spec:
        mark = {"type": "area", "opacity": 0.45, "line": False}
        ends = {"y": {"field": low}, "y2": {"field": high}}
        return {"mark": mark, "encoding": {**ends, **_band_color(name)}}

    return [
        area("y0", "y1", "p50 to p99"),
        area("y1", "y2", "p99 to p99.9"),
        {
            "mark": {"type": "circle", "size": 10, "opacity": 0.6},
            "encoding": {"y": {"field": "y3"}, **_band_color("max"), "tooltip": TOLD},
        },
        {
            "mark": {"type": "line", "strokeWidth": 2},
            "encoding": {"y": {"field": "y0"}, **_band_color("p50")},
        },
    ]


def _curves(picture: Picture) -> list[Spec]:
    """Distributions: smooth lines, every point of which can be pointed at."""
    return [
        _line(picture),
        _hits() | {"mark": {"type": "circle", "size": 120, "opacity": 0.001}},
    ]


def _histogram(picture: Picture) -> list[Spec]:
    area = {
        "type": "area",
        "interpolate": "step-after",
        "opacity": 0.3,
        "line": {"strokeWidth": 1.5},
    }
    return [{"mark": area, "encoding": {"y": PLAIN}}, _hits()]


def _convergence(picture: Picture) -> list[Spec]:
    """The window's range as a band, mean and limits as lines, the fit across."""
    if picture.overlay is None:
        return _lines(picture)

    def rule(low: str, high: str, dash: list[int], color: str) -> Spec:
        ends = {"x2": {"field": "x2"}, "y": {"field": low}}
        far = {"y2": {"field": high}} if high != low else {}
        mark = {"type": "rule", "strokeWidth": 2, "strokeDash": dash}
        return {
            "transform": [OVER],
            "mark": mark,
            "encoding": {**ends, **far, **_line_color(color)},
        }

    span = {
        "transform": [OVER],
        "mark": {"type": "rect", "opacity": 0.2},
        "encoding": {
            "x2": {"field": "x2"},
            "y": {"field": "least"},
            "y2": {"field": "most"},
            **_line_color("range of the window"),
        },
    }
    measured = [
        one | {"encoding": {**one["encoding"], **_line_color("measured")}}
        for one in _lines(picture)[:2]
    ]
    return [
        span,
        rule("low", "low", [3, 3], "limits of the range"),
        rule("high", "high", [3, 3], "limits of the range"),
        rule("mean", "mean", [1, 0], "mean"),
        rule("fit", "fit2", [7, 4], "least-squares fit"),
        *measured,
        _hits(),
    ]


LINE_COLORS = {
    "measured": "#0072B2",
    "mean": "#009E73",
    "limits of the range": "#D55E00",
    "least-squares fit": "#CC79A7",
    "range of the window": "#56B4E9",
}


def _line_color(name: str) -> Spec:
    scale = {"domain": list(LINE_COLORS), "range": list(LINE_COLORS.values())}
    return {"color": {"datum": name, "scale": scale, "legend": SOLID}}


MARKS: dict[str, Callable[[Picture], list[Spec]]] = {
    "lines": _time_lines,
    "bars": _bars,
    "heatmap": _heatmap,
    "scatter": _scatter,
    "bands": _bands,
    "percentiles": _curves,
    "cumulative": _curves,
    "histogram": _histogram,
    "hockey": _hockey,
    "convergence": _convergence,
}
