"""Rows and specifications as the JSON that the page holds.

Columns stand one by one; the texts of a column are listed once.
"""

from __future__ import annotations

import json
import string
from typing import Any

from msgspec.structs import asdict

from ioplan.results.report.build import Document
from ioplan.results.report.documents import ChartSpec, Frame
from ioplan.results.report.html.palette import COLORS, GREY
from ioplan.results.report.html.spread import (
    far_off,
    has_many_series,
    modes,
    spread_frame,
)

UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}
"""What could end a script element, or begin a comment in it."""
LETTERS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"
MOST_TEXTS = len(LETTERS) ** 2


def picture_json(picture: ChartSpec) -> str:
    """One chart with its rows, and the ways to draw them."""
    more = {name: getattr(picture, name) for name in ("overlay", "limits", "phases")}
    spread = None
    if has_many_series(picture) and picture.marks.can_spread:
        series = picture.frame.column(picture.channels.color).order
        spread = {
            "rows": _frame(spread_frame(picture)),
            "far": far_off(picture),
            "count": len(series),
        }
    return safe(
        {
            "kind": picture.kind,
            "title": picture.title,
            "line": picture.line,
            "axes": {"x": picture.x, "y": picture.y},
            "modes": modes(picture),
            "rows": _frame(picture.frame),
            "spread": spread,
            **{name: _frame(rows) if rows else None for name, rows in more.items()},
        }
    )


def runs_json(frame: Frame) -> str:
    return safe({"rows": _frame(frame)})


def about_json(document: Document) -> str:
    """What all pictures of the page have in common, and where they come from."""
    sources = [asdict(source) for source in document.sources]
    colors = [color._asdict() for color in COLORS]
    palette = {"colors": colors, "grey": GREY._asdict()}
    plan = document.screen.title
    return safe({"plan": plan, "sources": sources, "palette": palette})


def safe(value: Any) -> str:
    """JSON that may stand in a script element, whatever texts are in it."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    for sign, written in UNSAFE.items():
        text = text.replace(sign, written)
    return text


def _frame(frame: Frame) -> dict[str, Any]:
    return {
        "columns": [asdict(column) for column in frame.columns],
        "data": [
            _data(column.unit, [row[at] for row in frame.rows])
            for at, column in enumerate(frame.columns)
        ],
    }


def _data(unit: str, values: list[Any]) -> Any:
    """The values; or each once, and the place of each row's in one letter or two."""
    distinct = list(dict.fromkeys(values))
    if len(distinct) > MOST_TEXTS:
        return values
    place = {value: number for number, value in enumerate(distinct)}
    pairs = [divmod(place[value], len(LETTERS)) for value in values]
    is_wide = len(distinct) > len(LETTERS)
    at = "".join(LETTERS[high] * is_wide + LETTERS[low] for high, low in pairs)
    if unit != "text" and len(at) + len(str(distinct)) >= len(str(tuple(values))):
        return values
    return {"texts": distinct, "at": at}
