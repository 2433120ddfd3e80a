"""The marks of each kind of chart, as Vega-Lite layers.

All layers share the encoding of `spec`: x, y, colour. Rows that the page adds to the
points have a `role`; they stand among the others, so that panels split them too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ioplan.results.report.documents import FAILED, JUDGED, ChartSpec

Spec = dict[str, Any]

FEW = 400
"""Up to so many points a mark of each is drawn, and a larger one to point at."""
FEW_OVER_TIME = 100
"""Few enough points to mark, where one follows the other closely."""
MOST_LABELS = 48
FAINT = 0.12
LIT = "lit === '' || datum.series === lit"
PLACE = "places.points[datum.i]"
"""Where the page has found room for the text of a point."""
NOT_OK = "datum.status && datum.status !== 'ok'"
POINTS: Spec = {"filter": "!datum.role"}
TIP: Spec = {"tooltip": {"field": "i", "type": "quantitative", "format": "d"}}
"""A tooltip is the number of its row; the page finds the rest."""
DASHES = [[1, 0], [7, 4], [2, 3], [12, 3, 2, 3]]
"""One for each of MOST_DASHES; a sample of each has to fit into a legend."""
SAMPLE = {"symbolType": "stroke", "symbolSize": 480, "symbolStrokeWidth": 2}
ENDS: Spec = {"x2": {"field": "x2"}}
TOP, BOTTOM, HEIGHT = {"value": 0}, {"value": "height"}, {"y": {"value": "height"}}
ACROSS: Spec = {"x": {"value": 0}, "x2": {"value": "width"}}
BAND_COLORS = {
    **{"p50": "#0072B2", "p50 to p99": "#56B4E9"},
    **{"p99 to p99.9": "#E69F00", "max": "#D55E00"},
}
LINE_COLORS = {
    **{"measured": "#0072B2", "mean": "#009E73", "limits of the range": "#D55E00"},
    **{"least-squares fit": "#CC79A7", "range of the window": "#56B4E9"},
}


def role(name: str) -> Spec:
    """The rows of a role."""
    return {"filter": f"datum.role === '{name}'"}


def layer(mark: str, *encodings: Spec, of: Spec | None = None, **style: Any) -> Spec:
    """A layer of a mark, of all rows or of some."""
    made: Spec = {"transform": [of]} if of else {}
    made["mark"] = {"type": mark, **style}
    encoding = {name: one for each in encodings for name, one in each.items()}
    return {**made, "encoding": encoding} if encoding else made


def field(**channels: str) -> Spec:
    """What each channel shows."""
    return {channel: {"field": key} for channel, key in channels.items()}


def hue(color: str = "", expr: str = "") -> Spec:
    """One colour for all, or one that the page gives."""
    return {"color": {"value": {"expr": expr} if expr else color}}


def _named(name: str, colors: dict[str, str]) -> Spec:
    """A colour with its name in a legend."""
    scale = {"domain": list(colors), "range": list(colors.values())}
    legend = {"title": None, "symbolOpacity": 1}
    return {"color": {"datum": name, "scale": scale, "legend": legend}}


OVER, LIMIT, EVENT, PHASE = map(role, ("over", "limit", "event", "phase"))
ALARM, INK, GREY = hue(expr="alarm"), hue(expr="ink"), hue("#888888")


def layers(picture: ChartSpec) -> list[Spec]:
    """The marks of a picture, of what failed, and the ring that the keyboard moves."""
    marks = MARKS[picture.kind](picture)
    if picture.kind != "heatmap":
        marks.append(cursor(picture))
    if picture.channels.color:
        marks = [_lit(mark) for mark in marks]
    has_more_rows = any((picture.overlay, picture.limits, picture.phases))
    if not picture.marks.has_areas or has_more_rows:
        marks = [_filtered(mark, POINTS) for mark in marks]
    if picture.frame.marks_failures:
        ok = {"filter": f"!({NOT_OK})"}
        # a line keeps the rows that have no value: it is broken there
        marks = [m if m["mark"]["type"] == "line" else _filtered(m, ok) for m in marks]
        marks.append(failed(picture))
    return [*marks, *told(picture)]


def _filtered(mark: Spec, condition: Spec) -> Spec:
    """What lies over the points has rows of its own."""
    own = mark.get("transform", [])
    return mark if OVER in own else {**mark, "transform": [condition, *own]}


def _lit(mark: Spec) -> Spec:
    """Others fade while one series is looked at."""
    if mark["mark"]["type"] == "text" or "color" in mark.get("encoding", {}):
        return mark
    full = mark["mark"].get("opacity", 1)
    condition = {"condition": {"test": LIT, "value": full}, "value": full * FAINT}
    return {**mark, "encoding": {**mark.get("encoding", {}), "opacity": condition}}


# What several kinds of chart have in common.


def line(picture: ChartSpec, **style: Any) -> Spec:
    """The linked points, with a dash for each text of a column."""
    key, dash = picture.channels.dash, {}
    if key:
        column = picture.frame.column(key)
        scale = {"domain": [*column.order], "range": DASHES[: len(column.order)]}
        legend = {"title": column.title, **SAMPLE}
        nominal = {"field": key, "type": "nominal", "scale": scale, "legend": legend}
        dash = {"strokeDash": nominal}
    return layer("line", dash, **{"strokeWidth": 2, "clip": True, **style})


def dots(size: int, opacity: float) -> Spec:
    """Points that can be pointed at."""
    return layer("circle", TIP, size=size, opacity=opacity)


def hits() -> Spec:
    """Points too faint to see and large enough to hit."""
    return dots(380, 0.001)


def cursor(picture: ChartSpec) -> Spec:
    """The ring around the point that the keyboard has reached."""
    style = {"size": 160, "strokeWidth": 2.5, "filled": False}
    of = {"filter": "datum.i === cursor"}
    return layer("point", GREY, _offset(picture), of=of, **style)


def failed(picture: ChartSpec) -> Spec:
    """A mark in its cell of a heatmap; else on the axis, where no value is read."""
    is_cell = picture.kind == "heatmap"
    style = {"text": FAILED, "fontSize": 16, "fontWeight": "bold"}
    style["baseline"] = "middle" if is_cell else "bottom"
    down = {} if is_cell else HEIGHT
    of = {"filter": NOT_OK}
    return layer("text", down, ALARM, TIP, _offset(picture), of=of, **style)


def told(picture: ChartSpec, size: int = 190) -> list[Spec]:
    """Limits, and a ring around what did not keep to them; the frame of a cell."""
    found = [*_limits(picture)]
    if JUDGED in picture.frame.columns:
        style: Spec = {"strokeWidth": 2.5, "opacity": 1}
        of = {"filter": "datum.judged && !datum.role"}
        if picture.kind == "heatmap":
            clear = {**hue("transparent"), "stroke": ALARM["color"]}
            found.append(layer("rect", clear, TIP, of=of, fill=None, **style))
        else:
            style |= {"size": size, "filled": False, "shape": "diamond"}
            found.append(layer("point", ALARM, TIP, _offset(picture), of=of, **style))
    return found


def _limits(picture: ChartSpec) -> Iterator[Spec]:
    """From side to side with their words, or short ones at their places; and events
    from bottom to top."""
    if picture.limits is None:
        return
    rule = {"strokeWidth": 1.5, "strokeDash": [6, 3]}
    words = {"baseline": "bottom", "dy": -3, "fontSize": 11}
    text, left = field(text="limit"), {"x": {"value": 0}}
    spot, wide = ({"filter": one} for one in ("!datum.across", "datum.across"))
    tick = {"orient": "horizontal", "size": 18, "thickness": 2}
    yield _filtered(layer("rule", ACROSS, ALARM, of=wide, **rule), LIMIT)
    named = layer("text", left, text, ALARM, of=wide, align="left", dx=4, **words)
    yield _filtered(named, LIMIT)
    yield _filtered(layer("tick", ALARM, of=spot, **tick), LIMIT)
    rule["strokeDash"] = [2, 3]
    yield layer("rule", {"y": TOP, "y2": BOTTOM}, INK, of=EVENT, **rule)
    words |= {"align": "right", "angle": 270, "dx": -4, "limit": 180}
    yield layer("text", {"y": TOP}, text, INK, of=EVENT, **words)


def _offset(picture: ChartSpec) -> Spec:
    """Bars stand side by side."""
    key = picture.channels.color
    if picture.kind != "bars" or not key:
        return {}
    scale = {"domain": list(picture.frame.column(key).order)}
    return {"xOffset": {"field": key, "scale": scale}}


def _shape(picture: ChartSpec) -> Spec:
    """Colour alone must not carry the meaning; the page gives each text its marker."""
    key = picture.channels.color
    if not key:
        return {}
    column = picture.frame.column(key)
    legend = None if key == picture.channels.panel else {"title": column.title}
    scale = {"domain": list(column.order)}
    nominal = {"field": key, "type": "nominal", "scale": scale, "legend": legend}
    return {"shape": nominal}


def _shown(picture: ChartSpec) -> float:
    """How many rows are drawn at once: of a choice, about one part."""
    key = picture.channels.pick
    parts = len(picture.frame.column(key).order) if key else 1
    return len(picture.frame.rows) / max(1, parts)


def _is_few(picture: ChartSpec) -> bool:
    over_time = picture.frame.column(picture.x).unit in ("s", "B")
    most = FEW_OVER_TIME if over_time and picture.kind == "lines" else FEW
    return _shown(picture) <= most


# The kinds of chart.


def _lines(picture: ChartSpec) -> list[Spec]:
    if not _is_few(picture):
        return [line(picture), dots(14, 0.6)]
    points = layer("point", _shape(picture), filled=True, size=46, opacity=1)
    return [line(picture), points, hits()]


def _load(picture: ChartSpec) -> list[Spec]:
    """Linked in the order of the swept axis, which is not that of the IOPS."""
    linked, *points = _lines(picture)
    linked["encoding"] = linked.get("encoding", {}) | {
        "order": {"field": "number", "type": "quantitative"}
    }
    text = {"expr": f"isValid({PLACE}) ? datum.label : ''"}
    style: Spec = {
        one: {"expr": f"{PLACE} ? {PLACE}.{one} : 0"} for one in ("dx", "dy")
    }
    label = layer("text", hue(expr="soft"), fontSize=10, text=text, **style)
    return [linked, *points, label]


def _figure(picture: ChartSpec, color: Spec, **style: Any) -> Spec:
    """The value of a mark beside it."""
    expr = f"short(datum.y, '{picture.frame.column('y').unit}')"
    text = {"text": {"value": {"expr": expr}}}
    return layer("text", text, color, _offset(picture), **style)


def _bars(picture: ChartSpec) -> list[Spec]:
    bar = layer("bar", _apart("y"), TIP, _offset(picture))
    if _shown(picture) > MOST_LABELS:
        return [bar]
    return [bar, _figure(picture, INK, dy=-7, fontSize=10)]


def _apart(key: str) -> Spec:
    """Areas that lie over one another instead of upon one another."""
    return {"y": {"field": key, "type": "quantitative", "stack": None}}


def _heatmap(picture: ChartSpec) -> list[Spec]:
    """The text is white on dark cells and black on light ones."""
    dark = "luminance(scale('color', datum.y)) < 0.35"
    white = {"condition": {"test": dark, "value": "white"}, "value": "black"}
    return [layer("rect", TIP), _figure(picture, {"color": white}, fontSize=11)]


def _latencies(picture: ChartSpec) -> list[Spec]:
    """How many I/Os took so long at that time, and percentiles over it."""
    cells = [layer("rect", ENDS, field(y2="y2"), TIP)]
    over = (("p50", [1, 0], "#E69F00"), ("p99", [5, 3], "#D55E00"))
    for name, dash, color in over if picture.overlay else ():
        style = {"strokeWidth": 1.5, "strokeDash": dash}
        cells.append(layer("line", field(y=name), hue(color), of=OVER, **style))
    return cells


def _last_part(picture: ChartSpec) -> list[Spec]:
    """Mean and spread of the last part of a run over time."""
    if picture.overlay is None:
        return []
    band = layer("rect", ENDS, field(y="low", y2="high"), of=OVER, opacity=0.22)
    return [band, layer("rule", ENDS, field(y="mean"), of=OVER, strokeWidth=2.5)]


def _time_lines(picture: ChartSpec) -> list[Spec]:
    return [*_lines(picture), *_last_part(picture)]


def _scatter(picture: ChartSpec) -> list[Spec]:
    points = dots(26, 0.8) if _is_few(picture) else dots(9, 0.45)
    return [points, *_last_part(picture)]


def _curves(picture: ChartSpec) -> list[Spec]:
    """Distributions: smooth lines, every point of which can be pointed at."""
    return [line(picture), dots(120, 0.001)]


def _histogram(_: ChartSpec) -> list[Spec]:
    style: Spec = {"interpolate": "step-after", "opacity": 0.3}
    style["line"] = {"strokeWidth": 1.5}
    return [layer("area", _apart("y"), **style), hits()]


def _bands(_: ChartSpec) -> list[Spec]:
    """Areas between percentiles, a line at the median, a point at each maximum."""
    color = partial(_named, colors=BAND_COLORS)
    areas = [
        layer("area", field(y=low, y2=high), color(name), opacity=0.45, line=False)
        for low, high, name in (
            ("y0", "y1", "p50 to p99"),
            ("y1", "y2", "p99 to p99.9"),
        )
    ]
    most = layer("circle", field(y="y3"), color("max"), TIP, size=10, opacity=0.6)
    return [*areas, most, layer("line", field(y="y0"), color("p50"), strokeWidth=2)]


def _convergence(picture: ChartSpec) -> list[Spec]:
    """The rounds over their window: the range as a band, mean and limits as lines, the
    fit across."""
    if picture.overlay is None:
        return _lines(picture)
    color = partial(_named, colors=LINE_COLORS)
    ends, span = field(y="least", y2="most"), color("range of the window")
    window = [layer("rect", ENDS, ends, span, of=OVER, opacity=0.2)]
    for low, high, dash, name in (
        ("low", "", [3, 3], "limits of the range"),
        ("high", "", [3, 3], "limits of the range"),
        ("mean", "", [1, 0], "mean"),
        ("fit", "fit2", [7, 4], "least-squares fit"),
    ):
        ends = field(y=low, **({"y2": high} if high else {}))
        style = {"strokeWidth": 2, "strokeDash": dash}
        window.append(layer("rule", ENDS, ends, color(name), of=OVER, **style))
    measured = [
        {**one, "encoding": {**one.get("encoding", {}), **color("measured")}}
        for one in _lines(picture)[:2]
    ]
    return [*window, *measured, hits()]


def _probes(picture: ChartSpec) -> list[Spec]:
    """One curve through all, whatever the answers, and the limit."""
    curve = layer("line", GREY, strokeWidth=1.5, opacity=0.7, clip=True)
    marks = [curve, *_lines(picture)[1:]]
    if picture.overlay:
        color = hue(LINE_COLORS["limits of the range"])
        style = {"strokeWidth": 2, "strokeDash": [7, 4]}
        marks[:0] = [layer("rule", ENDS, field(y="limit"), color, of=OVER, **style)]
    return marks


MARKS: dict[str, Callable[[ChartSpec], list[Spec]]] = {
    "lines": _time_lines,
    "bars": _bars,
    "heatmap": _heatmap,
    "scatter": _scatter,
    "latencies": _latencies,
    "bands": _bands,
    "percentiles": _curves,
    "cumulative": _curves,
    "histogram": _histogram,
    "hockey": _load,
    "convergence": _convergence,
    "history": _scatter,
    "probes": _probes,
}


def ends(picture: ChartSpec, of_lines: str = "") -> list[Spec]:
    """The names of lines at their ends; none where lines have no end of their own.

    The page adds a row with the role `end` for each line, and moves names apart.
    """
    channels = picture.channels
    has_names = bool(channels.color or channels.dash or of_lines)
    is_plain = not channels.panel and picture.x_scale != "names"
    if not picture.marks.has_ends or not is_plain or not has_names:
        return []
    style = {"align": "left", "dx": 8, "dy": {"expr": "places.ends[datum.end] || 0"}}
    style |= {"fontSize": 11, "fontWeight": 600, "limit": 150}
    own = hue(expr="datum.ink")
    return [layer("text", field(text="end"), own, of=role("end"), **style)]


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
    style: Spec = {"align": "left", "baseline": "bottom", "fontSize": 10}
    # `text` stands in the mark, so that the page never drops it
    style["text"] = {"expr": f"datum.first || {fits} ? datum.label : ''"}
    if is_cells:
        style["dx"] = {"expr": "-bandwidth('x') / 2"}
    for number, name in enumerate(phase_names(picture)):
        foot = -LANE_HEIGHT * number
        look = {**({} if is_cells else ENDS), **hue(COLORS[number % len(COLORS)])}
        high = {"y": {"value": foot - 5}, "y2": {"value": foot - 2}}
        marks = [
            layer("rect", look, high, opacity=0.9),
            layer("text", {"y": {"value": foot - 6}}, INK, **style),
        ]
        if not picture.marks.has_areas or picture.kind == "bands":
            marks.insert(0, layer("rect", look, {"y": TOP, "y2": BOTTOM}, opacity=0.1))
        chosen = {"filter": {"field": "phase", "equal": name}}
        yield from ({"transform": [PHASE, chosen], **mark} for mark in marks)
