"""The value of a metric in one interval of a run."""

from __future__ import annotations

from collections.abc import Callable

from ioplan.language.metric import Metric
from ioplan.results.record import Interval
from ioplan.results.telemetry import TelemetryPoint

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
    """The metric, or None where the series does not have it."""
    if metric.stream:
        return None  # the series is of all streams together
    if metric.name in READ:
        return READ[metric.name](readings) if readings else None
    moved = {"iops": point.ios, "bandwidth": point.bytes}
    if metric.name in moved:
        parts = moved[metric.name]
        wanted = [v for d, v in parts.items() if metric.direction in (None, d)]
        return sum(wanted) / point.length_s if point.length_s else None
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
