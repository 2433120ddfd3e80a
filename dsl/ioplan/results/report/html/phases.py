"""The phases of a picture over time as bands of the page, with their names above."""

from __future__ import annotations

from collections.abc import Iterator

from ioplan.results.report.document import ChartSpec
from ioplan.results.report.html.overlays import Spec, role

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
