"""A run over time in a few characters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ioplan.core.units import BARS, bars
from ioplan.language.metric import Metric
from ioplan.records.record import Interval
from ioplan.results.report.charts.over_time import metric_at

WIDTH = 8
FEWEST = 3
IOPS = Metric(name="iops")


def sparkline(series: Sequence[Interval]) -> str:
    """IOPS over time, from 0 to the largest; empty for fewer than three intervals."""
    values = [metric_at(IOPS, interval) or 0.0 for interval in series]
    if len(values) < FEWEST:
        return ""
    means = _means(values, min(WIDTH, len(values)))
    return bars(means) if max(means) else ""


def level_line(values: Sequence[float], low: float, high: float, width: int) -> str:
    """Values from `low` to `high` in so many characters at most."""
    means = _means(values, min(width, len(values)))
    reach = high - low
    shares = ((value - low) / reach if reach else 0.5 for value in means)
    return "".join(BARS[1 + round(share * (len(BARS) - 2))] for share in shares)


def _means(values: Sequence[float], width: int) -> list[float]:
    """The means of so many parts, as equal as can be."""
    edges = [round(n * len(values) / width) for n in range(width + 1)]
    parts = [values[a:b] for a, b in pairwise(edges)]
    return [sum(part) / len(part) for part in parts]
