"""Ways of drawing many series: together, one panel each, or as median and band.

The page chooses by how many are shown: up to MOST_TOGETHER together, more apart, and
very many sessions as their spread. Each way is a specification of the same rows.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import asdict, replace

from ioplan.results.report.charts.axis import axis_title
from ioplan.results.report.document import Channels, ChartSpec
from ioplan.results.report.html.axes import Spec
from ioplan.results.report.html.spec import spec
from ioplan.results.report.html.spread import spread_layers, with_median

MOST_TOGETHER = 8
PANEL_HEIGHT = 110


def modes(picture: ChartSpec) -> dict[str, dict[str, Any]]:
    """For each way its specification and its channels, the usual way first."""
    found = {"together": _mode(picture, spec(picture))}
    if not has_many_series(picture):
        return found
    channels = picture.channels
    if not (channels.panel and channels.pick):
        apart = _with(
            picture, panel=channels.color, pick=channels.pick or channels.panel
        )
        found["apart"] = _mode(apart, _apart(apart))
    is_of_sessions = picture.frame.column(channels.color).title == axis_title("session")
    if is_of_sessions and picture.marks.can_spread:
        plain = _with(picture, color="")
        found["spread"] = _mode(plain, spec(plain, spread_layers(picture)))
    return found


def has_many_series(picture: ChartSpec) -> bool:
    """Whether there are more than can be told apart in one plot."""
    key = picture.channels.color
    many = bool(key) and len(picture.frame.column(key).order) > MOST_TOGETHER
    return many and picture.marks.can_part


def _with(picture: ChartSpec, **channels: str) -> ChartSpec:
    changed: Channels = replace(picture.channels, **channels)
    return replace(picture, channels=changed)


def _mode(picture: ChartSpec, made: Spec | None) -> dict[str, Any]:
    return {"spec": made, "channels": asdict(picture.channels)}


def _apart(picture: ChartSpec) -> Spec | None:
    """Small panels, each with the median of all behind it."""
    made = spec(picture, with_median(picture))
    if made:
        made["spec"]["height"] = PANEL_HEIGHT
    return made
