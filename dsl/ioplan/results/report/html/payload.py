"""Rows and specifications as the JSON that the page holds.

Columns stand one by one; the texts of a column are listed once.
"""

from __future__ import annotations

import json
import string
from collections import defaultdict
from statistics import fmean
from typing import Any

import numpy as np
from msgspec.structs import asdict

from ioplan.results.report.build import Document
from ioplan.results.report.documents import ChartSpec, Column, Frame, Value
from ioplan.results.report.html.palette import COLORS, GREY
from ioplan.results.report.html.spec import has_many_series, modes

UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}
"""What could end a script element, or begin a comment in it."""
LETTERS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"
MOST_TEXTS = len(LETTERS) ** 2


def picture_json(picture: ChartSpec) -> str:
    more = {name: getattr(picture, name) for name in ("overlay", "limits", "phases")}
    is_spread = has_many_series(picture) and picture.marks.can_spread
    return safe(
        {
            "kind": picture.kind,
            "title": picture.title,
            "axes": {"x": picture.x, "y": picture.y},
            "modes": modes(picture),
            "rows": _frame(picture.frame),
            "spread": _spread(picture) if is_spread else None,
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
    columns = zip(*frame.rows, strict=True) if frame.rows else [()] * len(frame.columns)
    return {
        "columns": [asdict(column) for column in frame.columns],
        "data": [
            _data(column.unit, values)
            for column, values in zip(frame.columns, columns, strict=True)
        ],
    }


def _data(unit: str, values: tuple[Value, ...]) -> Any:
    """The values; or each once, and the place of each row's in one letter or two."""
    distinct = list(dict.fromkeys(values))
    if len(distinct) > MOST_TEXTS:
        return values
    wide = len(distinct) > len(LETTERS)
    codes = {
        value: LETTERS[at // len(LETTERS)] * wide + LETTERS[at % len(LETTERS)]
        for at, value in enumerate(distinct)
    }
    at = "".join(map(codes.__getitem__, values))
    if unit != "text" and len(at) + len(str(distinct)) >= len(str(values)):
        return values
    return {"texts": distinct, "at": at}


# Many series as their median, the middle of them, and outliers by name.

BAND = (0.1, 0.9)
FENCE = 1.5
"""Tukey's: so many interquartile ranges beyond the quartiles."""
MOST_NAMED = 6
MOST_PLACES = 200
"""Along x; intervals of many clocks have no instant in common, and are put together."""


def _spread(picture: ChartSpec) -> dict[str, Any]:
    """At each place the median of all series, and the band that most of them are in;
    and those that lie beyond the fences at half of their points, the farthest first."""
    channels, places = picture.channels, _places(picture)
    shared = [key for key in (channels.dash, channels.panel, channels.pick) if key]
    groups = defaultdict[tuple[Value, ...], list[tuple[str, float]]](list)
    for row in picture.frame.records():
        y = row[picture.y]
        if isinstance(y, (int, float)):
            key = (places[row[picture.x]], *(row[column] for column in shared))
            groups[key].append((str(row[channels.color]), float(y)))
    rows, offs = [], defaultdict[str, list[float]](list)
    for key, values in groups.items():
        figures = [y for _, y in values]
        median, *band, low, high = np.quantile(
            figures, (0.5, *BAND, 0.25, 0.75)
        ).tolist()
        rows.append((*key, median, *band))
        reach = FENCE * (high - low)
        for name, y in values:
            off = max(low - reach - y, y - high - reach, 0.0)
            offs[name].append(off / ((high - low) or 1))
    if picture.x_scale != "names":
        rows.sort(key=lambda row: float(row[0]))
    shares = {name: fmean(off > 0 for off in own) for name, own in offs.items()}
    far = [name for name, share in shares.items() if share >= 0.5]
    far.sort(key=lambda name: (-shares[name], -sum(offs[name])))
    columns = [picture.frame.column(key) for key in (picture.x, *shared, picture.y)]
    ends = (Column(key, "", columns[-1].unit) for key in ("low", "high"))
    return {
        "rows": _frame(Frame((*columns, *ends), rows)),
        "far": far[:MOST_NAMED],
        "count": len(picture.frame.column(channels.color).order),
    }


def _places(picture: ChartSpec) -> dict[Value, Value]:
    """Where along x the values of each place are put together."""
    xs = list(dict.fromkeys(row[picture.x] for row in picture.frame.records()))
    if len(xs) <= MOST_PLACES or picture.x_scale == "names":
        return {x: x for x in xs}
    numbers = [float(x or 0) for x in xs]
    least, most = min(numbers), max(numbers)
    step = (most - least) / MOST_PLACES
    at = (min(int((number - least) / step), MOST_PLACES - 1) for number in numbers)
    return {x: least + (n + 0.5) * step for x, n in zip(xs, at, strict=True)}
