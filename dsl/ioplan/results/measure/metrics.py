"""The value of a metric over one run or over several runs of one cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import sqrt
from typing import NamedTuple, Protocol, Self

from ioplan.core.units import latency_text
from ioplan.job import SECOND_NS
from ioplan.language.metric import SURVIVAL, THROTTLED, Metric
from ioplan.records.record import (
    BEYOND,
    DirectionResult,
    EventMade,
    Percentile,
    RunDetail,
    StreamResult,
)
from ioplan.records.telemetry import Telemetry
from ioplan.results.measure.burst import throttled
from ioplan.results.measure.histogram import Histogram
from ioplan.results.measure.interval_counts import IntervalCounts, Slice, counts_of
from ioplan.results.measure.over_intervals import share_beyond, worst_second
from ioplan.results.measure.recovery import lost_ios, recovery
from ioplan.results.measure.tally import READ_WRITE, Totals, clamp
from ioplan.results.measure.wear import WEAR_METRICS, wear_value
from ioplan.results.measure.zero_losses import nothing_shown, shows, verify_facts
from ioplan.workload import DIRECTIONS, FOREVER_NS, SYNCS, Direction, Phase, parts_of


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


NO_DETAIL = RunDetail()
WHOLE = 0.99
"""So much of an interval has to be in a stream's part of the run: clocks differ."""
LEAST_MISSING_NS = 50_000_000
"""So much earlier than planned a run may end for no reason."""


class Figure(NamedTuple):
    """A value, or why there is none that can be believed."""

    value: float | None
    why: str = ""
    at_least: float | None = None
    """What the figure is at least, where only that is known."""


class Part:
    """What a metric looks at of some samples: a stream, a direction, both or all.

    `results` are those of each run in it, `run_s` is the time of all of them.
    """

    samples: Sequence[Sample]

    def __init__(self, metric: Metric, samples: Sequence[Sample]) -> None:
        if metric.step:
            samples = [one for one in samples if _counts(metric, one.record)]
        if metric.phase:
            samples = list(_in_phase(metric.phase, samples))
        self.samples = samples
        self.results = all_scoped(metric, samples)
        self.run_s = sum([_time_s(metric.stream, one.record) for one in samples])

    @classmethod
    def of_whole(cls, record: Measured) -> Self:
        """All of one run, without its histograms."""
        part = cls.__new__(cls)
        part.samples, part.results = (Sample(record, NO_DETAIL),), [record.total]
        part.run_s = record.run_s
        return part


def figure(metric: Metric, samples: Sequence[Sample]) -> Figure:
    """The metric over all samples together: sums are added, histograms merged."""
    return figure_of(metric, Part(metric, samples))


def _in_phase(name: str, samples: Sequence[Sample]) -> Iterator[Sample]:
    """A phase of each run that has it."""
    for record, detail in samples:
        found = getattr(record, "phases", {}).get(name)
        if found:
            yield Sample(found, detail)


def figure_of(metric: Metric, part: Part) -> Figure:
    """The figure of a part that several metrics look at."""
    if metric.by_interval:
        return over_intervals(metric, [_slices(metric, one) for one in part.samples])
    if metric.phase and not part.samples:
        return Figure(None, f"nothing was counted during {metric.phase}")
    if metric.phase and any(map(_is_cut_short, part.samples)):
        return Figure(None, f"the run ended before {metric.phase} did")
    if metric.direction in SYNCS and not part.results:
        return Figure(None, _no_syncs(metric, part))
    measured = _found if metric.sought else MEASURED.get(metric.name, _percentile)
    return measured(metric, part)


def _slices(metric: Metric, sample: Sample) -> list[Slice]:
    """A run's intervals; of a stream those of its part of the run."""
    workload = getattr(getattr(sample.record, "asked", None), "workload", None)
    parts = parts_of(workload.streams) if workload else {}
    slices = [*IntervalCounts(sample.detail.intervals)]
    return within(parts.get(metric.stream or ""), slices)


def within(part: Phase | None, slices: Sequence[Slice]) -> list[Slice]:
    """The intervals that lie in a stream's part of the run, all of them without one."""
    return [
        one
        for one in slices
        if part is None
        or part.time_ns(one.begin_ns, one.end_ns) >= WHOLE * (one.end_ns - one.begin_ns)
    ]


def _is_cut_short(sample: Sample) -> bool:
    """Whether a run that was given less time has only a part of a phase."""
    when: Phase | None = getattr(sample.record, "when", None)
    if when is None or when.every_ns or when.start_ns + when.length_ns >= FOREVER_NS:
        return False
    missing_ns = when.length_ns - sample.record.run_s * SECOND_NS
    return missing_ns > max(LEAST_MISSING_NS, (1 - WHOLE) * when.length_ns)


def over_intervals(metric: Metric, runs: Sequence[Sequence[Slice]]) -> Figure:
    """What the intervals of runs tell. Raises IntervalsDamaged."""
    if not any(runs):
        return Figure(None, "no run has counts of its intervals")
    if metric.beyond:
        found = share_beyond(metric, metric.beyond, runs, _in_intervals)
    else:
        found = worst_second(metric, runs, _in_intervals)
    return Figure(None, found) if isinstance(found, str) else Figure(found)


def _in_intervals(metric: Metric, some: Sequence[Slice]) -> float | None:
    lengths_ns = (one.end_ns - one.begin_ns for one in some)
    return value_of(metric, sample_of(Totals(counts_of(some), sum(lengths_ns))))


def sample_of(found: Totals) -> Sample:
    """Counts as metrics look at them."""
    return Sample(found, RunDetail.model_construct(histograms=found.stored()))


def value_of(metric: Metric, sample: Sample) -> float | None:
    """The figure for a chart: a percentile also of few I/Os."""
    if metric.percent is not None:
        return percentile_ns(metric, sample)
    return figure(metric, [sample]).value


def _no_syncs(metric: Metric, part: Part) -> str:
    """Why there is no figure of flushes or commits."""
    runs = [one.record for one in part.samples]
    if any(stream.sync_ios for run in runs for stream in run.streams):
        return f"the backend does not measure the latency of a {metric.direction}"
    return "nothing was flushed"


def _counts(metric: Metric, record: Measured) -> bool:
    """Whether a run is of the metric's step; a part was chosen with its run."""
    asked = getattr(record, "asked", None)
    return asked is None or metric.counts(asked.name)


def _found(metric: Metric, part: Part) -> Figure:
    """What a seek has found."""
    found = getattr(part.samples[-1].record, "found", None) if part.samples else None
    if found is None or found.axis != metric.name:
        return Figure(None, f"no {metric.name} was sought")
    return Figure(found.value, found.nothing)


def scoped(metric: Metric, record: Measured) -> list[DirectionResult]:
    """The results that a metric looks at: a stream, a direction, both or all."""
    parts, direction = _streams(metric, record), metric.direction
    if direction is None:
        return [part.total for part in parts]
    return [p.directions[direction] for p in parts if direction in p.directions]


def _streams(metric: Metric, record: Measured) -> Sequence[Measured | StreamResult]:
    """The run, or that stream of it which the metric names."""
    if metric.stream is None:
        return (record,)
    return [stream for stream in record.streams if stream.name == metric.stream]


def all_scoped(metric: Metric, samples: Sequence[Sample]) -> list[DirectionResult]:
    """The results in a metric's scope, of several runs."""
    return [r for sample in samples for r in scoped(metric, sample.record)]


def _errors(metric: Metric, part: Part) -> Figure:
    """Unlike all other figures, of trims as well."""
    wanted = [metric.direction] if metric.direction else DIRECTIONS
    runs = [one for s in part.samples for one in _streams(metric, s.record)]
    found = [
        run.directions[d].errors for run in runs for d in wanted if d in run.directions
    ]
    return Figure(float(sum(found)))


def _verified(metric: Metric, part: Part) -> Figure:
    """What was found right of all that streams with `verify` read."""
    verified, read = 0, 0
    for sample in part.samples:
        more = verified_of_read_bytes(sample.record.streams, metric.stream)
        verified, read = verified + more[0], read + more[1]
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


def _iops(metric: Metric, part: Part) -> Figure:
    return _rate(metric, sum([one.ios for one in part.results]), part)


def _bandwidth(metric: Metric, part: Part) -> Figure:
    return _rate(metric, sum([one.bytes for one in part.results]), part)


def _rate(metric: Metric, amount: int, part: Part) -> Figure:
    """I/Os or bytes of all runs over the time of all runs."""
    if not part.run_s:
        return Figure(None, "nothing was measured")
    if not amount and not metric.direction and _trimmed(metric, part):
        return Figure(None, f"nothing but discards, which are trim.{metric.name}")
    return Figure(amount / part.run_s)


def _trimmed(metric: Metric, part: Part) -> bool:
    runs = (one for s in part.samples for one in _streams(metric, s.record))
    trims = (run.directions.get("trim") for run in runs)
    return any(one.ios for one in trims if one)


def _time_s(stream: str | None, record: Measured) -> float:
    """A stream's own time, where it is known."""
    if stream is None:
        return record.run_s
    own = (one.run_s for one in record.streams if one.name == stream)
    return next(own, None) or record.run_s


def _cpu(_: Metric, part: Part) -> Figure:
    if not part.run_s:
        return Figure(None, "nothing was measured")
    used = [(s.record.cpu_percent, s.record.run_s) for s in part.samples]
    known = [percent * time_s for percent, time_s in used if percent is not None]
    if len(known) < len(used):
        return Figure(None, "nothing measured it")
    return Figure(sum(known) / part.run_s)


def _telemetry(metric: Metric, part: Part) -> Figure:
    """The mean over the time of all runs; of temperatures the highest."""
    runs = [sample.record for sample in part.samples if sample.record.run_s]
    read = TELEMETRY_METRICS[metric.name]
    found = [read(one.telemetry) if one.telemetry else None for one in runs]
    known = [value for value in found if value is not None]
    if not known or len(known) < len(runs):
        return Figure(None, "nothing measured it")
    if metric.name == "temperature":
        return Figure(max(known))
    run_s = [one.run_s for one in runs]
    return Figure(sum(v * s for v, s in zip(known, run_s, strict=True)) / sum(run_s))


def _wear(metric: Metric, part: Part) -> Figure:
    """Wear over all runs together; a part of a run has no log of its own."""
    runs = [getattr(sample.record, "wear", None) for sample in part.samples]
    found = wear_value(metric.name, runs)
    return Figure(None, found) if isinstance(found, str) else Figure(found)


def _survival(metric: Metric, part: Part) -> Figure:
    """How many blocks, of all runs that read after a power cut."""
    found = [verify_facts(one.record) for one in part.samples]
    if why := nothing_shown(metric.name, found):
        return Figure(None, why)
    judged = [one for one in found if shows(metric.name, one)]
    return Figure(float(sum(int(one.get(metric.name, 0)) for one in judged)))


def _gap(metric: Metric, part: Part) -> Figure:
    """The longest of all streams, or of one."""
    runs = [one.record.streams for one in part.samples]
    found = [
        one.gap_ns for run in runs for one in run if metric.stream in (None, one.name)
    ]
    known = [one for one in found if one is not None]
    if not known or len(known) < len(found):
        return Figure(None, "the backend does not measure gaps")
    return Figure(float(max(known)))


def _lateness(metric: Metric, part: Part) -> Figure:
    """The longest of all streams that replay a trace, or of one."""
    backends = [getattr(one.record, "backend", None) for one in part.samples]
    facts = [one.facts.get("lateness") or {} for one in backends if one]
    found = [
        stream["p99_ns"]
        for one in facts
        for name, stream in one.items()
        if metric.stream in (None, name)
    ]
    if not found:
        return Figure(None, "no trace was issued at its times")
    return Figure(float(max(found)))


def _recovery(metric: Metric, part: Part) -> Figure:
    """The longest of all runs."""
    found = [
        recovery(metric, one.detail.series, _events(one.record)) for one in part.samples
    ]
    if not found:
        return Figure(None, "nothing was measured")
    unknown = [one for one in found if one.took_s is None]
    worst = max(unknown or found, key=lambda one: one.took_s or one.at_least_s or 0.0)
    least_ns = None if worst.at_least_s is None else worst.at_least_s * SECOND_NS
    took_ns = None if worst.took_s is None else worst.took_s * SECOND_NS
    return Figure(took_ns, worst.why, least_ns)


def _lost_work(_: Metric, part: Part) -> Figure:
    """The I/Os that all runs together did not do."""
    found = [lost_ios(one.detail.series, _events(one.record)) for one in part.samples]
    unknown = [one for one in found if isinstance(one, str)]
    if unknown or not found:
        return Figure(None, (unknown or ["nothing was measured"])[0])
    return Figure(sum(one for one in found if isinstance(one, float)))


def _throttled(metric: Metric, part: Part) -> Figure:
    """How the last run was throttled: another run's burst begins elsewhere."""
    if not part.samples:
        return Figure(None, "nothing was measured")
    of_bytes = metric.name in ("sustained_bandwidth", "burst_bytes")
    name = "bandwidth" if of_bytes else "iops"
    found = throttled(name, part.samples[-1].detail.series)
    if found.why:
        return Figure(None, found.why)
    is_rate = metric.name.startswith("sustained")
    return Figure(found.per_s if is_rate else float(round(found.burst)))


def _events(record: Measured) -> tuple[EventMade, ...]:
    """The events of a run; a part of one has none."""
    return getattr(record, "events", ())


def _ratio(metric: Metric, part: Part) -> Figure:
    """One metric for each percent of one CPU, or for each watt."""
    numerator, denominator = RATIO_METRICS[metric.name]
    used = MEASURED[denominator](Metric(name=denominator), part)
    if used.value is None:
        return used
    if not used.value:
        return Figure(None, "no CPU time was measured")
    rate = MEASURED[numerator](Metric(name=numerator), part).value or 0.0
    return Figure(rate / used.value)


def _latency(metric: Metric, part: Part) -> Figure:
    name = metric.name
    parts = [(r.ios, r.latency) for r in part.results if r.latency and r.ios]
    if not parts:
        some = any(result.ios for result in part.results)
        return Figure(None, f"no {'latency was measured' if some else 'I/O completed'}")
    if any(result.ios and not result.latency for result in part.results):
        return Figure(None, "the latency of some I/Os was not measured")
    if name == "min":
        return Figure(float(min([latency.min_ns for _, latency in parts])))
    if name == "max":
        return Figure(float(max([latency.max_ns for _, latency in parts])))
    total = sum([ios for ios, _ in parts])
    mean = sum([ios * latency.mean_ns for ios, latency in parts]) / total
    if name == "mean":
        return Figure(mean)
    squares = sum(
        ios * (latency.stddev_ns**2 + (latency.mean_ns - mean) ** 2)
        for ios, latency in parts
    )
    return Figure(sqrt(squares / total))


def _percentile(metric: Metric, part: Part) -> Figure:
    histogram = merged(metric, part.samples)
    percent = metric.percent
    assert percent is not None
    if not histogram.total:
        return _summarised(metric, part)
    if histogram.beyond(percent) < BEYOND:
        needed = round(BEYOND / (1 - percent / 100))
        return Figure(None, f"needs {needed:_} I/Os, had {histogram.total:_}")
    return Figure(_between_extremes(histogram, percent, part))


def percentile_ns(metric: Metric, sample: Sample) -> float | None:
    """The percentile of a metric, however few I/Os lie beyond it; none without any."""
    histogram = merged(metric, [sample])
    if metric.percent is None or not histogram.total:
        return None
    return _between_extremes(histogram, metric.percent, Part(metric, [sample]))


def _between_extremes(histogram: Histogram, percent: float, part: Part) -> float:
    """The middle of a bucket may lie beyond the extremes, which are exact."""
    found = [r.latency for r in part.results if r.latency]
    low_ns = min(latency.min_ns for latency in found)
    high_ns = max(latency.max_ns for latency in found)
    return clamp(histogram.percentile_ns(percent), low_ns, high_ns)


def _summarised(metric: Metric, part: Part) -> Figure:
    """A percentile as the record has it, of a run without a histogram."""
    found = [result.latency for result in part.results if result.latency]
    all_of = [p for s in part.samples for p in s.record.directions.values()]
    has_any = any(one.latency and one.latency.percentiles for one in all_of)
    if not found or not has_any:
        return Figure(None, "no latency was counted")
    same = [p for one in found for p in one.percentiles if p.percent == metric.percent]
    if len(found) > 1 or not same:
        return Figure(None, "only a summary is known, and no histogram")
    (percentile,) = same
    if not percentile.supported:
        return Figure(None, "too few I/Os lie beyond it")
    if percentile.is_bound:
        return bound_of(percentile)
    return Figure(percentile.latency_ns)


def bound_of(percentile: Percentile) -> Figure:
    """The figure of a percentile of which only a lower bound is known."""
    least_ns = percentile.latency_ns
    return Figure(None, f"at least {latency_text(least_ns)}", least_ns)


def merged(metric: Metric, samples: Sequence[Sample]) -> Histogram:
    """The sum of the histograms in a metric's scope; of reads and writes if it names
    no direction."""
    return Histogram.merged(
        Histogram.of(stored.bins, stored.bits)
        for sample in samples
        for stored in sample.detail.histograms
        if metric.stream in (None, stored.stream)
        and stored.phase == (metric.phase or "")
        and _in_scope(stored.direction, metric.direction)
    )


def _in_scope(direction: str, wanted: str | None) -> bool:
    return direction == wanted if wanted else direction in READ_WRITE


MEASURED: dict[str, Callable[[Metric, Part], Figure]] = {
    "iops": _iops,
    "bandwidth": _bandwidth,
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
"""How each metric is computed; what is not in it is a percentile."""
