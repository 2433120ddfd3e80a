"""The value of a metric in one interval of a run."""

from __future__ import annotations

from collections.abc import Callable

from ioplan.language.metric import Metric
from ioplan.results.record import Interval
from ioplan.results.tally import READ_WRITE, moved
from ioplan.results.telemetry import TelemetryPoint
from ioplan.runner.figures import PER

READ: dict[str, Callable[[TelemetryPoint], float | None]] = {
    "system_cpu": lambda found: found.system_cpu_percent,
    "stack_cpu": lambda found: found.stack_cpu_percent,
    "cpu": lambda found: found.generator_cpu_percent,
    "watts": lambda found: found.watts,
    "temperature": lambda found: found.temperature_celsius,
}
"""What the telemetry has of an interval."""


def metric_at(
    metric: Metric, point: Interval, readings: TelemetryPoint | None = None
) -> float | None:
    """The metric, or None where the series does not have it.

    As in the record, I/Os and bytes are those of reads and writes; trims count only
    where they are asked for.
    """
    if metric.stream:
        return None  # the series is of all streams together
    if metric.name in READ:
        return READ[metric.name](readings) if readings else None
    if metric.name in PER:
        return _per(metric, point, readings)
    amounts = {"iops": point.ios, "bandwidth": point.bytes}
    if metric.name in amounts:
        asked = (metric.direction,) if metric.direction else READ_WRITE
        amount = moved(amounts[metric.name], asked)
        return amount / point.length_s if point.length_s else None
    if metric.direction:
        return None  # latencies are of reads and writes together
    kept = {
        "errors": float(point.errors),
        "mean": point.mean_ns,
        "max": float(point.max_ns),
        "p50": point.p50_ns,
        "p99": point.p99_ns,
        "p99.9": point.p99_9_ns,
    }
    return kept.get(metric.name)


def _per(
    metric: Metric, point: Interval, readings: TelemetryPoint | None
) -> float | None:
    """What is done for each percent of one CPU, or for each watt."""
    rate, used = (metric_at(Metric(name=n), point, readings) for n in PER[metric.name])
    return rate / used if used and rate is not None else None
