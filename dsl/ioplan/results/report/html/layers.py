"""The marks of each kind of chart, as Vega-Lite layers made from `marks.json`.

All layers share the encoding of `spec`: x, y, colour. Rows that the page adds to the
points have a `role`; they stand among the others, so that panels split them too.

A template there is Vega-Lite, and besides: `as`, a template that it adds to; `if`, what
is true of the picture; `use`, the ENCODINGS that depend on it; `color`, the text of a
colour in the legend; `role` and `filter`, the rows that it is of.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
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
    """A layer of all rows, or of some."""
    made: Spec = {"transform": [*of], "mark": mark, "encoding": encoding}
    return {key: value for key, value in made.items() if value}


def role(name: str) -> Spec:
    """The rows of a role."""
    return {"filter": f"datum.role === '{name}'"}


OVER, PHASE = role("over"), role("phase")


def marks(picture: ChartSpec, name: str) -> Iterator[Spec]:
    """The layers of a template."""
    true_of = _true_of(picture)
    for template in _templates(name, true_of, {}):
        of = [role(template["role"])] if "role" in template else []
        of += [{"filter": template["filter"]}] if "filter" in template else []
        encoding: Spec = {}
        for use in template.get("use", ()):
            encoding |= ENCODINGS[use](picture)
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
    is_few = _shown(picture) <= _most_marked(picture)
    facts = {
        "heatmap": picture.kind == "heatmap",
        "bars": picture.kind == "bars",
        "names": picture.x_scale == "names",
        "overlay": picture.overlay is not None,
    }
    true_of = {name if is_so else f"no {name}" for name, is_so in facts.items()}
    labelled = {"labelled"} if _shown(picture) <= MOST_LABELS else set()
    return true_of | labelled | {"few" if is_few else "many"}


def _shown(picture: ChartSpec) -> float:
    """How many rows are drawn at once: of a choice, about one part."""
    key = picture.channels.pick
    parts = len(picture.frame.column(key).order) if key else 1
    return len(picture.frame.rows) / max(1, parts)


def _most_marked(picture: ChartSpec) -> int:
    over_time = picture.frame.column(picture.x).unit in ("s", "B")
    return FEW_OVER_TIME if over_time and picture.kind == "lines" else FEW


# Encodings that depend on the columns of a picture.


def by_text(picture: ChartSpec, key: str, **legend: Any) -> Spec:
    """A column of texts; the titles of panels are enough for these."""
    column = picture.frame.column(key)
    titled = {"title": column.title, **legend}
    return {
        **{"field": key, "type": "nominal", "scale": {"domain": list(column.order)}},
        "legend": None if key == picture.channels.panel else titled,
    }


def _dash(picture: ChartSpec) -> Spec:
    key = picture.channels.dash
    if not key:
        return {}
    nominal = by_text(picture, key, **SAMPLE)
    nominal["scale"]["range"] = DASHES[: len(nominal["scale"]["domain"])]
    return {"strokeDash": nominal}


def _shape(picture: ChartSpec) -> Spec:
    """Colour alone must not carry the meaning; the page gives each text its marker."""
    key = picture.channels.color
    return {"shape": by_text(picture, key)} if key else {}


def _offset(picture: ChartSpec) -> Spec:
    """Bars stand side by side."""
    key = picture.channels.color
    if picture.kind != "bars" or not key:
        return {}
    scale = {"domain": list(picture.frame.column(key).order)}
    return {"xOffset": {"field": key, "scale": scale}}


def _figure(picture: ChartSpec) -> Spec:
    """The value of a mark beside it."""
    expr = f"short(datum.y, '{picture.frame.column('y').unit}')"
    return {"text": {"value": {"expr": expr}}}


def _detail(picture: ChartSpec) -> Spec:
    key = picture.channels.dash
    return {"detail": {"field": key}} if key else {}


ENCODINGS: dict[str, Callable[[ChartSpec], Spec]] = {
    "tip": lambda _: TIP,
    "dash": _dash,
    "shape": _shape,
    "offset": _offset,
    "figure": _figure,
    "detail": _detail,
}


# What is drawn together.


def layers(picture: ChartSpec) -> list[Spec]:
    """The marks of a picture, of what failed, and the ring that the keyboard moves."""
    found = [*marks(picture, picture.kind)]
    if picture.kind != "heatmap":
        found += marks(picture, "cursor")
    if picture.channels.color:
        found = [_lit(mark) for mark in found]
    has_more_rows = any((picture.overlay, picture.limits, picture.phases))
    if not picture.marks.has_areas or has_more_rows:
        found = [_filtered(mark, POINTS) for mark in found]
    if picture.frame.marks_failures:
        # a line keeps the rows that have no value: it is broken there
        found = [m if m["mark"]["type"] == "line" else _filtered(m, OK) for m in found]
        found += marks(picture, "failed")
    return [*found, *judged(picture)]


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
