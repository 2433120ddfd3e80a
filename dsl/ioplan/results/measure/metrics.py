"""Metrics of runs: `figure` is the only place that computes one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import sqrt
from operator import mul
from typing import Any, NamedTuple, Protocol

from ioplan.core.units import latency_text
from ioplan.job import SECOND_NS
from ioplan.language.metric import (
    SURVIVAL,
    THROTTLED,
    Metric,
    Recovery,
    percent_of,
)
from ioplan.records.record import (
    BEYOND,
    PERCENTILES,
    DirectionResult,
    EventMade,
    Percentile,
    RunDetail,
    StreamResult,
)
from ioplan.records.telemetry import Telemetry
from ioplan.results.measure.histogram import Histogram
from ioplan.results.measure.interval_counts import IntervalCounts, Slice, counts_of
from ioplan.results.measure.over_intervals import share_beyond, worst_second
from ioplan.results.measure.series_metrics import lost_ios, recoveries, throttled
from ioplan.results.measure.tally import READ_WRITE, Totals, clamp
from ioplan.results.measure.wear import WEAR_METRICS, wear_value
from ioplan.results.measure.zero_losses import nothing_shown, shows, verify_facts
from ioplan.workload import DIRECTIONS, FOREVER_NS, SYNCS, Direction, Phase, parts_of


class Measured(Protocol):
    """What every metric may read of a run; a part of a run has it as well."""

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


class Sample(NamedTuple):
    """A run, or a part of one, with its histograms."""

    record: Measured
    detail: RunDetail


class Figure(NamedTuple):
    """A value, or why there is none that can be believed, and what it is at least."""

    value: float | None
    why: str = ""
    at_least: float | None = None


NO_DETAIL = RunDetail()
"""That of a run which was not read yet."""
UNREAD = Figure(None, "the histograms were not read")
NOTHING = Figure(None, "nothing was measured")
UNMEASURED = Figure(None, "it was not measured")
WHOLE = 0.99
"""So much of an interval has to be in a stream's part of the run: clocks differ."""
LEAST_MISSING_NS = 50_000_000
"""So much earlier than planned a run may end for no reason."""


class Scope(NamedTuple):
    """What a metric looks at of some runs: a stream, a direction, a phase."""

    samples: Sequence[Sample]
    parts: Sequence[Measured] | Sequence[StreamResult]
    results: Sequence[DirectionResult]
    run_s: float


def scope_of(metric: Metric, samples: Sequence[Sample]) -> Scope:
    """`results` are those of each run or stream, `run_s` is the time of all runs."""
    name, direction = metric.stream, metric.direction
    if metric.step:
        samples = [sample for sample in samples if _counts(metric, sample.record)]
    if metric.phase:
        samples = [*_in_phase(metric.phase, samples)]
    runs = [run for run, _ in samples]
    parts = _streams(samples, name) if name else runs
    run_s = sum([_own_s(name, run) if name else run.run_s for run in runs])
    if direction is None:
        return Scope(samples, parts, [part.total for part in parts], run_s)
    results = [
        part.directions[direction] for part in parts if direction in part.directions
    ]
    return Scope(samples, parts, results, run_s)


def _streams(samples: Sequence[Sample], name: str | None) -> list[StreamResult]:
    """All streams of the runs, or those of one name."""
    return [
        stream
        for run, _ in samples
        for stream in run.streams
        if name is None or stream.name == name
    ]


def _counts(metric: Metric, record: Measured) -> bool:
    """Whether a run is of the metric's step; a part was chosen with its run."""
    asked = getattr(record, "asked", None)
    return asked is None or metric.counts(asked.name)


def _in_phase(name: str, samples: Sequence[Sample]) -> Iterator[Sample]:
    for record, detail in samples:
        if phase := getattr(record, "phases", {}).get(name):
            yield Sample(phase, detail)


def _own_s(name: str, run: Measured) -> float:
    """A stream's own time, where it is known."""
    own = (stream.run_s for stream in run.streams if stream.name == name)
    return next(own, None) or run.run_s


def figure(metric: Metric, samples: Sequence[Sample]) -> Figure:
    """The metric over all samples together: sums are added, histograms merged."""
    return figure_in(scope_of(metric, samples), metric)


def figure_in(scope: Scope, metric: Metric) -> Figure:
    """The figure in a scope that several metrics share."""
    if metric.by_interval:
        return over_intervals(metric, [_slices(metric, run) for run in scope.samples])
    if metric.phase and not scope.samples:
        return Figure(None, f"no I/O completed during {metric.phase}")
    if metric.phase and any(map(_is_cut_short, scope.samples)):
        return Figure(None, f"the run ended before {metric.phase} did")
    if metric.direction in SYNCS and not scope.results:
        return Figure(None, _no_syncs(metric, scope))
    compute = _sought if metric.sought else COMPUTED.get(metric.name, percentile)
    return compute(metric, scope)


def _is_cut_short(sample: Sample) -> bool:
    """Whether a run that was given less time has only a part of a phase."""
    when: Phase | None = getattr(sample.record, "when", None)
    if when is None or when.every_ns or when.start_ns + when.length_ns >= FOREVER_NS:
        return False
    missing_ns = when.length_ns - sample.record.run_s * SECOND_NS
    return missing_ns > max(LEAST_MISSING_NS, (1 - WHOLE) * when.length_ns)


def _no_syncs(metric: Metric, scope: Scope) -> str:
    if any(stream.sync_ios for stream in _streams(scope.samples, None)):
        return f"the backend does not measure the latency of a {metric.direction}"
    return "nothing was flushed"


# Intervals.


def _slices(metric: Metric, sample: Sample) -> list[Slice]:
    """A run's intervals; of a stream those of its part of the run."""
    workload = getattr(getattr(sample.record, "asked", None), "workload", None)
    parts = parts_of(workload.streams) if workload else {}
    slices = [*IntervalCounts(sample.detail.intervals)]
    return within(parts.get(metric.stream or ""), slices)


def within(part: Phase | None, slices: Sequence[Slice]) -> list[Slice]:
    """The intervals that lie in a stream's part of the run, all of them without one."""
    times = ((one, one.begin_ns, one.end_ns) for one in slices)
    return [
        one
        for one, begin, end in times
        if part is None or part.time_ns(begin, end) >= WHOLE * (end - begin)
    ]


def over_intervals(metric: Metric, runs: Sequence[Sequence[Slice]]) -> Figure:
    """A worst second, or a share of intervals. Raises IntervalsDamaged."""
    if not any(runs):
        return Figure(None, "no run has counts of its intervals")
    if metric.beyond:
        value = share_beyond(metric, metric.beyond, runs, _in_intervals)
    else:
        value = worst_second(metric, runs, _in_intervals)
    return Figure(None, value) if isinstance(value, str) else Figure(value)


def _in_intervals(metric: Metric, slices: Sequence[Slice]) -> float | None:
    run_ns = sum(one.end_ns - one.begin_ns for one in slices)
    return value_of(metric, sample_of(Totals(counts_of(slices), run_ns)))


def sample_of(totals: Totals) -> Sample:
    """Counts as metrics look at them."""
    return Sample(totals, RunDetail.model_construct(histograms=totals.stored()))


def value_of(metric: Metric, sample: Sample) -> float | None:
    """The figure for a chart: a percentile also of few I/Os."""
    if metric.percent is None:
        return figure(metric, [sample]).value
    histogram = merged(metric, [sample])
    if not histogram.total:
        return None
    return _clamped_ns(metric, histogram, scope_of(metric, [sample]))


# What is counted.


def _sought(metric: Metric, scope: Scope) -> Figure:
    """What the seek of the last run found."""
    found = getattr(scope.samples[-1].record, "found", None) if scope.samples else None
    if found is None or found.axis != metric.name:
        return Figure(None, f"the plan does not seek {metric.name}")
    return Figure(found.value, found.nothing)


def _rate(metric: Metric, scope: Scope) -> Figure:
    """I/Os or bytes of all runs over the time of all runs."""
    is_iops = metric.name == "iops"
    amount = sum([done.ios if is_iops else done.bytes for done in scope.results])
    if not scope.run_s:
        return NOTHING
    if not amount and not metric.direction and _has_trims(scope):
        return Figure(None, f"only discards completed: see trim.{metric.name}")
    return Figure(amount / scope.run_s)


def _has_trims(scope: Scope) -> bool:
    trims = (part.directions.get("trim") for part in scope.parts)
    return any(trim.ios for trim in trims if trim)


def _errors(metric: Metric, scope: Scope) -> Figure:
    """Unlike all other figures, of trims as well."""
    wanted = [metric.direction] if metric.direction else DIRECTIONS
    directions = [part.directions for part in scope.parts]
    errors = (by[d].errors for by in directions for d in wanted if d in by)
    return Figure(float(sum(errors)))


def _verified(metric: Metric, scope: Scope) -> Figure:
    streams = _streams(scope.samples, metric.stream)
    verified, read = verified_of_read_bytes(streams)
    if not read or metric.direction not in (None, "read"):
        return Figure(None, "nothing was verified")
    return Figure(100 * verified / read)


def verified_of_read_bytes(streams: Sequence[StreamResult]) -> tuple[int, int]:
    """What was right, and what was read, of the streams that verify.

    A run with a stream that verifies nothing of what it reads has failed.
    """
    verifying = [
        stream
        for stream in streams
        if "read" in stream.directions
        and (stream.verified_bytes or stream.verify_errors)
    ]
    verified = sum(stream.verified_bytes for stream in verifying)
    return verified, sum(stream.directions["read"].bytes for stream in verifying)


def _gap(metric: Metric, scope: Scope) -> Figure:
    gaps_ns = [stream.gap_ns for stream in _streams(scope.samples, metric.stream)]
    return _highest(gaps_ns, "the backend does not measure gaps")


def _lateness(metric: Metric, scope: Scope) -> Figure:
    """The longest of all streams that replay a trace, or of the metric's."""
    backends = [getattr(run, "backend", None) for run, _ in scope.samples]
    facts = [backend.facts.get("lateness") or {} for backend in backends if backend]
    lateness_ns = [
        stream["p99_ns"]
        for streams in facts
        for name, stream in streams.items()
        if metric.stream in (None, name)
    ]
    return _highest(lateness_ns, "no trace was replayed at its own times")


def _highest(values: Sequence[float | None], why: str) -> Figure:
    known = _if_all(values)
    return Figure(float(max(known))) if known else Figure(None, why)


def _if_all(values: Sequence[float | None]) -> list[float]:
    """The values, if none is missing."""
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else []


def _survival(metric: Metric, scope: Scope) -> Figure:
    """How many blocks, of all runs that read after a power cut."""
    facts = [verify_facts(run) for run, _ in scope.samples]
    if why := nothing_shown(metric.name, facts):
        return Figure(None, why)
    judged = [run for run in facts if shows(metric.name, run)]
    return Figure(float(sum(int(run.get(metric.name, 0)) for run in judged)))


# The host and the drive.

TELEMETRY_METRICS = {
    "system_cpu": "system_cpu_percent",
    "stack_cpu": "stack_cpu_percent",
    "watts": "watts",
    "temperature": "temperature_max_celsius",
}
RATIO_METRICS = {
    "iops_per_cpu": ("iops", "cpu"),
    "iops_per_system_cpu": ("iops", "system_cpu"),
    "iops_per_stack_cpu": ("iops", "stack_cpu"),
    "iops_per_watt": ("iops", "watts"),
    "bandwidth_per_watt": ("bandwidth", "watts"),
}
MORE_IS_BETTER = ("iops", "bandwidth", *THROTTLED, *RATIO_METRICS)


def more_is_better(metric: Metric) -> bool:
    """Whether a higher value is better; for latencies, errors, losses it is worse."""
    is_more = metric.name in MORE_IS_BETTER
    return is_more == metric.beyond.is_above if metric.beyond else is_more


def _cpu(_: Metric, scope: Scope) -> Figure:
    percents = [run.cpu_percent for run, _ in scope.samples]
    times_s = [run.run_s for run, _ in scope.samples]
    return _mean_over_time(percents, times_s) if any(times_s) else NOTHING


def _telemetry(metric: Metric, scope: Scope) -> Figure:
    """The mean over the time of all runs; of temperatures the highest."""
    name = TELEMETRY_METRICS[metric.name]
    runs = [run for run, _ in scope.samples if run.run_s]
    values = [getattr(run.telemetry, name, None) for run in runs]
    if metric.name == "temperature":
        return _highest(values, UNMEASURED.why)
    return _mean_over_time(values, [run.run_s for run in runs])


def _mean_over_time(values: Sequence[float | None], times_s: Sequence[float]) -> Figure:
    known = _if_all(values)
    return Figure(sum(map(mul, known, times_s)) / sum(times_s)) if known else UNMEASURED


def _ratio(metric: Metric, scope: Scope) -> Figure:
    """I/Os or bytes for each percent of one CPU, or for each watt."""
    numerator, denominator = RATIO_METRICS[metric.name]
    used = COMPUTED[denominator](Metric(name=denominator), scope)
    if used.value is None:
        return used
    if not used.value:
        return Figure(None, "no CPU time was measured")
    return Figure((_rate(Metric(name=numerator), scope).value or 0.0) / used.value)


def _wear(metric: Metric, scope: Scope) -> Figure:
    """Of all runs together; a part of a run has no log of its own."""
    value = wear_value(
        metric.name, [getattr(run, "wear", None) for run, _ in scope.samples]
    )
    return Figure(None, value) if isinstance(value, str) else Figure(value)


# Latencies.


def _latency(metric: Metric, scope: Scope) -> Figure:
    parts = [(r.ios, r.latency) for r in scope.results if r.latency and r.ios]
    if not parts:
        some = any(result.ios for result in scope.results)
        return Figure(None, f"no {'latency was measured' if some else 'I/O completed'}")
    if any(result.ios and not result.latency for result in scope.results):
        return Figure(None, "the latency of some I/Os was not measured")
    if metric.name == "min":
        return Figure(float(min([latency.min_ns for _, latency in parts])))
    if metric.name == "max":
        return Figure(float(max([latency.max_ns for _, latency in parts])))
    total = sum([ios for ios, _ in parts])
    mean = sum([ios * latency.mean_ns for ios, latency in parts]) / total
    if metric.name == "mean":
        return Figure(mean)
    squares = sum(
        ios * (latency.stddev_ns**2 + (latency.mean_ns - mean) ** 2)
        for ios, latency in parts
    )
    return Figure(sqrt(squares / total))


def percentile(metric: Metric, scope: Scope) -> Figure:
    percent = percent_of(metric.name) or 0.0
    if scope.samples and scope.samples[0].detail is NO_DETAIL:
        return _recorded(percent, scope)
    histogram = merged(metric, scope.samples)
    if not histogram.total:
        return _summarised(percent, scope)
    if histogram.beyond(percent) < BEYOND:
        return _few_ios(percent, histogram.total)
    return Figure(_clamped_ns(metric, histogram, scope))


def _few_ios(percent: float, ios: int) -> Figure:
    needed = round(BEYOND / (1 - percent / 100))
    return Figure(None, f"needs {needed:,} I/Os, had {ios:,}")


def _clamped_ns(metric: Metric, histogram: Histogram, scope: Scope) -> float:
    """The middle of a bucket may lie beyond the extremes, which are exact."""
    latencies = [result.latency for result in scope.results if result.latency]
    low_ns = min(latency.min_ns for latency in latencies)
    high_ns = max(latency.max_ns for latency in latencies)
    return clamp(histogram.percentile_ns(metric.percent or 0.0), low_ns, high_ns)


def _recorded(percent: float, scope: Scope) -> Figure:
    """A percentile that the record of a run has, so that no histogram is read."""
    if percent not in PERCENTILES or len(scope.results) != 1:
        return UNREAD
    (result,) = scope.results
    kept = result.latency.percentile(percent) if result.latency else None
    if kept is None:
        return UNREAD
    return _perhaps_bound(kept) if kept.supported else _few_ios(percent, result.ios)


def _summarised(percent: float, scope: Scope) -> Figure:
    """A percentile as the record has it, of a run without a histogram."""
    latencies = [result.latency for result in scope.results if result.latency]
    runs = [d for run, _ in scope.samples for d in run.directions.values()]
    if not latencies or not any(d.latency and d.latency.percentiles for d in runs):
        return Figure(None, "no latency was measured")
    kept = [p for one in latencies for p in one.percentiles if p.percent == percent]
    if len(latencies) > 1 or not kept:
        return Figure(None, "only a summary was recorded, no histogram")
    if not kept[0].supported:
        return Figure(None, "too few I/Os for this percentile")
    return _perhaps_bound(kept[0])


def _perhaps_bound(kept: Percentile) -> Figure:
    if not kept.is_bound:
        return Figure(kept.latency_ns)
    return Figure(None, f"at least {latency_text(kept.latency_ns)}", kept.latency_ns)


def merged(metric: Metric, samples: Sequence[Sample]) -> Histogram:
    """The histograms in a metric's scope, added; of reads and writes if it names no
    direction."""
    wanted = (metric.direction,) if metric.direction else READ_WRITE
    return Histogram.merged(
        Histogram.of(stored.bins, stored.bits)
        for sample in samples
        for stored in sample.detail.histograms
        if metric.stream in (None, stored.stream)
        and stored.phase == (metric.phase or "")
        and stored.direction in wanted
    )


# The series.


def _recovery(metric: Metric, scope: Scope) -> Figure:
    """The longest of all events of all runs."""
    asked = metric.recovery or Recovery()
    runs = [(detail.series, _events(run)) for run, detail in scope.samples]
    times = [Figure(*time) for run in runs for time in recoveries(asked, *run)]
    longest = [time for time in times if time.value is None] or times or [NOTHING]
    return max(longest, key=lambda time: time.value or time.at_least or 0.0)


def _lost_work(_: Metric, scope: Scope) -> Figure:
    """The I/Os that all runs together did not do."""
    lost = 0.0
    for run, detail in scope.samples:
        ios = lost_ios(detail.series, _events(run))
        if isinstance(ios, str):
            return Figure(None, ios)
        lost += ios
    return Figure(lost) if scope.samples else NOTHING


def _events(run: Measured) -> tuple[EventMade, ...]:
    return getattr(run, "events", ())


def _throttled(metric: Metric, scope: Scope) -> Figure:
    """How the last run was throttled: another run's burst begins elsewhere."""
    if not scope.samples:
        return NOTHING
    of_bytes = metric.name in ("sustained_bandwidth", "burst_bytes")
    name = "bandwidth" if of_bytes else "iops"
    limits = throttled(name, scope.samples[-1].detail.series)
    if isinstance(limits, str):
        return Figure(None, limits)
    return Figure(limits[metric.name.startswith("burst")])


COMPUTED: dict[str, Callable[[Metric, Scope], Figure]] = {
    **dict.fromkeys(("iops", "bandwidth"), _rate),
    **dict.fromkeys(("mean", "min", "max", "stddev"), _latency),
    "errors": _errors,
    "verified": _verified,
    "gap": _gap,
    "lateness": _lateness,
    "recovery": _recovery,
    "lost_work": _lost_work,
    **dict.fromkeys(THROTTLED, _throttled),
    "cpu": _cpu,
    **dict.fromkeys(TELEMETRY_METRICS, _telemetry),
    **dict.fromkeys(WEAR_METRICS, _wear),
    **dict.fromkeys(SURVIVAL, _survival),
    **dict.fromkeys(RATIO_METRICS, _ratio),
}
"""How each metric is computed over runs; what is not in it is a percentile."""


OfResult = Callable[[Any, Any], Figure]
"""Of a run, and of its result in one direction."""


def of_result(metric: Metric) -> OfResult:
    """The figure of one run, as `figure` computes it, from its result in the metric's
    direction; `UNREAD` if that is not enough."""
    return partial(_of_result, metric, COMPUTED.get(metric.name, percentile))


def _of_result(
    metric: Metric,
    compute: Callable[[Metric, Scope], Figure],
    run: Measured,
    result: DirectionResult,
) -> Figure:
    bare = Sample(run, NO_DETAIL)
    return compute(metric, Scope((bare,), (run,), (result,), run.run_s))
