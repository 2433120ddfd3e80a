"""Many series as their median, the middle of them as a band, and outliers by name."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable

import numpy as np

from ioplan.results.report.documents import ChartSpec, Column, Frame, Value
from ioplan.results.report.html.layers import (
    GREY,
    INK,
    Spec,
    cursor,
    dots,
    ends,
    failed,
    field,
    hits,
    layer,
    layers,
    line,
    role,
    told,
)

SMALL = 50
"""The marks of many sessions lie close to one another."""
SPREAD, OUT, BACK = role("spread"), role("out"), role("back")


def with_median(picture: ChartSpec) -> list[Spec]:
    """The marks of each panel over the median of all panels."""
    if not picture.marks.can_spread:
        return layers(picture)
    mark = line(picture, strokeWidth=1.5)
    if picture.kind == "bars":
        mark = layer("tick", thickness=2)
    return [*layers(picture), _of(BACK, mark, GREY)]


def spread_layers(picture: ChartSpec) -> list[Spec]:
    """Band, median, outliers, and what failed."""
    series = {"field": "series", "type": "nominal"}
    named = {"color": {**series, "legend": {"title": "named", "symbolOpacity": 1}}}
    span = field(y="low", y2="high")
    key = picture.channels.dash
    outliers = [dots(46, 0.9), hits()]
    if picture.x_scale == "names":
        width = {"band": 0.4}
        marks = [
            layer("bar", span, GREY, of=SPREAD, opacity=0.3, width=width),
            layer("tick", INK, of=SPREAD, thickness=3),
        ]
    else:
        each = {"detail": {"field": key}} if key else {}
        marks = [
            layer("area", span, each, GREY, of=SPREAD, opacity=0.25, clip=True),
            _of(SPREAD, line(picture, strokeWidth=3), INK),
        ]
        outliers.insert(0, line(picture))
    marks += [_of(OUT, mark, named) for mark in outliers]
    marks += [*ends(picture, "out"), *told(picture, SMALL), cursor(picture)]
    return [*marks, failed(picture)] if picture.frame.marks_failures else marks


def _of(rows: Spec, mark: Spec, color: Spec) -> Spec:
    encoding = {**mark.get("encoding", {}), **color}
    return {"transform": [rows], **mark, "encoding": encoding}


BAND = (0.1, 0.9)
FENCE = 1.5
"""Tukey's: so many interquartile ranges beyond the quartiles."""
MOST_NAMED = 6
MOST_PLACES = 200
"""Along x; intervals of many clocks have no instant in common, and are put together."""

Groups = dict[tuple[Value, ...], list[tuple[str, float]]]


def spread_frame(picture: ChartSpec) -> Frame:
    """At each place the median of all series, and the band that most of them are in."""
    shared = _shared(picture)
    groups = _groups(picture, shared)
    rows = [
        (*place, *np.quantile([y for _, y in some], (0.5, *BAND)).tolist())
        for place, some in groups.items()
    ]
    if picture.x_scale != "names":
        rows.sort(key=lambda row: float(row[0]))
    keys = [picture.frame.column(key) for key in (picture.x, *shared, picture.y)]
    unit = picture.frame.column(picture.y).unit
    return Frame((*keys, Column("low", "", unit), Column("high", "", unit)), rows)


def far_off(picture: ChartSpec) -> list[str]:
    """The series that lie beyond the fences at half of their points, the farthest
    first."""
    points, beyond, far = Counter[str](), Counter[str](), defaultdict[str, float](float)
    for some in _groups(picture, _shared(picture)).values():
        low, high = np.quantile([y for _, y in some], (0.25, 0.75)).tolist()
        reach = FENCE * (high - low)
        for name, y in some:
            points[name] += 1
            if (off := max(low - reach - y, y - high - reach)) > 0:
                beyond[name] += 1
                far[name] += off / ((high - low) or 1)
    named = [name for name, count in beyond.items() if 2 * count >= points[name]]
    named.sort(key=lambda name: (-beyond[name] / points[name], -far[name]))
    return named[:MOST_NAMED]


def _shared(picture: ChartSpec) -> list[str]:
    """The columns in which rows that are compared have the same text."""
    channels = picture.channels
    return [key for key in (channels.dash, channels.panel, channels.pick) if key]


def _groups(picture: ChartSpec, shared: list[str]) -> Groups:
    """The series and values at each place."""
    place = _places(picture)
    groups: Groups = defaultdict(list)
    for row in picture.frame.records():
        y = row[picture.y]
        if isinstance(y, (int, float)):
            key = (place(row[picture.x]), *(row[one] for one in shared))
            groups[key].append((str(row[picture.channels.color]), float(y)))
    return groups


def _places(picture: ChartSpec) -> Callable[[Value], Value]:
    xs = {row[picture.x] for row in picture.frame.records()}
    if len(xs) <= MOST_PLACES or picture.x_scale == "names":
        return lambda x: x
    numbers = [float(x or 0) for x in xs]
    least, most = min(numbers), max(numbers)
    step = (most - least) / MOST_PLACES

    def place(x: Value) -> Value:
        number = min(int((float(x or 0) - least) / step), MOST_PLACES - 1)
        return least + (number + 0.5) * step

    return place
