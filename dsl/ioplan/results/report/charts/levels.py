"""Whether the levels of a series are those of the drive."""

from __future__ import annotations

from ioplan.results.report.points import Point


def is_steered(point: Point) -> bool:
    """Whether the plan changes the load within the series, or it is of several runs."""
    streams = point.counted[-1].asked.workload.streams
    return len(point.counted) > 1 or any(
        (one.rate and one.rate.changes) or one.starts_ns or one.ends_ns
        for one in streams
    )
