"""Many series as their median, the middle of them as a band, and outliers by name.

The page computes them of the sessions that it shows: rows with a `role`.
"""

from __future__ import annotations

from ioplan.results.report.documents import ChartSpec
from ioplan.results.report.html.layers import layers, told
from ioplan.results.report.html.marks import cursor, dash, dots, failed, hits, line
from ioplan.results.report.html.overlays import Spec, ends, role

PALE: Spec = {"color": {"value": "#888888"}}
INK: Spec = {"color": {"value": {"expr": "ink"}}}
SMALL = 50
"""The marks of many sessions lie close to one another."""
SPREAD, OUT, BACK = role("spread"), role("out"), role("back")


def with_median(picture: ChartSpec) -> list[Spec]:
    """The marks of each panel over the median of all panels."""
    if not picture.marks.can_spread:
        return layers(picture)
    mark = {"type": "line", "strokeWidth": 1.5, "clip": True}
    if picture.kind == "bars":
        mark = {"type": "tick", "thickness": 2}
    encoding = {**PALE, **(dash(picture) if mark["type"] == "line" else {})}
    return [*layers(picture), {"transform": [BACK], "mark": mark, "encoding": encoding}]


def spread_layers(picture: ChartSpec) -> list[Spec]:
    """Band, median, outliers, and what failed."""
    ranges = _ranges if picture.x_scale == "names" else _areas
    marks = [*ranges(picture), *_outliers(picture), *ends(picture, "out")]
    marks += [*told(picture, size=SMALL), cursor(picture)]
    return [*marks, failed(picture)] if picture.frame.marks_failures else marks


def _areas(picture: ChartSpec) -> list[Spec]:
    key = picture.channels.dash
    detail = {"detail": {"field": key}} if key else {}
    ends = {"y": {"field": "low"}, "y2": {"field": "high"}}
    band = {"type": "area", "opacity": 0.25, "clip": True}
    median = line(picture, strokeWidth=3)
    median["encoding"] = {**median["encoding"], **INK}
    return [
        {"transform": [SPREAD], "mark": band, "encoding": {**ends, **detail, **PALE}},
        {"transform": [SPREAD], **median},
    ]


def _ranges(_: ChartSpec) -> list[Spec]:
    """Over names: a bar from the low to the high end, a tick at the median."""
    ends = {"y": {"field": "low"}, "y2": {"field": "high"}}
    return [
        {
            "transform": [SPREAD],
            "mark": {"type": "bar", "opacity": 0.3, "width": {"band": 0.4}},
            "encoding": {**ends, **PALE},
        },
        {
            "transform": [SPREAD],
            "mark": {"type": "tick", "thickness": 3},
            "encoding": INK,
        },
    ]


def _outliers(picture: ChartSpec) -> list[Spec]:
    color = {
        "color": {
            "field": "series",
            "type": "nominal",
            "legend": {"title": "named", "symbolOpacity": 1},
        }
    }
    points = dots(46, 0.9)
    found = [points, hits()]
    if picture.x_scale != "names":
        found = [line(picture), *found]
    return [
        {**one, "transform": [OUT], "encoding": {**one["encoding"], **color}}
        for one in found
    ]
