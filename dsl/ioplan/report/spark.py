"""A run's series in a few characters, for a column of a table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ioplan.language.metric import Metric
from ioplan.report.instant import metric_at
from ioplan.results.record import Interval

BARS = " ▁▂▃▄▅▆▇█"
WIDTH = 8
LEAST = 3
IOPS = Metric(name="iops")


def sparkline(series: Sequence[Interval]) -> str:
    """IOPS over time, from 0 to the largest; empty for fewer than three intervals."""
    values = [metric_at(IOPS, point) or 0.0 for point in series]
    if len(values) < LEAST:
        return ""
    shown = _shortened(values, min(WIDTH, len(values)))
    top = max(shown)
    return "".join(_bar(value / top) for value in shown) if top else ""


def _shortened(values: Sequence[float], width: int) -> list[float]:
    """The means of so many parts, as equal as can be."""
    edges = [round(n * len(values) / width) for n in range(width + 1)]
    parts = [values[a:b] for a, b in pairwise(edges)]
    return [sum(part) / len(part) for part in parts]


def _bar(share: float) -> str:
    """Only nothing at all is shown as nothing."""
    step = round(share * (len(BARS) - 1))
    return BARS[step if step or not share else 1]
