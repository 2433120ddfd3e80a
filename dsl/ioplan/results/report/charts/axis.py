"""Axes of the matrix as axes of a chart: titles, numbers, scales."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import ceil

from ioplan.language.clause_table import CLAUSES
from ioplan.language.quantity import Kind, QuantityError, parse_quantity
from ioplan.results.report.documents import Scale

TITLES = {
    **{clause.word: clause.title for clause in CLAUSES if clause.title},
    "session": "session",
    "metric": "figure",
}
UNITS: dict[Kind, str] = {
    "size": "size",
    "time": "ns",
    "share": "%",
    "mix": "%",
    "iops": "1/s",
    "bandwidth": "B/s",
    "passes": "",
    "number": "",
}
"""Units of a chart's columns, by the language's kinds."""
UNTITLED = ("", TITLES["session"], TITLES["metric"])
"""Values of these need no name before them."""
FAR = 10
"""Latencies that lie this far apart start on a logarithmic axis."""
WIDE = 12
"""From this ratio of the largest to the smallest value on, an axis starts as log."""


def axis_title(name: str) -> str:
    """What an axis is called in a chart; `reader.qd` is the queue depth of reader."""
    stream, _, field = name.rpartition(".")
    title = TITLES.get(field, field)
    return f"{title} of {stream}" if stream else title


def numbers(texts: Iterable[str]) -> tuple[dict[str, float], str] | None:
    """The numbers that an axis' values stand for, and their unit; None for names."""
    try:
        quantities = {text: parse_quantity(text) for text in dict.fromkeys(texts)}
    except QuantityError:
        return None
    units = {UNITS[quantity.kind] for quantity in quantities.values()}
    values = {text: quantity.value for text, quantity in quantities.items()}
    return (values, units.pop()) if len(units) == 1 else None


def in_order(texts: Iterable[str]) -> tuple[str, ...]:
    """Each value once: numbers by size, names as they come."""
    distinct = tuple(dict.fromkeys(texts))
    numbered = numbers(distinct)
    by_size = numbered and sorted(distinct, key=numbered[0].__getitem__)
    return tuple(by_size or distinct)


def scale_of(values: Iterable[float]) -> Scale:
    """Logarithmic where the values are far apart, or each the same multiple of the
    one before."""
    present = sorted(set(values))
    if not present or present[0] <= 0:
        return "linear"
    ratios = [after / before for before, after in pairwise(present)]
    is_wide = present[-1] / present[0] >= WIDE
    return "log" if is_wide or (len(ratios) > 1 and is_even(ratios)) else "linear"


def figures(values: Iterable[object]) -> list[float]:
    """Those that are numbers: what failed has none."""
    return [value for value in values if isinstance(value, (int, float))]


def is_even(steps: Sequence[float]) -> bool:
    return bool(steps) and max(steps) <= 1.01 * min(steps)


def latency_scale(values: Iterable[object]) -> Scale:
    """Latencies that lie far apart are seen on a logarithmic axis only."""
    positive = [value for value in figures(values) if value > 0]
    return "log" if positive and max(positive) >= FAR * min(positive) else "linear"


TIME_STEPS_S = (60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 43200)
DAY_S = 86400
LONG_S = 300
"""A time axis of at least so much has minutes or hours."""
MOST_TIMES = 7
NINES = (0, 0.30103, *range(1, 8))
"""Ticks of an axis on which each nine of a percentile takes the same room."""


def time_ticks(end_s: float) -> list[int]:
    """Whole minutes, hours or days, where powers of ten would be odd ones."""
    steps = (step for step in TIME_STEPS_S if end_s / step < MOST_TIMES)
    step = next(steps, ceil(end_s / MOST_TIMES / DAY_S) * DAY_S)
    return list(range(0, int(end_s) + step, step))
