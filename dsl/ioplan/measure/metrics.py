"""The value of a metric over one run or over several runs of one cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import sqrt
from typing import NamedTuple, Protocol

from ioplan.language.metric import Metric
from ioplan.measure.histogram import Histogram
from ioplan.measure.tally import clamp
from ioplan.measure.wear import WEAR_METRICS, wear_value
from ioplan.records.record import BEYOND, DirectionResult, RunDetail, StreamResult
from ioplan.records.telemetry import Telemetry
from ioplan.workload import DIRECTIONS, Direction


class Measured(Protocol):
    """What a metric needs of a run: a record has it, and a part of a run."""

    @property
    def run_s(self) -> float: ...
    @property
    def cpu_percent(self) -> float | None: ...
    @property
    def telemetry(self) -> Telemetry | None: ...
    @property
    def total(self) -> DirectionResult: ...
    @property
    def directions(self) -> dict[Direction, DirectionResult]: ...
    @property
    def streams(self) -> tuple[StreamResult, ...]: ...


TELEMETRY_METRICS: dict[str, Callable[[Telemetry], float | None]] = {
    "system_cpu": lambda found: found.system_cpu_percent,
    "stack_cpu": lambda found: found.stack_cpu_percent,
    "watts": lambda found: found.watts,
    "temperature": lambda found: found.temperature_max_celsius,
}
"""Metrics that are read from telemetry."""
RATIO_METRICS = {
    "iops_per_cpu": ("iops", "cpu"),
    "iops_per_system_cpu": ("iops", "system_cpu"),
    "iops_per_stack_cpu": ("iops", "stack_cpu"),
    "iops_per_watt": ("iops", "watts"),
    "bandwidth_per_watt": ("bandwidth", "watts"),
}
"""One metric over another."""


class Sample(NamedTuple):
    """A run, or a part of one, with its histograms."""

    record: Measured
    detail: RunDetail


class Figure(NamedTuple):
    """A value, or why there is none that can be believed."""

    value: float | None
    why: str = ""


def figure(metric: Metric, samples: Sequence[Sample]) -> Figure:
    """The metric over all samples together: sums are added, histograms merged."""
    if metric.step:
        samples = [one for one in samples if step_name(one.record) == metric.step]
    if metric.sought:
        return _found(metric, samples)
    if metric.name in TELEMETRY_METRICS:
        return _telemetry(metric, samples)
    if metric.name in WEAR_METRICS:
        return _wear(metric, samples)
    if metric.percent is not None:
        return _percentile(metric, samples)
    if metric.name == "cpu":
        return _cpu(samples)
    if metric.name in RATIO_METRICS:
        return _ratio(metric, samples)
    if metric.name == "errors":
        return _errors(metric, samples)
    if metric.name == "verified":
        return _verified(metric, samples)
    if metric.name in ("iops", "bandwidth"):
        return _rate(metric, samples)
    return _latency(metric.name, all_scoped(metric, samples))


def step_name(record: Measured) -> str:
    """The name of the step that a run is of; a part of a run knows none."""
    asked = getattr(record, "asked", None)
    return asked.name if asked else ""


def _found(metric: Metric, samples: Sequence[Sample]) -> Figure:
    """What a seek has found."""
    found = getattr(samples[-1].record, "found", None) if samples else None
    if found is None or found.axis != metric.name:
        return Figure(None, f"no {metric.name} was sought")
    return Figure(found.value, found.nothing)


def scoped(metric: Metric, record: Measured) -> list[DirectionResult]:
    """The results that a metric looks at: a stream, a direction, both or all."""
    parts = _parts(metric, record)
    if metric.direction is None:
        return [part.total for part in parts]
    found = [part.directions.get(metric.direction) for part in parts]
    return [result for result in found if result]


def _parts(metric: Metric, record: Measured) -> Sequence[Measured | StreamResult]:
    """The run, or that stream of it which the metric names."""
    if metric.stream is None:
        return (record,)
    return [stream for stream in record.streams if stream.name == metric.stream]


def all_scoped(metric: Metric, samples: Sequence[Sample]) -> list[DirectionResult]:
    """The same of several runs."""
    return [r for sample in samples for r in scoped(metric, sample.record)]


def _errors(metric: Metric, samples: Sequence[Sample]) -> Figure:
    """Unlike all other figures, of trims as well."""
    wanted = [metric.direction] if metric.direction else DIRECTIONS
    parts = [part for sample in samples for part in _parts(metric, sample.record)]
    found = (part.directions.get(one) for part in parts for one in wanted)
    return Figure(float(sum(result.errors for result in found if result)))


def _verified(metric: Metric, samples: Sequence[Sample]) -> Figure:
    """What was found right of all that streams with `verify` read."""
    verified, read = 0, 0
    for sample in samples:
        parts = verified_of_read_bytes(sample.record.streams, metric.stream)
        verified, read = verified + parts[0], read + parts[1]
    if not read or metric.direction not in (None, "read"):
        return Figure(None, "nothing was verified")
    return Figure(100 * verified / read)


def verified_of_read_bytes(
    streams: Sequence[StreamResult], only: str | None = None
) -> tuple[int, int]:
    """What was found right, and what was read, of the streams that verify.

    A run with a stream that verifies nothing of what it reads has failed.
    """
    found = [
        (one.verified_bytes, one.directions["read"].bytes)
        for one in streams
        if only in (None, one.name) and "read" in one.directions
        if one.verified_bytes or one.verify_errors
    ]
    return sum(one for one, _ in found), sum(read for _, read in found)


def _rate(metric: Metric, samples: Sequence[Sample]) -> Figure:
    """I/Os or bytes of all runs over the time of all runs."""
    run_s = sum(_time_s(metric.stream, sample.record) for sample in samples)
    if not run_s:
        return Figure(None, "nothing was measured")
    results = all_scoped(metric, samples)
    amount = sum(r.ios if metric.name == "iops" else r.bytes for r in results)
    if not amount and not metric.direction and _trimmed(metric, samples):
        return Figure(None, f"nothing but discards, which are trim.{metric.name}")
    return Figure(amount / run_s)


def _trimmed(metric: Metric, samples: Sequence[Sample]) -> bool:
    parts = (part for one in samples for part in _parts(metric, one.record))
    trims = (part.directions.get("trim") for part in parts)
    return any(one.ios for one in trims if one)


def _time_s(stream: str | None, record: Measured) -> float:
    """A stream's own time, where it is known."""
    own = (one.run_s for one in record.streams if one.name == stream)
    return next(own, None) or record.run_s


def _cpu(samples: Sequence[Sample]) -> Figure:
    run_s = sum(sample.record.run_s for sample in samples)
    if not run_s:
        return Figure(None, "nothing was measured")
    used = [(s.record.cpu_percent, s.record.run_s) for s in samples]
    known = [percent * time_s for percent, time_s in used if percent is not None]
    if len(known) < len(used):
        return Figure(None, "nothing measured it")
    return Figure(sum(known) / run_s)


def _telemetry(metric: Metric, samples: Sequence[Sample]) -> Figure:
    """The mean over the time of all runs; of temperatures the highest."""
    runs = [sample.record for sample in samples if sample.record.run_s]
    read = TELEMETRY_METRICS[metric.name]
    found = [read(one.telemetry) if one.telemetry else None for one in runs]
    known = [value for value in found if value is not None]
    if not known or len(known) < len(runs):
        return Figure(None, "nothing measured it")
    if metric.name == "temperature":
        return Figure(max(known))
    run_s = [one.run_s for one in runs]
    return Figure(sum(v * s for v, s in zip(known, run_s, strict=True)) / sum(run_s))


def _wear(metric: Metric, samples: Sequence[Sample]) -> Figure:
    """Of all runs together; a part of a run has no log of its own."""
    runs = [getattr(sample.record, "wear", None) for sample in samples]
    found = wear_value(metric.name, runs)
    return Figure(None, found) if isinstance(found, str) else Figure(found)


def _ratio(metric: Metric, samples: Sequence[Sample]) -> Figure:
    """One metric for each percent of one CPU, or for each watt."""
    numerator, denominator = RATIO_METRICS[metric.name]
    used = figure(Metric(name=denominator), samples)
    if used.value is None:
        return used
    if not used.value:
        return Figure(None, "no CPU time was measured")
    rate = _rate(Metric(name=numerator), samples).value or 0.0
    return Figure(rate / used.value)


def _latency(name: str, results: Iterable[DirectionResult]) -> Figure:
    parts = [(r.ios, r.latency) for r in results if r.latency and r.ios]
    if not parts:
        return Figure(None, "no I/O completed")
    total = sum(ios for ios, _ in parts)
    mean = sum(ios * latency.mean_ns for ios, latency in parts) / total
    if name == "mean":
        return Figure(mean)
    if name == "min":
        return Figure(float(min(latency.min_ns for _, latency in parts)))
    if name == "max":
        return Figure(float(max(latency.max_ns for _, latency in parts)))
    squares = sum(
        ios * (latency.stddev_ns**2 + (latency.mean_ns - mean) ** 2)
        for ios, latency in parts
    )
    return Figure(sqrt(squares / total))


def _percentile(metric: Metric, samples: Sequence[Sample]) -> Figure:
    histogram = merged(metric, samples)
    percent = metric.percent
    assert percent is not None
    if not histogram.total:
        return _summarised(metric, samples)
    if histogram.beyond(percent) < BEYOND:
        needed = round(BEYOND / (1 - percent / 100))
        return Figure(None, f"needs {needed:_} I/Os, had {histogram.total:_}")
    found = [r.latency for r in all_scoped(metric, samples) if r.latency]
    low_ns = min(latency.min_ns for latency in found)
    high_ns = max(latency.max_ns for latency in found)
    return Figure(clamp(histogram.percentile_ns(percent), low_ns, high_ns))


def _summarised(metric: Metric, samples: Sequence[Sample]) -> Figure:
    """Of a run without a histogram, a percentile that its record has as it is."""
    found = [result.latency for result in all_scoped(metric, samples) if result.latency]
    parts = [p for sample in samples for p in sample.record.directions.values()]
    has_any = any(part.latency and part.latency.percentiles for part in parts)
    if not found or not has_any:
        return Figure(None, "no latency was counted")
    same = [p for one in found for p in one.percentiles if p.percent == metric.percent]
    if len(found) > 1 or not same:
        return Figure(None, "only a summary is known, and no histogram")
    (percentile,) = same
    if not percentile.supported:
        return Figure(None, "too few I/Os lie beyond it")
    return Figure(percentile.latency_ns)


def merged(metric: Metric, samples: Sequence[Sample]) -> Histogram:
    """The sum of the histograms in a metric's scope; trims only if it names them."""
    return Histogram.merged(
        Histogram.of(stored.bins, stored.bits)
        for sample in samples
        for stored in sample.detail.histograms
        if metric.stream in (None, stored.stream)
        and _in_scope(stored.direction, metric.direction)
    )


def _in_scope(direction: str, wanted: str | None) -> bool:
    return direction == wanted if wanted else direction != "trim"
