"""Metrics of runs: `figure` is the only place that computes one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from math import sqrt
from operator import mul
from typing import Any, NamedTuple

from ioplan.core.units import latency_text
from ioplan.job import SECOND_NS
from ioplan.language.metric import (
    OF_SERIES,
    RATES,
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
    Interval,
    Latency,
    Percentile,
    PhaseResult,
    RunDetail,
    RunRecord,
    StreamResult,
)
from ioplan.results.measure.histogram import Histogram
from ioplan.results.measure.interval_counts import IntervalCounts, Slice, counts_of
from ioplan.results.measure.series import lost_ios, recoveries, throttled
from ioplan.results.measure.tally import READ_WRITE, Totals, clamp
from ioplan.results.measure.wear import WEAR_METRICS, wear_value
from ioplan.results.measure.zero_losses import blocks
from ioplan.workload import (
    DIRECTIONS,
    FOREVER_NS,
    SYNCS,
    Phase,
    Stream,
    parts_of,
)

Measured = RunRecord | PhaseResult | Totals
"""A run, or a part of one."""


class Sample(NamedTuple):
    """A run, or a part of one, with its histograms."""

    record: Measured
    detail: RunDetail


class Figure(NamedTuple):
    """A value, or why there is none that can be believed, and what it is at least."""

    value: float | None
    why: str = ""
    at_least: float | None = None


Answer = Figure | float | str
"""A value, or why there is none."""
NO_DETAIL = RunDetail()
"""That of a run which was not read yet."""
UNREAD = Figure(None, "the histograms were not read")
NOTHING = Figure(None, "nothing was measured")
UNMEASURED = "it was not measured"
WHOLE = 0.99
"""So much of an interval has to be in a stream's part of the run: clocks differ."""
LEAST_MISSING_NS = 50_000_000
"""So much earlier than planned a run may end for no reason."""
FULL_SECOND = 0.9
"""So much of a second is one, to a rate; at its end a run has a part of one."""
LONGEST_NS = 1_500_000_000
"""Longer intervals do not tell a second from the next one."""
SHORT = 0.25
"""A last interval of less than this share of the longest one is left out."""


class Scope(NamedTuple):
    """What a metric looks at of some runs: a stream, a direction, a phase."""

    samples: Sequence[Sample]
    parts: Sequence[Measured] | Sequence[StreamResult]
    results: Sequence[DirectionResult]
    run_s: float

    @property
    def runs(self) -> list[Measured]:
        return [run for run, _ in self.samples]

    @property
    def latencies(self) -> list[Latency]:
        return [result.latency for result in self.results if result.latency]

    def each(self, name: str) -> list[Any]:
        """What each run has by this name; none of a part of a run."""
        return [getattr(run, name, None) for run in self.runs]


def scope_of(metric: Metric, samples: Sequence[Sample]) -> Scope:
    """`results` are those of each run or stream, `run_s` is the time of all runs."""
    name, direction = metric.stream, metric.direction
    if metric.step:  # a part was chosen with its run
        steps = [(sample, getattr(sample.record, "asked", None)) for sample in samples]
        samples = [s for s, step in steps if not step or metric.counts(step.name)]
    if metric.phase:
        phases = [(getattr(r, "phases", {}).get(metric.phase), d) for r, d in samples]
        samples = [Sample(phase, detail) for phase, detail in phases if phase]
    runs = [run for run, _ in samples]
    parts = _streams(samples, name) if name else runs
    run_s = sum([_own_s(name, run) if name else run.run_s for run in runs])
    if direction is None:
        return Scope(samples, parts, [part.total for part in parts], run_s)
    results = [p.directions[direction] for p in parts if direction in p.directions]
    return Scope(samples, parts, results, run_s)


def _streams(samples: Sequence[Sample], name: str | None = None) -> list[StreamResult]:
    return [s for run, _ in samples for s in run.streams if name in (None, s.name)]


def _own_s(name: str, run: Measured) -> float:
    own = (stream.run_s for stream in run.streams if stream.name == name)
    return next(own, None) or run.run_s


def figure(metric: Metric, samples: Sequence[Sample]) -> Figure:
    """The metric over all samples together: sums are added, histograms merged."""
    return figure_in(scope_of(metric, samples), metric)


def figure_in(scope: Scope, metric: Metric) -> Figure:
    """The figure in a scope that several metrics share."""
    if metric.by_interval:
        return _over(metric, [_slices(metric, run) for run in scope.samples])
    if metric.phase and not scope.samples:
        return Figure(None, f"no I/O completed during {metric.phase}")
    if metric.phase and any(map(_is_cut_short, scope.samples)):
        return Figure(None, f"the run ended before {metric.phase} did")
    if metric.direction in SYNCS and not scope.results:
        untimed = any(stream.sync_ios for stream in _streams(scope.samples))
        why = f"the backend does not measure the latency of a {metric.direction}"
        return Figure(None, why if untimed else "nothing was flushed")
    compute = _sought if metric.sought else COMPUTED.get(metric.name, percentile)
    return _figure(compute(metric, scope))


def _figure(answer: Answer) -> Figure:
    if isinstance(answer, Figure):
        return answer
    return Figure(None, answer) if isinstance(answer, str) else Figure(answer)


def _is_cut_short(sample: Sample) -> bool:
    """Whether a run that was given less time has only a part of a phase."""
    when: Phase | None = getattr(sample.record, "when", None)
    if when is None or when.every_ns or when.start_ns + when.length_ns >= FOREVER_NS:
        return False
    missing_ns = when.length_ns - sample.record.run_s * SECOND_NS
    return missing_ns > max(LEAST_MISSING_NS, (1 - WHOLE) * when.length_ns)


# Stretches of a run: each figure is made of the sums and histograms of its intervals,
# and never of their figures.


class Stretch(Totals):
    """Some intervals that follow one another, as a run of its own."""

    def __init__(self, slices: Sequence[Slice], streams: Iterable[Stream] = ()) -> None:
        """Merge one or more slices; `streams` are those of the run, of which each has
        its own part of that time."""
        run_ns = sum(interval.length_ns for interval in slices)
        super().__init__(counts_of(slices), run_ns)
        self.slices, self.parts = slices, parts_of(streams)
        self.begin_ns, self.end_ns = slices[0].begin_ns, slices[-1].end_ns
        self.intervals = len(slices)
        for name in self.parts.keys() & self.counts.keys():
            self.counts[name].run_ns = self._own_ns(name)

    def _own_ns(self, stream: str) -> int:
        part = self.parts.get(stream)
        return part.time_ns(self.begin_ns, self.end_ns) if part else self.run_ns

    @cached_property
    def detail(self) -> RunDetail:
        return RunDetail.model_construct(histograms=self.stored())

    @property
    def sample(self) -> Sample:
        return Sample(self, self.detail)

    def figure(self, metric: Metric) -> Figure:
        if metric.name in OF_SERIES:
            return Figure(None, f"{metric.name} is of a whole run")
        if metric.stream and not self._own_ns(metric.stream):
            return Figure(None, f"{metric.stream} does not run then")
        if metric.by_interval:
            part = self.parts.get(metric.stream or "")
            return _over(metric, [_within(part, self.slices)])
        return figure(metric, [self.sample])

    def value(self, metric: Metric) -> float | None:
        """The figure for a chart: a percentile also of few I/Os."""
        if metric.percent is None:
            return figure(metric, [self.sample]).value
        return _figure(percentile(metric, scope_of(metric, [self.sample]), 0)).value


def stretch(
    intervals: IntervalCounts,
    begin_ns: float,
    end_ns: float,
    streams: Iterable[Stream] = (),
) -> Stretch | None:
    """The intervals that begin in [begin, end), if any. Raises IntervalsDamaged."""
    slices = list(intervals.between(begin_ns, end_ns))
    return Stretch(slices, streams) if slices else None


def _slices(metric: Metric, sample: Sample) -> list[Slice]:
    """A run's intervals; of a stream those of its part of the run."""
    workload = getattr(getattr(sample.record, "asked", None), "workload", None)
    parts = parts_of(workload.streams) if workload else {}
    slices = [*IntervalCounts(sample.detail.intervals)]
    return _within(parts.get(metric.stream or ""), slices)


def _within(part: Phase | None, slices: Sequence[Slice]) -> list[Slice]:
    """The intervals that lie in a stream's part of the run, all of them without one."""
    if part is None:
        return [*slices]
    return [
        interval
        for interval in slices
        if part.time_ns(interval.begin_ns, interval.end_ns)
        >= WHOLE * interval.length_ns
    ]


def _over(metric: Metric, runs: Sequence[Sequence[Slice]]) -> Figure:
    if not any(runs):
        return Figure(None, "no run has counts of its intervals")
    return _figure((_share_beyond if metric.beyond else _worst_second)(metric, runs))


def _worst_second(metric: Metric, runs: Sequence[Sequence[Slice]]) -> Answer:
    """The highest of all seconds, of a rate the lowest; or why there is none.

    A second is the intervals that begin in it. A percentile needs one second with
    enough I/Os; then it counts in those as well in which a stall left few.
    """
    if any(interval.length_ns > LONGEST_NS for run in runs for interval in run):
        return "the intervals are longer than a second"
    seconds = [Stretch(slices) for run in runs for slices in _by_second(run)]
    is_rate = metric.name in RATES
    if is_rate:
        seconds = [second for second in seconds if second.run_s >= FULL_SECOND]
    values = [v for s in seconds if (v := s.value(metric.plain)) is not None]
    if not values:
        return "no whole second with such an I/O was measured"
    return _too_few(metric, seconds) or (min if is_rate else max)(values)


def _by_second(run: Sequence[Slice]) -> Iterable[list[Slice]]:
    """The intervals that begin in each second; none of a second without any."""
    seconds = defaultdict[int, list[Slice]](list)
    for interval in run:
        seconds[interval.begin_ns // SECOND_NS].append(interval)
    return seconds.values()


def _too_few(metric: Metric, seconds: Sequence[Stretch]) -> str:
    """Why no second tells the percentile; empty where any does."""
    percent = percent_of(metric.name)
    if percent is None:
        return ""
    rate = Metric(name="iops", stream=metric.stream, direction=metric.direction)
    most = round(max((second.value(rate) or 0.0) * second.run_s for second in seconds))
    needed = ios_needed(percent)
    few = f"needs {needed:,} I/Os in a second, had {most:,} at most"
    return few if most < needed else ""


def _share_beyond(metric: Metric, runs: Sequence[Sequence[Slice]]) -> Answer:
    plain, beyond = metric.plain, metric.beyond
    stretches = [Stretch([interval]) for run in runs for interval in _full(run)]
    values = [v for part in stretches if (v := part.value(plain)) is not None]
    if not values or not beyond:
        return "no interval with such an I/O was measured"
    sign = 1 if beyond.is_above else -1
    return 100 * sum(sign * v > sign * beyond.limit for v in values) / len(values)


def _full(run: Sequence[Slice]) -> Sequence[Slice]:
    """All but a last one that the end of the run has cut short."""
    lengths_ns = [interval.length_ns for interval in run]
    is_cut = len(run) > 1 and lengths_ns[-1] < SHORT * max(lengths_ns)
    return run[:-1] if is_cut else run


# What is counted.


def _sought(metric: Metric, scope: Scope) -> Answer:
    """What the seek of the last run found."""
    last = (scope.each("found") or [None])[-1]
    if last is None or last.axis != metric.name:
        return f"the plan does not seek {metric.name}"
    return Figure(last.value, last.nothing)


def _rate(metric: Metric, scope: Scope) -> Answer:
    is_iops = metric.name == "iops"
    amount = sum([done.ios if is_iops else done.bytes for done in scope.results])
    if not scope.run_s:
        return NOTHING
    if not amount and not metric.direction:
        trims = [part.directions.get("trim") for part in scope.parts]
        if any(trim.ios for trim in trims if trim):
            return f"only discards completed: see trim.{metric.name}"
    return amount / scope.run_s


def _errors(metric: Metric, scope: Scope) -> Answer:
    """Unlike all other figures, of trims as well."""
    used = [metric.direction] if metric.direction else DIRECTIONS
    results = [part.directions.get(d) for part in scope.parts for d in used]
    return float(sum(done.errors for done in results if done))


def _verified(metric: Metric, scope: Scope) -> Answer:
    verified, read = verified_of_read_bytes(_streams(scope.samples, metric.stream))
    if not read or metric.direction not in (None, "read"):
        return "nothing was verified"
    return 100 * verified / read


def verified_of_read_bytes(streams: Sequence[StreamResult]) -> tuple[int, int]:
    """What was right, and what was read, of the streams that verify.

    A run with a stream that verifies nothing of what it reads has failed.
    """
    reading = [stream for stream in streams if "read" in stream.directions]
    verifying = [s for s in reading if s.verified_bytes or s.verify_errors]
    verified = sum(stream.verified_bytes for stream in verifying)
    return verified, sum(stream.directions["read"].bytes for stream in verifying)


def _lateness(metric: Metric, scope: Scope) -> Answer:
    """The longest of all streams that replay a trace, or of the metric's."""
    backends = [backend for backend in scope.each("backend") if backend]
    lateness_ns = [
        stream["p99_ns"]
        for backend in backends
        for name, stream in (backend.facts.get("lateness") or {}).items()
        if metric.stream in (None, name)
    ]
    return _highest(lateness_ns, "no trace was replayed at its own times")


def _highest(values: Sequence[Any], why: str = UNMEASURED) -> Answer:
    return float(max(values)) if values and None not in values else why


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


def _telemetry(metric: Metric, scope: Scope) -> Answer:
    """The mean over the time of all runs; of temperatures the highest."""
    runs = [run for run in scope.runs if run.run_s]
    field = TELEMETRY_METRICS[metric.name]
    telemetry = [getattr(run, "telemetry", None) for run in runs]
    values = [getattr(means, field, None) for means in telemetry]
    if metric.name == "temperature":
        return _highest(values)
    return _mean_over_time(values, runs)


def _mean_over_time(
    values: Sequence[Any], runs: Sequence[Measured], without_time: Answer = UNMEASURED
) -> Answer:
    times_s = [run.run_s for run in runs]
    if not any(times_s):
        return without_time
    if None in values:
        return UNMEASURED
    return float(sum(map(mul, values, times_s)) / sum(times_s))


def _ratio(metric: Metric, scope: Scope) -> Answer:
    """I/Os or bytes for each percent of one CPU, or for each watt."""
    amount, cost = (Metric(name=name) for name in RATIO_METRICS[metric.name])
    used = _figure(COMPUTED[cost.name](cost, scope))
    if not used.value:
        return used if used.value is None else "no CPU time was measured"
    return (_figure(_rate(amount, scope)).value or 0.0) / used.value


# Latencies.


def _latency(metric: Metric, scope: Scope) -> Answer:
    parts = [(r.ios, r.latency) for r in scope.results if r.latency and r.ios]
    unmeasured = any(result.ios and not result.latency for result in scope.results)
    if not parts:
        return "no latency was measured" if unmeasured else "no I/O completed"
    if unmeasured:
        return "the latency of some I/Os was not measured"
    if metric.name == "min":
        return float(min([latency.min_ns for _, latency in parts]))
    if metric.name == "max":
        return float(max([latency.max_ns for _, latency in parts]))
    total = sum([ios for ios, _ in parts])
    mean = sum([ios * latency.mean_ns for ios, latency in parts]) / total
    if metric.name == "mean":
        return mean
    squares = sum(
        ios * (latency.stddev_ns**2 + (latency.mean_ns - mean) ** 2)
        for ios, latency in parts
    )
    return sqrt(squares / total)


def percentile(metric: Metric, scope: Scope, beyond: int = BEYOND) -> Answer:
    """A percentile beyond which so many samples lie.

    The middle of a bucket may lie beyond the extremes, which are exact.
    """
    percent = percent_of(metric.name) or 0.0
    if scope.samples and scope.samples[0].detail is NO_DETAIL:
        return _recorded(percent, scope)
    histogram = merged(metric, scope.samples)
    if not histogram.total or not scope.latencies:
        return _summarised(percent, scope)
    if histogram.beyond(percent) < beyond:
        return _few_ios(percent, histogram.total)
    low_ns = min(latency.min_ns for latency in scope.latencies)
    high_ns = max(latency.max_ns for latency in scope.latencies)
    return clamp(histogram.percentile_ns(percent), low_ns, high_ns)


def ios_needed(percent: float) -> int:
    """So many I/Os that a percentile of them can be believed."""
    return round(BEYOND / (1 - percent / 100))


def _few_ios(percent: float, ios: int) -> str:
    return f"needs {ios_needed(percent):,} I/Os, had {ios:,}"


def _recorded(percent: float, scope: Scope) -> Answer:
    """A percentile that the record of a run has, so that no histogram is read."""
    if percent not in PERCENTILES or len(scope.results) != 1:
        return UNREAD
    (result,) = scope.results
    recorded = result.latency.percentile(percent) if result.latency else None
    return _stored(recorded, _few_ios(percent, result.ios)) if recorded else UNREAD


def _summarised(percent: float, scope: Scope) -> Answer:
    """A percentile as the record has it, of a run without a histogram."""
    latencies = scope.latencies
    runs = [d for run in scope.runs for d in run.directions.values()]
    if not latencies or not any(d.latency and d.latency.percentiles for d in runs):
        return "no latency was measured"
    recorded = latencies[0].percentile(percent)
    if len(latencies) > 1 or not recorded:
        return "only a summary was recorded, no histogram"
    return _stored(recorded, "too few I/Os for this percentile")


def _stored(recorded: Percentile, few: str) -> Answer:
    value_ns = recorded.latency_ns
    if not recorded.supported:
        return few
    if not recorded.is_bound:
        return value_ns
    return Figure(None, f"at least {latency_text(value_ns)}", value_ns)


def merged(metric: Metric, samples: Sequence[Sample]) -> Histogram:
    """The histograms of reads and writes if the metric names no direction."""
    directions = (metric.direction,) if metric.direction else READ_WRITE
    return Histogram.merged(
        Histogram.of(stored.bins, stored.bits)
        for sample in samples
        for stored in sample.detail.histograms
        if metric.stream in (None, stored.stream)
        and stored.phase == (metric.phase or "")
        and stored.direction in directions
    )


# The series.


def _recovery(metric: Metric, scope: Scope) -> Answer:
    """The longest of all events of all runs."""
    recovery, runs = metric.recovery or Recovery(), _series(scope)
    times = [Figure(*time) for run in runs for time in recoveries(recovery, *run)]
    longest = [time for time in times if time.value is None] or times or [NOTHING]
    return max(longest, key=lambda time: time.value or time.at_least or 0.0)


def _lost_work(_: Metric, scope: Scope) -> Answer:
    lost = [lost_ios(*run) for run in _series(scope)]
    why = next((ios for ios in lost if isinstance(ios, str)), NOTHING)
    return sum(map(float, lost)) if lost and why is NOTHING else why


def _series(scope: Scope) -> list[tuple[Sequence[Interval], Sequence[EventMade]]]:
    return [
        (detail.series, getattr(run, "events", ())) for run, detail in scope.samples
    ]


def _throttled(metric: Metric, scope: Scope) -> Answer:
    """How the last run was throttled: another run's burst begins elsewhere."""
    if not scope.samples:
        return NOTHING
    of_bytes = metric.name in ("sustained_bandwidth", "burst_bytes")
    series = scope.samples[-1].detail.series
    limits = throttled("bandwidth" if of_bytes else "iops", series)
    if isinstance(limits, str):
        return limits
    return limits[metric.name.startswith("burst")]


COMPUTED: dict[str, Callable[[Metric, Scope], Answer]] = {
    **dict.fromkeys(("iops", "bandwidth"), _rate),
    **dict.fromkeys(("mean", "min", "max", "stddev"), _latency),
    "errors": _errors,
    "verified": _verified,
    "gap": lambda metric, scope: _highest(
        [stream.gap_ns for stream in _streams(scope.samples, metric.stream)],
        "the backend does not measure gaps",
    ),
    "lateness": _lateness,
    "recovery": _recovery,
    "lost_work": _lost_work,
    **dict.fromkeys(THROTTLED, _throttled),
    "cpu": lambda _, scope: _mean_over_time(
        scope.each("cpu_percent"), scope.runs, NOTHING
    ),
    **dict.fromkeys(TELEMETRY_METRICS, _telemetry),
    # of all runs together; a part of a run has no log of its own
    **dict.fromkeys(
        WEAR_METRICS,
        lambda metric, scope: wear_value(metric.name, scope.each("wear")),
    ),
    **dict.fromkeys(SURVIVAL, lambda metric, scope: blocks(metric.name, scope.runs)),
    **dict.fromkeys(RATIO_METRICS, _ratio),
}
"""How each metric is computed over runs; what is not in it is a percentile."""


def of_result(metric: Metric, run: Any, result: Any) -> Figure:
    """The figure of a run, as `figure` computes it, from that run and its result in the
    metric's direction; `UNREAD` if that is not enough."""
    scope = Scope((Sample(run, NO_DETAIL),), (run,), (result,), run.run_s)
    return _figure(COMPUTED.get(metric.name, percentile)(metric, scope))
