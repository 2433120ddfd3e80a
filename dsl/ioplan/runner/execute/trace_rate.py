"""The rate that the replayed traces of a run have themselves, beside its series."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from importlib import import_module

from msgspec.structs import replace

from ioplan.backends import BackendError
from ioplan.job import SECOND_NS, Job, JobStream
from ioplan.records.record import Interval
from ioplan.records.telemetry import TelemetryPoint
from ioplan.runner.telemetry.instruments import RunTelemetry


def with_trace_rate(
    telemetry: RunTelemetry, job: Job, series: Sequence[Interval]
) -> RunTelemetry:
    """The telemetry, with what the traces at recorded times have in each interval.

    It is counted after the run, which it must not disturb; a trace that is gone by
    then is a warning.
    """
    replays = [one for one in job.streams if one.replay and one.pace != "fast"]
    if not (replays and series):
        return telemetry
    try:
        rows = _counted(replays, series)
    except (BackendError, OSError) as error:
        text = f"the rate of the trace itself is not known: {error}"
        return replace(telemetry, warnings=(*telemetry.warnings, text))
    read = {point.t_s: point for point in telemetry.points}
    points = [
        read.get(one.t_s, TelemetryPoint(t_s=one.t_s, length_s=one.length_s))
        for one in series
    ]
    pairs = zip(points, rows, strict=True)
    made = tuple(point.model_copy(update=row) for point, row in pairs)
    return replace(telemetry, points=made)


def _counted(
    replays: Sequence[JobStream], series: Sequence[Interval]
) -> list[dict[str, float]]:
    """Of all these streams together, by interval."""
    own_rate = import_module("ioplan.job_replay").own_rate  # only these need numpy
    ends_ns = [round(one.t_s * SECOND_NS) for one in series]
    rows: list[Counter[str]] = [Counter() for _ in series]
    for stream in replays:
        for name, counts in own_rate(stream, ends_ns).items():
            for row, count in zip(rows, counts.tolist(), strict=True):
                row[name] += count
    return [dict(row) for row in rows]
