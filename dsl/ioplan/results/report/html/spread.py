"""Many series: a panel each, or their median, the middle of them, and outliers by name.

The page chooses by how many are shown: up to MOST_TOGETHER together, more apart, and
very many sessions as their spread. Each way is a specification of the same rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from statistics import fmean
from typing import Any

import numpy as np
from msgspec.structs import asdict, replace

from ioplan.results.report.charts.axis import axis_title
from ioplan.results.report.documents import ChartSpec, Column, Frame, Value
from ioplan.results.report.html.layers import Spec, median_layers, spread_layers
from ioplan.results.report.html.spec import spec

MOST_TOGETHER = 8
PANEL_HEIGHT = 110


def modes(picture: ChartSpec) -> dict[str, dict[str, Any]]:
    """For each way its specification and its channels, the usual way first."""
    ways = {"together": _mode(picture, spec(picture))}
    if not has_many_series(picture):
        return ways
    channels = picture.channels
    if not (channels.panel and channels.pick):
        pick = channels.pick or channels.panel
        own = replace(channels, panel=channels.color, pick=pick)
        apart = replace(picture, channels=own)
        if panels := spec(apart, median_layers(apart)):
            panels["spec"]["height"] = PANEL_HEIGHT
        ways["apart"] = _mode(apart, panels)
    is_of_sessions = picture.frame.column(channels.color).title == axis_title("session")
    if is_of_sessions and picture.marks.can_spread:
        plain = replace(picture, channels=replace(channels, color=""))
        ways["spread"] = _mode(plain, spec(plain, spread_layers(picture)))
    return ways


def _mode(picture: ChartSpec, drawn: Spec | None) -> dict[str, Any]:
    return {"spec": drawn, "channels": asdict(picture.channels)}


def has_many_series(picture: ChartSpec) -> bool:
    """Whether there are more than can be told apart in one plot."""
    key = picture.channels.color
    many = bool(key) and len(picture.frame.column(key).order) > MOST_TOGETHER
    return many and picture.marks.can_part


BAND = (0.1, 0.9)
FENCE = 1.5
"""Tukey's: so many interquartile ranges beyond the quartiles."""
MOST_NAMED = 6
MOST_PLACES = 200
"""Along x; intervals of many clocks have no instant in common, and are put together."""

Groups = dict[tuple[Value, ...], list[tuple[str, float]]]


def spread_frame(picture: ChartSpec) -> Frame:
    """At each place the median of all series, and the band that most of them are in."""
    rows = [
        (*place, *np.quantile([y for _, y in values], (0.5, *BAND)).tolist())
        for place, values in _groups(picture).items()
    ]
    if picture.x_scale != "names":
        rows.sort(key=lambda row: float(row[0]))
    keys = picture.x, *_shared(picture), picture.y
    columns = [picture.frame.column(key) for key in keys]
    ends = (Column(key, "", columns[-1].unit) for key in ("low", "high"))
    return Frame((*columns, *ends), rows)


def far_off(picture: ChartSpec) -> list[str]:
    """The series that lie beyond the fences at half of their points, the farthest
    first."""
    offs: dict[str, list[float]] = defaultdict(list)
    for values in _groups(picture).values():
        low, high = np.quantile([y for _, y in values], (0.25, 0.75)).tolist()
        reach = FENCE * (high - low)
        for name, y in values:
            off = max(low - reach - y, y - high - reach, 0.0)
            offs[name].append(off / ((high - low) or 1))
    shares = {name: fmean(off > 0 for off in offs[name]) for name in offs}
    named = [name for name, share in shares.items() if share >= 0.5]
    named.sort(key=lambda name: (-shares[name], -sum(offs[name])))
    return named[:MOST_NAMED]


def _shared(picture: ChartSpec) -> list[str]:
    """The columns in which rows that are compared have the same text."""
    channels = picture.channels
    return [key for key in (channels.dash, channels.panel, channels.pick) if key]


def _groups(picture: ChartSpec) -> Groups:
    place, shared = _places(picture), _shared(picture)
    groups: Groups = defaultdict(list)
    for row in picture.frame.records():
        y = row[picture.y]
        if isinstance(y, (int, float)):
            key = (place(row[picture.x]), *(row[column] for column in shared))
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
