"""Marks that several kinds of chart have in common."""

from __future__ import annotations

from typing import Any

from ioplan.results.report.documents import FAILED, ChartSpec
from ioplan.results.report.html.overlays import TIP, Spec, role

DASHES = [[1, 0], [7, 4], [2, 3], [12, 3, 2, 3]]
"""One for each of MOST_DASHES; a sample of each has to fit into a legend."""
SAMPLE = {"symbolType": "stroke", "symbolSize": 480, "symbolStrokeWidth": 2}
NOT_OK: Spec = {"filter": "datum.status && datum.status !== 'ok'"}
MISSED = "datum.judged && !datum.role"
WARNING: Spec = {"value": {"expr": "alarm"}}


def failed(picture: ChartSpec) -> Spec:
    """A mark in its cell of a heatmap; else on the axis, where no value is read."""
    down = {} if picture.kind == "heatmap" else {"y": {"value": "height"}}
    baseline = "middle" if picture.kind == "heatmap" else "bottom"
    mark = {"type": "text", "text": FAILED, "fontSize": 16, "fontWeight": "bold"}
    return {
        "transform": [NOT_OK],
        "mark": {**mark, "baseline": baseline},
        "encoding": {
            **down,
            "color": WARNING,
            "tooltip": TIP,
            **offset(picture),
        },
    }


def cursor(picture: ChartSpec) -> Spec:
    return {
        "transform": [{"filter": "datum.i === cursor"}],
        "mark": {"type": "point", "size": 160, "strokeWidth": 2.5, "filled": False},
        "encoding": {"color": {"value": "#888888"}, **offset(picture)},
    }


def dash(picture: ChartSpec) -> Spec:
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


def shape(picture: ChartSpec) -> Spec:
    """Colour alone must not carry the meaning."""
    key = picture.channels.color
    if not key:
        return {}
    column = picture.frame.column(key)
    scale: Spec = {"domain": list(column.order)}
    named = key == picture.channels.panel
    legend = None if named else {"title": column.title}
    return {
        "shape": {"field": key, "type": "nominal", "scale": scale, "legend": legend}
    }


def dots(size: int, opacity: float) -> Spec:
    mark = {"type": "circle", "size": size, "opacity": opacity}
    return {"mark": mark, "encoding": {"tooltip": TIP}}


def hits(size: int = 380) -> Spec:
    """Points too faint to see and large enough to hit."""
    return dots(size, 0.001)


def line(picture: ChartSpec, **more: Any) -> Spec:
    mark = {"type": "line", "strokeWidth": 2, "clip": True, **more}
    return {"mark": mark, "encoding": dash(picture)}


def offset(picture: ChartSpec) -> Spec:
    if picture.kind != "bars" or not picture.channels.color:
        return {}
    order = list(picture.frame.column(picture.channels.color).order)
    return {"xOffset": {"field": picture.channels.color, "scale": {"domain": order}}}


def missed(picture: ChartSpec, size: int = 190) -> Spec:
    """A ring around what an expectation was not met by; the frame of a cell."""
    mark: Spec = {"type": "point", "size": size, "filled": False, "shape": "diamond"}
    if picture.kind == "heatmap":
        mark = {"type": "rect", "fill": None}
    mark = {**mark, "strokeWidth": 2.5, "opacity": 1}
    colors = {"color": {"value": "transparent"}, "stroke": WARNING}
    encoding = colors if picture.kind == "heatmap" else {"color": WARNING}
    return {
        "transform": [{"filter": MISSED}],
        "mark": mark,
        "encoding": {**encoding, "tooltip": TIP, **offset(picture)},
    }


LIMIT, EVENT = role("limit"), role("event")
ACROSS = {"filter": "datum.across"}
SPOT = {"filter": "!datum.across"}


def limits(picture: ChartSpec) -> list[Spec]:
    """Limits from side to side with their words, or short ones at their places."""
    if picture.limits is None:
        return []
    whole = {"x": {"value": 0}, "x2": {"value": "width"}, "color": WARNING}
    rule = {"type": "rule", "strokeWidth": 1.5, "strokeDash": [6, 3]}
    words = {
        **{"type": "text", "align": "left", "baseline": "bottom"},
        **{"dx": 4, "dy": -3, "fontSize": 11},
    }
    spot = {"type": "tick", "orient": "horizontal", "size": 18, "thickness": 2}
    text = {"x": {"value": 0}, "text": {"field": "limit"}, "color": WARNING}
    return [
        {"transform": [LIMIT, ACROSS], "mark": rule, "encoding": whole},
        {"transform": [LIMIT, ACROSS], "mark": words, "encoding": text},
        {"transform": [LIMIT, SPOT], "mark": spot, "encoding": {"color": WARNING}},
        *events(),
    ]


def events() -> list[Spec]:
    """Lines from bottom to top, with their names beside them."""
    rule = {"type": "rule", "strokeWidth": 1.5, "strokeDash": [2, 3]}
    words: Spec = {
        **{"type": "text", "align": "right", "baseline": "bottom", "angle": 270},
        **{"dx": -4, "dy": -3, "fontSize": 11, "limit": 180},
    }
    ink, top = {"value": {"expr": "ink"}}, {"value": 0}
    whole = {"y": top, "y2": {"value": "height"}, "color": ink}
    text = {"y": top, "text": {"field": "limit"}, "color": ink}
    return [
        {"transform": [EVENT], "mark": rule, "encoding": whole},
        {"transform": [EVENT], "mark": words, "encoding": text},
    ]
