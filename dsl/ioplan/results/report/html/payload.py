"""Rows and specifications as the JSON that the page holds.

Columns stand one by one; the texts of a column are listed once.
"""

from __future__ import annotations

import json
import string
from typing import Any

from msgspec.structs import asdict, replace

from ioplan.results.report.charts.axis import axis_title
from ioplan.results.report.documents import (
    Channels,
    ChartSpec,
    Column,
    Document,
    Frame,
    Value,
)
from ioplan.results.report.html.layers import Spec
from ioplan.results.report.html.palette import COLORS, GREY
from ioplan.results.report.html.spec import spec
from ioplan.results.report.html.spread import (
    far_off,
    spread_frame,
    spread_layers,
    with_median,
)

# Ways of drawing many series: together, one panel each, or as median and band.
#
# The page chooses by how many are shown: up to MOST_TOGETHER together, more apart,
# and very many sessions as their spread. Each way is a specification of the same
# rows.

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


def _spread(picture: ChartSpec) -> dict[str, Any] | None:
    """What the ways of drawing many series share; None of few."""
    if not has_many_series(picture) or not picture.marks.can_spread:
        return None
    count = len(picture.frame.column(picture.channels.color).order)
    return {
        "rows": _frame(spread_frame(picture)),
        "far": far_off(picture),
        "count": count,
    }


UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}
"""What could end a script element, or begin a comment in it."""


def picture_json(picture: ChartSpec) -> str:
    """One chart with its rows, and the ways to draw them."""
    found: dict[str, Any] = {
        "kind": picture.kind,
        "title": picture.title,
        "line": picture.line,
        "axes": {"x": picture.x, "y": picture.y},
        "modes": modes(picture),
        "rows": _frame(picture.frame),
        "spread": _spread(picture),
        "overlay": _frame(picture.overlay) if picture.overlay else None,
        "limits": _frame(picture.limits) if picture.limits else None,
        "phases": _frame(picture.phases) if picture.phases else None,
    }
    return safe(found)


def runs_json(frame: Frame) -> str:
    """The table of a test."""
    return safe({"rows": _frame(frame)})


def about_json(document: Document) -> str:
    """What all pictures of the page have in common, and where they come from."""
    sources = [asdict(source) for source in document.sources]
    named = {"plan": document.screen.title, "caveat": document.screen.badge}
    colors = [one._asdict() for one in COLORS]
    palette = {"colors": colors, "grey": GREY._asdict()}
    return safe({**named, "sources": sources, "palette": palette})


def safe(value: Any) -> str:
    """JSON that may stand in a script element, whatever texts are in it."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    for sign, written in UNSAFE.items():
        text = text.replace(sign, written)
    return text


def _frame(frame: Frame) -> dict[str, Any]:
    columns = list(zip(*frame.rows, strict=True)) or [()] * len(frame.columns)
    return {
        "columns": [_column(column) for column in frame.columns],
        "data": [
            _data(column, values)
            for column, values in zip(frame.columns, columns, strict=True)
        ],
    }


def _column(column: Column) -> dict[str, Any]:
    return {
        "key": column.key,
        "title": column.title,
        "unit": column.unit,
        "order": list(column.order),
    }


LETTERS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"
MOST_TEXTS = len(LETTERS) ** 2


def _data(column: Column, values: tuple[Value, ...]) -> Any:
    """The values; or each once, and the place of each row's in one letter or two."""
    each = list(dict.fromkeys(values))
    if len(each) > MOST_TEXTS:
        return list(values)
    place = {value: number for number, value in enumerate(each)}
    pairs = [divmod(place[value], len(LETTERS)) for value in values]
    is_wide = len(each) > len(LETTERS)
    at = "".join(LETTERS[high] * is_wide + LETTERS[low] for high, low in pairs)
    if column.unit != "text" and len(at) + len(str(each)) >= len(str(values)):
        return list(values)
    return {"texts": each, "at": at}
