"""The counts of a point's runs over time."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from ioplan.results.measure.interval_counts import IntervalCounts
from ioplan.workload import Direction, Phase


class CurveRow(NamedTuple):
    """A row of figures; without a direction of reads and writes together."""

    label: str
    direction: Direction | None
    stream: str | None


class CurveRun(NamedTuple):
    """When a run began, its counts, and the parts of it by stream."""

    start_s: float
    counts: IntervalCounts
    parts: dict[str, Phase]


class Curve(Struct, frozen=True):
    """A point's runs, each with when it began in the time of the charts, in s, and the
    parts of it that streams have.

    `rows` are those of its figures in a table.
    """

    label: str
    rows: tuple[CurveRow, ...]
    runs: tuple[CurveRun, ...]
