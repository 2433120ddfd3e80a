"""The marks of each kind of chart, as Vega-Lite layers.

All layers share the encoding of `spec`: x, y, colour. Colours come from the theme,
but for those of `overlays`.
"""

from __future__ import annotations

from collections.abc import Callable

from ioplan.results.report.documents import JUDGED, ChartSpec
from ioplan.results.report.html.marks import (
    NOT_OK,
    cursor,
    dots,
    failed,
    hits,
    limits,
    line,
    missed,
    offset,
    shape,
)
from ioplan.results.report.html.overlays import (
    OVER,
    POINTS,
    TIP,
    Spec,
    bands,
    last_part,
    limit,
    line_color,
    steady_window,
)

FEW = 400
"""Up to so many points a mark of each is drawn, and a larger one to point at."""
FEW_OVER_TIME = 100
"""Few enough points to mark, where one follows the other closely."""
MOST_LABELS = 48
PLACE = "places.points[datum.i]"
"""Where the page has found room for the text of a point."""
LIT = "lit === '' || datum.series === lit"
FAINT = 0.12
PLAIN: Spec = {"field": "y", "type": "quantitative", "stack": None}
"""Areas that lie over one another instead of upon one another."""
OK: Spec = {"filter": f"!({NOT_OK['filter']})"}


def layers(picture: ChartSpec) -> list[Spec]:
    """The marks of a picture, of what failed, and the ring that the keyboard moves."""
    marks = MARKS[picture.kind](picture)
    if picture.kind != "heatmap":
        marks.append(cursor(picture))
    if picture.channels.color:
        marks = [_lit(mark) for mark in marks]
    if not picture.marks.has_areas or _has_more_rows(picture):
        marks = [_of_points(mark) for mark in marks]
    if picture.frame.marks_failures:
        marks = [*map(_without_failed, marks), failed(picture)]
    return [*marks, *told(picture)]


def _has_more_rows(picture: ChartSpec) -> bool:
    """Whether the page adds rows of other frames to those of the first one."""
    return any((picture.overlay, picture.limits, picture.phases))


def told(picture: ChartSpec, **size: int) -> list[Spec]:
    """Limits, and what did not keep to them."""
    has_missed = JUDGED in picture.frame.columns
    return [*limits(picture), *([missed(picture, **size)] if has_missed else [])]


def _filtered(mark: Spec, condition: Spec) -> Spec:
    return {**mark, "transform": [condition, *mark.get("transform", [])]}


def _lit(mark: Spec) -> Spec:
    """Others fade while one series is looked at."""
    if mark["mark"]["type"] == "text" or "color" in mark.get("encoding", {}):
        return mark
    full = mark["mark"].get("opacity", 1)
    condition = {"condition": {"test": LIT, "value": full}, "value": full * FAINT}
    return {**mark, "encoding": {**mark.get("encoding", {}), "opacity": condition}}


def _of_points(mark: Spec) -> Spec:
    return mark if OVER in mark.get("transform", []) else _filtered(mark, POINTS)


def _without_failed(mark: Spec) -> Spec:
    """A line keeps the rows that have no value: it is broken there."""
    is_kept = mark["mark"]["type"] == "line" or OVER in mark.get("transform", [])
    return mark if is_kept else _filtered(mark, OK)


def _few(picture: ChartSpec) -> bool:
    over_time = picture.frame.column(picture.x).unit in ("s", "B")
    most = FEW_OVER_TIME if over_time and picture.kind == "lines" else FEW
    return _shown(picture) <= most


def _shown(picture: ChartSpec) -> float:
    """How many rows are drawn at once: of a choice, about one part."""
    key = picture.channels.pick
    parts = len(picture.frame.column(key).order) if key else 1
    return len(picture.frame.rows) / max(1, parts)


def _lines(picture: ChartSpec) -> list[Spec]:
    if not _few(picture):
        return [
            line(picture),
            {
                "mark": {"type": "circle", "size": 14, "opacity": 0.6},
                "encoding": {"tooltip": TIP},
            },
        ]
    points = {
        "mark": {"type": "point", "filled": True, "size": 46, "opacity": 1},
        "encoding": shape(picture),
    }
    return [line(picture), points, hits()]


def _hockey(picture: ChartSpec) -> list[Spec]:
    """Linked in the order of the swept axis, which is not that of the IOPS."""
    order = {"field": "number", "type": "quantitative"}
    linked = line(picture)
    linked["encoding"] = {**linked["encoding"], "order": order}
    mark = {
        **{"type": "text", "fontSize": 10, "dy": {"expr": PLACE}},
        "text": {"expr": f"isValid({PLACE}) ? datum.label : ''"},
    }
    ink = {"color": {"value": {"expr": "soft"}}}
    return [linked, *_lines(picture)[1:], {"mark": mark, "encoding": ink}]


def _bars(picture: ChartSpec) -> list[Spec]:
    bar = {
        "mark": {"type": "bar"},
        "encoding": {"y": PLAIN, "tooltip": TIP, **offset(picture)},
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
            **offset(picture),
        },
    }
    return [bar, text]


def _heatmap(picture: ChartSpec) -> list[Spec]:
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
    return [{"mark": {"type": "rect"}, "encoding": {"tooltip": TIP}}, text]


def _latencies(picture: ChartSpec) -> list[Spec]:
    """How many I/Os took so long at that time, and percentiles over it."""
    ends = {"x2": {"field": "x2"}, "y2": {"field": "y2"}}
    cells = {"mark": {"type": "rect"}, "encoding": {**ends, "tooltip": TIP}}
    if picture.overlay is None:
        return [cells]
    lines = (("p50", [1, 0], "#E69F00"), ("p99", [5, 3], "#D55E00"))
    return [cells, *(_over_latencies(*one) for one in lines)]


def _over_latencies(name: str, dash: list[int], color: str) -> Spec:
    return {
        "transform": [OVER],
        "mark": {"type": "line", "strokeWidth": 1.5, "strokeDash": dash},
        "encoding": {"y": {"field": name}, "color": {"value": color}},
    }


def _scatter(picture: ChartSpec) -> list[Spec]:
    """Points, and over them mean and spread of the last part."""
    points = dots(26, 0.8) if _few(picture) else dots(9, 0.45)
    return [points, *last_part(picture)]


def _time_lines(picture: ChartSpec) -> list[Spec]:
    return [*_lines(picture), *last_part(picture)]


def _curves(picture: ChartSpec) -> list[Spec]:
    """Distributions: smooth lines, every point of which can be pointed at."""
    return [
        line(picture),
        hits() | {"mark": {"type": "circle", "size": 120, "opacity": 0.001}},
    ]


def _histogram(picture: ChartSpec) -> list[Spec]:
    area = {
        "type": "area",
        "interpolate": "step-after",
        "opacity": 0.3,
        "line": {"strokeWidth": 1.5},
    }
    return [{"mark": area, "encoding": {"y": PLAIN}}, hits()]


def _convergence(picture: ChartSpec) -> list[Spec]:
    """The rounds over their window; the colours tell them apart."""
    if picture.overlay is None:
        return _lines(picture)
    measured = [
        one | {"encoding": {**one["encoding"], **line_color("measured")}}
        for one in _lines(picture)[:2]
    ]
    return [*steady_window(picture), *measured, hits()]


def _probes(picture: ChartSpec) -> list[Spec]:
    """One curve through all, whatever the answers, and the limit."""
    plain = {"color": {"value": "#888888"}}
    curve = {
        "mark": {"type": "line", "strokeWidth": 1.5, "opacity": 0.7, "clip": True},
        "encoding": plain,
    }
    return [*limit(picture), curve, *_lines(picture)[1:]]


MARKS: dict[str, Callable[[ChartSpec], list[Spec]]] = {
    "lines": _time_lines,
    "bars": _bars,
    "heatmap": _heatmap,
    "scatter": _scatter,
    "latencies": _latencies,
    "bands": bands,
    "percentiles": _curves,
    "cumulative": _curves,
    "histogram": _histogram,
    "hockey": _hockey,
    "convergence": _convergence,
    "history": _scatter,
    "probes": _probes,
}
