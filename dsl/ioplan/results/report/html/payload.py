"""Rows and specifications as the JSON that the page holds.

Columns stand one by one; the texts of a column are listed once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from msgspec.structs import asdict

from ioplan.results.report.answers.load import Measured
from ioplan.results.report.answers.wording import details
from ioplan.results.report.document import ChartSpec, Column, Document, Frame, Value
from ioplan.results.report.html.modes import modes

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
    named = {"plan": document.title, "simulated": document.simulated}
    return safe({**named, "sources": sources})


def loads_json(found: Sequence[Measured]) -> str:
    """What the page answers questions from, a row for each load."""
    return safe(
        [
            {
                "label": one.label,
                "kind": f"{one.pattern} {one.size}",
                "reads": one.load.read_percent,
                "where": one.load.where,
                "qd": 0 if one.load.rate else one.load.depth,
                "iops": one.load.iops,
                "latency": dict(one.load.latencies_ns),
                "against": [*details(one.load)],
            }
            for one in found
        ]
    )


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
        **({"digits": column.digits} if column.digits else {}),
    }


def _data(column: Column, values: tuple[Value, ...]) -> Any:
    if column.unit != "text":
        return list(values)
    texts = list(dict.fromkeys(values))
    place = {text: number for number, text in enumerate(texts)}
    return {"texts": texts, "at": [place[value] for value in values]}
