"""The counts of a test's runs as the page holds them: JSON, deflated, in base64.

The page adds up those of a stretch and makes the figures of it, as `measure.stretch`
does for the terminal.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from typing import Any

from ioplan.job import SECOND_NS
from ioplan.results.measure.interval_counts import Slice
from ioplan.results.report.curve import Curve

SUMS = ("ios", "bytes", "errors", "min_ns", "max_ns", "sum_ns")


def counts_text(found: Sequence[Curve]) -> str:
    """All curves of a test; empty without any. Raises IntervalsDamaged."""
    if not found:
        return ""
    text = json.dumps([_curve(one) for one in found], separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def _curve(one: Curve) -> dict[str, Any]:
    return {
        "label": one.label,
        "rows": one.rows,
        "slices": [
            _slice(start_s, part) for start_s, counts in one.runs for part in counts
        ],
    }


def _slice(start_s: float, part: Slice) -> list[Any]:
    """When it begins in the charts' time in s, its length in ns, and its cells: stream,
    direction, sums, and pairs of bucket and count."""
    cells = [
        [*key, [getattr(counts, name) for name in SUMS], histogram.flat()]
        for key, (counts, histogram) in part.cells.items()
    ]
    begin_s = round(start_s + part.begin_ns / SECOND_NS, 6)
    return [begin_s, part.end_ns - part.begin_ns, cells]
