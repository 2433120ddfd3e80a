"""The marks of each kind of chart, as Vega-Lite layers made from `marks.json`.

All layers share the encoding of `spec`: x, y, colour. Rows that the page adds to the
points have a `role`; they stand among the others, so that panels split them too.

A template there is Vega-Lite, and besides: `as`, a template that it adds to; `if`, what
is true of the picture; `use`, encodings that depend on it; `color`, the text of a
colour in the legend; `role` and `filter`, the rows that it is of.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from ioplan.results.report.documents import JUDGED, ChartSpec

Spec = dict[str, Any]

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
TEMPLATES: dict[str, list[Spec]] = json.loads(
    (files("ioplan.results.report.html") / "marks.json").read_text("utf-8")
)


def layer(mark: Spec, encoding: Spec, *of: Spec) -> Spec:
    made: Spec = {"transform": [*of], "mark": mark, "encoding": encoding}
    return {key: value for key, value in made.items() if value}


def role(name: str) -> Spec:
    return {"filter": f"datum.role === '{name}'"}


OVER, PHASE = role("over"), role("phase")


def marks(picture: ChartSpec, name: str) -> Iterator[Spec]:
    encodings = _encodings(picture)
    for template in _templates(name, _true_of(picture), {}):
        of = [role(template["role"])] if "role" in template else []
        of += [{"filter": template["filter"]}] if "filter" in template else []
        encoding: Spec = {}
        for use in template.get("use", ()):
            encoding |= encodings.get(use, {})
        encoding |= template.get("encoding", {})
        if color := template.get("color"):
            (colors,) = TEMPLATES[f"colors of {picture.kind}"]
            scale = {"domain": list(colors), "range": list(colors.values())}
            legend = {"title": None, "symbolOpacity": 1}
            encoding["color"] = {"datum": color, "scale": scale, "legend": legend}
        yield layer(template["mark"], encoding, *of)


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
    key, unit = picture.channels.pick, picture.frame.column(picture.x).unit
    choices = len(picture.frame.column(key).order) if key else 1
    rows = len(picture.frame.rows) / max(1, choices)  # about so many at once
    is_dense = unit in ("s", "B") and picture.kind == "lines"
    facts = {
        "heatmap": picture.kind == "heatmap",
        "bars": picture.kind == "bars",
        "names": picture.x_scale == "names",
        "overlay": picture.overlay is not None,
        "labelled": rows <= MOST_LABELS,
        "few": rows <= (FEW_OVER_TIME if is_dense else FEW),
    }
    return {name if is_so else f"no {name}" for name, is_so in facts.items()}


def by_text(picture: ChartSpec, key: str, **legend: Any) -> Spec:
    """An encoding of a column of texts; the titles of panels are enough for these."""
    column = picture.frame.column(key)
    titled = {"title": column.title, **legend}
    return {
        **{"field": key, "type": "nominal", "scale": {"domain": list(column.order)}},
        "legend": None if key == picture.channels.panel else titled,
    }


def _encodings(picture: ChartSpec) -> dict[str, Spec]:
    """What templates `use`, where the picture has the columns for it."""
    color, dash = picture.channels.color, picture.channels.dash
    units = {column.key: column.unit for column in picture.frame.columns}
    value = {"value": {"expr": f"short(datum.y, '{units.get('y')}')"}}
    encodings: dict[str, Spec] = {"tip": TIP, "figure": {"text": value}}
    if dash:
        nominal = by_text(picture, dash, **SAMPLE)
        nominal["scale"]["range"] = DASHES[: len(nominal["scale"]["domain"])]
        encodings["dash"] = {"strokeDash": nominal}
        encodings["detail"] = {"detail": {"field": dash}}
    if color:  # it alone must not carry the meaning; the page gives texts their markers
        nominal = by_text(picture, color)
        encodings["shape"] = {"shape": nominal}
        if picture.kind == "bars":  # which stand side by side
            encodings["offset"] = {
                "xOffset": {"field": color, "scale": nominal["scale"]}
            }
    return encodings


# What is drawn together.


def layers(picture: ChartSpec) -> list[Spec]:
    """The marks of a picture, of what failed, and the ring that the keyboard moves."""
    drawn = [*marks(picture, picture.kind)]
    if picture.kind != "heatmap":
        drawn += marks(picture, "cursor")
    if picture.channels.color:
        drawn = [_lit(mark) for mark in drawn]
    has_more_rows = any((picture.overlay, picture.limits, picture.phases))
    if not picture.marks.has_areas or has_more_rows:
        drawn = [_filtered(mark, POINTS) for mark in drawn]
    if picture.frame.marks_failures:
        # a line keeps the rows that have no value: it is broken there
        drawn = [m if m["mark"]["type"] == "line" else _filtered(m, OK) for m in drawn]
        drawn += marks(picture, "failed")
    return [*drawn, *judged(picture)]


def median_layers(picture: ChartSpec) -> list[Spec]:
    """The marks of each panel over the median of all panels."""
    median = marks(picture, "median") if picture.marks.can_spread else ()
    return [*layers(picture), *median]


def spread_layers(picture: ChartSpec) -> list[Spec]:
    """Band, median, outliers, and what failed."""
    failed = marks(picture, "failed") if picture.frame.marks_failures else ()
    return [
        *marks(picture, "spread"),
        *ends(picture, "out"),
        *judged(picture, "judged small"),
        *marks(picture, "cursor"),
        *failed,
    ]


def judged(picture: ChartSpec, template: str = "judged") -> Iterator[Spec]:
    """Limits and events, and a ring around what did not keep to a limit."""
    if picture.limits:
        yield from marks(picture, "limits")
    if JUDGED in picture.frame.columns:
        yield from marks(picture, template)


def ends(picture: ChartSpec, of_lines: str = "") -> Iterator[Spec]:
    """The names of lines at their ends; none where lines have no end of their own.

    The page adds a row with the role `end` for each line, and moves names apart.
    """
    channels = picture.channels
    has_names = channels.color or channels.dash or of_lines
    is_plain = not channels.panel and picture.x_scale != "names"
    if picture.marks.has_ends and is_plain and has_names:
        yield from marks(picture, "ends")


def _filtered(mark: Spec, condition: Spec) -> Spec:
    """What lies over the points has rows of its own."""
    own = mark.get("transform", [])
    return mark if OVER in own else {**mark, "transform": [condition, *own]}


def _lit(mark: Spec) -> Spec:
    """Others fade while one series is looked at."""
    encoding = mark.get("encoding", {})
    if mark["mark"]["type"] == "text" or "color" in encoding:
        return mark
    full = mark["mark"].get("opacity", 1)
    condition = {"condition": {"test": LIT, "value": full}, "value": full * FAINT}
    return {**mark, "encoding": {**encoding, "opacity": condition}}


# The phases of a picture over time as bands of the page, with their names above.

LANE_HEIGHT = 14
SIGN_WIDTH = 6.5
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
WIDTH = "abs(scale('x', datum.x2) - scale('x', datum.x))"


def phase_names(picture: ChartSpec) -> tuple[str, ...]:
    """Each has a line above the picture, in this order."""
    return picture.phases.column("phase").order if picture.phases else ()


def phase_layers(picture: ChartSpec) -> Iterator[Spec]:
    """Of each phase lines above the picture with its name, at its first begin and
    wherever there is room, and a pale band in it: but not where all is coloured."""
    is_cells = picture.kind == "heatmap"
    wide = "bandwidth('x') * datum.columns" if is_cells else WIDTH
    fits = f"{wide} > {SIGN_WIDTH} * length(datum.label)"
    style: Spec = {"type": "text", "align": "left", "baseline": "bottom"}
    # `text` stands in the mark, so that the page never drops it
    style |= {
        "fontSize": 10,
        "text": {"expr": f"datum.first || {fits} ? datum.label : ''"},
    }
    if is_cells:
        style["dx"] = {"expr": "-bandwidth('x') / 2"}
    ink = {"color": {"value": {"expr": "ink"}}}
    for number, name in enumerate(phase_names(picture)):
        of = PHASE, {"filter": {"field": "phase", "equal": name}}
        color = {"color": {"value": COLORS[number % len(COLORS)]}}
        look = color if is_cells else {"x2": {"field": "x2"}, **color}
        top = -LANE_HEIGHT * number
        if not picture.marks.has_areas or picture.kind == "bands":
            band = {"y": {"value": 0}, "y2": {"value": "height"}}
            yield layer({"type": "rect", "opacity": 0.1}, look | band, *of)
        bar = {"y": {"value": top - 5}, "y2": {"value": top - 2}}
        yield layer({"type": "rect", "opacity": 0.9}, look | bar, *of)
        yield layer(style, {"y": {"value": top - 6}, **ink}, *of)
