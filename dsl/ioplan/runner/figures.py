"""The value of a metric over one run or over several runs of one cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Protocol

from ioplan.language.metric import Metric
from ioplan.results.histogram import Histogram
from ioplan.results.record import BEYOND, DirectionResult, RunDetail, StreamResult
from ioplan.workload import Direction


class Measured(Protocol):
    """What a metric needs of a run: a record has it, and a part of a run."""

    @property
    def run_s(self) -> float: ...
    @property
    def cpu_percent(self) -> float: ...
    @property
    def total(self) -> DirectionResult: ...
    @property
    def directions(self) -> dict[Direction, DirectionResult]: ...
    @property
    def streams(self) -> tuple[StreamResult, ...]: ...


@dataclass(frozen=True)
class Sample:
    """A run, or a part of one, with its histograms."""

    record: Measured
    detail: RunDetail


@dataclass(frozen=True)
class Figure:
    """A value, or why there is none that can be believed."""

    value: float | None
    why: str = ""


def figure(metric: Metric, samples: Sequence[Sample]) -> Figure:
    """The metric over all samples together: sums are added, histograms merged."""
    if metric.name in ("watts", "iops_per_watt", "temperature"):
        return Figure(None, "nothing measured it")
    if metric.percent is not None:
        return _percentile(metric, samples)
    if metric.name in ("cpu", "iops_per_cpu"):
        return _cpu(metric, samples)
    results = [r for sample in samples for r in scoped(metric, sample.record)]
    if metric.name == "errors":
        return Figure(float(sum(result.errors for result in results)))
    if metric.name in ("iops", "bandwidth"):
        return _rate(metric, samples)
    return _latency(metric.name, results)


def scoped(metric: Metric, record: Measured) -> list[DirectionResult]:
    """The results that a metric looks at: a stream, a direction, both or all."""
    parts = [
        (stream.total, stream.directions)
        for stream in record.streams
        if metric.stream in (None, stream.name)
    ]
    if metric.stream is None:
        parts = [(record.total, record.directions)]
    if metric.direction is None:
        return [total for total, _ in parts]
    return [found[metric.direction] for _, found in parts if metric.direction in found]


def _rate(metric: Metric, samples: Sequence[Sample]) -> Figure:
    """I/Os or bytes of all runs over the time of all runs."""
    run_s = sum(sample.record.run_s for sample in samples)
    if not run_s:
        return Figure(None, "nothing was measured")
    results = [r for sample in samples for r in scoped(metric, sample.record)]
    amount = sum(r.ios if metric.name == "iops" else r.bytes for r in results)
    return Figure(amount / run_s)


def _cpu(metric: Metric, samples: Sequence[Sample]) -> Figure:
    run_s = sum(sample.record.run_s for sample in samples)
    if not run_s:
        return Figure(None, "nothing was measured")
    used = sum(s.record.cpu_percent * s.record.run_s for s in samples) / run_s
    if metric.name == "cpu":
        return Figure(used)
    iops = _rate(metric.model_copy(update={"name": "iops"}), samples).value or 0.0
    return Figure(iops / used) if used else Figure(None, "no CPU time was measured")


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
        ios * (latency.stddev_ns**2 + latency.mean_ns**2) for ios, latency in parts
    )
    return Figure(sqrt(max(0.0, squares / total - mean**2)))


def _percentile(metric: Metric, samples: Sequence[Sample]) -> Figure:
    histogram = merged(metric, samples)
    percent = metric.percent
    assert percent is not None
    if histogram is None or not histogram.total:
        return Figure(None, "no I/O completed")
    if histogram.beyond(percent) < BEYOND:
        needed = round(BEYOND / (1 - percent / 100))
        return Figure(None, f"needs {needed:_} I/Os, had {histogram.total:_}")
    return Figure(histogram.percentile_ns(percent))


def merged(metric: Metric, samples: Sequence[Sample]) -> Histogram | None:
    """The histograms that a metric looks at, added up. Trims only if asked for."""
    found = [
        Histogram.of(stored.bins, stored.bits)
        for sample in samples
        for stored in sample.detail.histograms
        if metric.stream in (None, stored.stream)
        and _wanted(stored.direction, metric.direction)
    ]
    if not found:
        return None
    whole = found[0]
    for part in found[1:]:
        whole = whole + part
    return whole


def _wanted(direction: str, asked: str | None) -> bool:
    return direction == asked if asked else direction != "trim"
