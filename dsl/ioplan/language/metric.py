"""Metrics: what can be expected of a run, shown, or tracked until steady."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from ioplan.core.text import did_you_mean
from ioplan.language.quantity import Kind, QuantityError, make, parse_quantity
from ioplan.workload import COUNTED, SYNCS, Direction

METRICS: dict[str, tuple[str, Kind]] = {
    "iops": ("1/s", "iops"),
    "bandwidth": ("B/s", "bandwidth"),
    "mean": ("ns", "time"),
    "min": ("ns", "time"),
    "max": ("ns", "time"),
    "stddev": ("ns", "time"),
    "errors": ("", "number"),
    "verified": ("%", "share"),
    "gap": ("ns", "time"),
    "lateness": ("ns", "time"),
    "cpu": ("%", "share"),
    "iops_per_cpu": ("1/s per %", "number"),
    "system_cpu": ("%", "share"),
    "iops_per_system_cpu": ("1/s per %", "number"),
    "stack_cpu": ("%", "share"),
    "iops_per_stack_cpu": ("1/s per %", "number"),
    "watts": ("W", "number"),
    "iops_per_watt": ("1/s per W", "number"),
    "bandwidth_per_watt": ("B/s per W", "bandwidth"),
    "temperature": ("°C", "number"),
    "waf": ("x", "number"),
    "media_written": ("B", "size"),
    "dwpd": ("DWPD", "number"),
    "recovery": ("ns", "time"),
    "lost_work": ("", "number"),
    "sustained": ("1/s", "iops"),
    "sustained_bandwidth": ("B/s", "bandwidth"),
    "burst": ("", "number"),
    "burst_bytes": ("B", "size"),
    **dict.fromkeys(
        (
            *("kept", "rolled_back", "lost_flushed", "lost_fua"),
            *("older_than_durable", "torn", "misdirected", "foreign"),
            *("reordered", "overtaken", "torn_writes"),
        ),
        ("", "number"),
    ),
}
HOST = tuple(METRICS)[list(METRICS).index("cpu") :]
"""Measured for the whole run: a stream or a direction has none of its own."""
RATES = ("iops", "bandwidth")
"""Of these more is better, and the worst is the lowest."""
MOVED = ("bandwidth", "errors", "verified")
"""Metrics of I/Os that move data: a flush or a commit has none."""
OF_HOST_IN_INTERVALS = HOST[: HOST.index("waf")]
"""Telemetry of each interval: of the whole host."""
IN_INTERVALS = (
    *("iops", "bandwidth", "errors", "mean", "min", "max", "stddev"),
    *OF_HOST_IN_INTERVALS,
)
"""What is known of each interval of a run, besides percentiles."""
THROTTLED = ("sustained", "sustained_bandwidth", "burst", "burst_bytes")
"""What a throttled volume does: at last, and before that beyond it."""
EVENT_COSTS = ("recovery", "lost_work")
"""Counted from an event, against the intervals before it."""
OF_SERIES = (*EVENT_COSTS, *THROTTLED)
"""Made of a run's intervals."""
LEAST_BEFORE = 5
"""So many intervals before the first event tell the level, and how noisy it is."""
AT_THE_END = ("gap", *EVENT_COSTS)
"""What an event costs: a run has to reach its end, though a seek may ask for it."""
SURVIVAL = tuple(METRICS)[list(METRICS).index("kept") :]
"""What became of blocks and writes at a power cut."""
FOREIGN = {
    **dict.fromkeys(("bw", "throughput", "mbps", "mb"), "bandwidth"),
    **dict.fromkeys(("lat", "clat", "avg", "average"), "mean"),
    **{"median": "p50", "tail": "p99", "stdev": "stddev"},
    **{"maximum": "max", "minimum": "min", "temp": "temperature", "power": "watts"},
}
"""Words of other tools for a metric."""
PERCENTILE = re.compile(r"p([0-9]{1,2}(?:\.[0-9]{1,6})?)")


RECOVERING = ("iops", "bandwidth", "mean", "max", "p50", "p99", "p99.9")
"""What a recovery may be of."""
RECOVERY = re.compile(r"(\S*) of (\S+) to ([0-9_.]+) ?%(?: for (\S+))?")


DURING = " during "
WORST = "worst_second"
OF_INTERVALS = re.compile(r"intervals of (\S+) (above|below) (\S.*)")
OVER_INTERVALS = ("iops", "bandwidth", "errors", "mean", "max")
"""What a worst second and a share of intervals may be of, besides percentiles."""
IN_PHASES = ("iops", "bandwidth", "errors", "mean", "min", "max", "stddev")
"""What is known of a phase, besides percentiles."""
LATENCY = "latency"
"""All latencies, which a heatmap draws over time: no figure."""


class MetricError(ValueError):
    """There is no such metric."""


UNITS: dict[Kind, str] = {
    **{"iops": "1/s", "bandwidth": "B/s", "size": "B", "time": "ns"},
    **{"share": "%", "mix": "%", "passes": "", "number": ""},
}
"""The units in which quantities are kept."""


class Recovery(Struct, frozen=True):
    """Until `of` is at most, of a rate at least, this percentage of its level before
    an event, and stays so for this time."""

    of: str = "p99"
    to_percent: float = 120.0
    held_ns: float = 0.0


class Beyond(Struct, frozen=True):
    """Of intervals those in which a figure is above, or below, a limit in its unit."""

    is_above: bool
    limit: float


class Metric(Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """A figure of a run, perhaps of one stream or one direction only.

    `step` is one of the test's named steps. Of a test with a `seek` the axis is a
    metric, too: the value that was found, of the kind `sought`. During a `phase` it is
    of the I/Os whose intended start is in it. Of the `worst` second it is the highest
    of all seconds, of a rate the lowest; with `beyond` the share of the intervals in
    which it is there.
    """

    name: str
    stream: str | None = None
    direction: Direction | None = None
    sought: Kind | None = None
    step: str | None = None
    recovery: Recovery | None = None
    phase: str | None = None
    worst: bool = False
    beyond: Beyond | None = None

    def counts(self, step: str) -> bool:
        """Whether runs of the step with this name count, empty for one without."""
        return self.step in (None, step)

    @property
    def by_interval(self) -> bool:
        """Whether it is made of the counts of each interval of a run."""
        return self.worst or self.beyond is not None

    @property
    def plain(self) -> Metric:
        """What is looked at in each interval."""
        return replace(self, worst=False, beyond=None)

    @property
    def percent(self) -> float | None:
        """The percentile of a run, or of a phase, that the metric asks for."""
        return None if self.by_interval else percent_of(self.name)

    @property
    def unit(self) -> str:
        """The unit in which its values are kept."""
        if self.beyond:
            return "%"
        if self.sought:
            return UNITS[self.sought]
        return METRICS[self.name][0] if self.name in METRICS else "ns"

    @property
    def kind(self) -> Kind:
        """The kind of quantity that it is compared with."""
        if self.beyond:
            return "share"
        if self.sought:
            return self.sought
        return METRICS[self.name][1] if self.name in METRICS else "time"

    def __str__(self) -> str:
        worst = WORST if self.worst else None
        parts = (self.step, self.stream, self.direction, worst, self.name)
        name = ".".join(part for part in parts if part)
        if self.beyond:
            side = "above" if self.beyond.is_above else "below"
            limit = make(self.plain.kind, self.beyond.limit).text
            return f"intervals of {name} {side} {limit}"
        if self.phase:
            return f"{name}{DURING}{self.phase}"
        return f"{name}{_spoken(self.recovery)}" if self.recovery else name


def _spoken(recovery: Recovery) -> str:
    """As a plan writes it, behind the word."""
    held = _compact(recovery.held_ns) if recovery.held_ns else ""
    held = f" for {held}" if held else ""
    return f" of {recovery.of} to {recovery.to_percent:g}%{held}"


def at_the_end(metric: Metric) -> bool:
    """Whether it is known only when a run has ended, of which a seek may ask for it."""
    of_all = metric.phase is not None or metric.by_interval
    return of_all or metric.name in AT_THE_END


def why_not_in_intervals(metric: Metric) -> str:
    """Why a metric is not known of each interval of a run; empty where it is."""
    if metric.phase:
        return "a phase is a part of the time itself, and is drawn as a band"
    if metric.by_interval:
        return f"it is one figure of all intervals; draw {metric.plain}"
    if metric.sought:
        return "a seek finds it once"
    known = metric.percent is not None or metric.name in IN_INTERVALS
    return "" if known else f"intervals keep no {metric.name}"


def _hint(word: str, meant: str, known: Collection[str]) -> str:
    if meant == word:
        return did_you_mean(word, known)
    return f", did you mean {meant!r}?"


@cache
def percent_of(name: str) -> float | None:
    """The percentile of a metric's name; none of others."""
    found = PERCENTILE.fullmatch(name)
    return float(found[1]) if found else None


def _during(metric: Metric, phase: str) -> Metric:
    """Raises MetricError."""
    if metric.by_interval:
        raise MetricError(
            "a worst second or a share of intervals is of the whole run: intervals are "
            "not counted by phase"
        )
    if metric.percent is None and metric.name not in IN_PHASES:
        raise MetricError(
            f"{metric.name!r} is measured for the whole run, and not during a "
            "part of it"
        )
    return replace(metric, phase=phase_name(phase))


def phase_name(text: str) -> str:
    """A phase's name, or the stretch `10s..20s` with its times as ioplan writes them.

    Raises MetricError.
    """
    if ".." not in text:
        return text.strip()
    begin_ns, end_ns = stretch_ns(text)
    return f"{_compact(begin_ns)}..{_compact(end_ns)}"


def stretch_ns(text: str) -> tuple[int, int]:
    """Begin and end of a stretch such as `10s..20s`. Raises MetricError."""
    try:
        edges = [parse_quantity(edge.strip()) for edge in text.split("..")]
    except QuantityError as error:
        raise MetricError(f"{text}: {error}") from error
    times = [round(one.value) for one in edges if one.kind == "time" or not one.value]
    if len(times) != 2 or times[0] >= times[1]:
        raise MetricError(
            f"{text} is no stretch of a run: write begin and end as in 10s..20s"
        )
    return times[0], times[1]


def _compact(time_ns: float) -> str:
    return make("time", time_ns).text.replace(" ", "")


def parse_metric(
    text: str, streams: Collection[str] = (), steps: Collection[str] = ()
) -> Metric:
    """`p99`, `read.p99.999`, `reader.iops`, `later.reader.iops`, `p99 during burst`,
    `reader.worst_second.p99`, `intervals of p99 above 5ms`.

    Raises MetricError.
    """
    whole, during, phase = text.partition(DURING)
    if during:
        return _during(parse_metric(whole, streams, steps), phase)
    if found := OF_INTERVALS.fullmatch(text):
        of = parse_metric(found[1], streams, steps)
        return _over_intervals(replace(of, beyond=_beyond(of, found[2], found[3])))
    if found := RECOVERY.fullmatch(text):
        return replace(
            parse_metric(found[1], streams, steps), recovery=_recovery(*found.groups())
        )
    named, dot, after = text.partition(".")
    if dot and named in steps:
        return replace(parse_metric(after, streams), step=named)
    if re.match(r"p[0-9]", text) and not PERCENTILE.fullmatch(text):
        raise MetricError(
            f"unsupported percentile {text!r}; the highest is p99 with 6 more digits"
        )
    scope, rest = _prefixes(text, streams, steps)
    if rest == LATENCY:
        raise MetricError(
            "'latency' is all latencies, which only a heatmap over time draws: write "
            "mean, or a percentile such as p99"
        )
    if rest not in METRICS and not PERCENTILE.fullmatch(rest):
        known = (*METRICS, "p50", "p99", "p99.9", "p99.99", "p99.999")
        meant = FOREIGN.get(rest.lower(), rest)
        raise MetricError(f"unknown metric {rest!r}{_hint(rest, meant, known)}")
    if rest in HOST and rest != text:
        raise MetricError(
            f"{rest!r} is measured for the whole run, so write it without a prefix"
        )
    direction = scope.direction
    if direction and rest in ("gap", "lateness"):
        raise MetricError(
            f"a {rest} is of all I/Os of a stream, so write it without those"
        )
    if direction in SYNCS and rest in MOVED:
        raise MetricError(f"a {direction} has no {rest!r}, but latencies and iops")
    found_one = replace(scope, name=rest)
    return _over_intervals(found_one) if found_one.worst else found_one


def _prefixes(
    text: str, streams: Collection[str], steps: Collection[str]
) -> tuple[Metric, str]:
    """What stands before a metric's name, each once, and the name. Raises
    MetricError."""
    found, rest = Metric(name=""), text
    while "." in rest and not PERCENTILE.fullmatch(rest):
        first, _, rest = rest.partition(".")
        if first in COUNTED and found.direction is None:
            direction = next(d for d in COUNTED if d == first)
            found = replace(found, direction=direction)
        elif first == WORST and not found.worst:
            found = replace(found, worst=True)
        elif first in streams and found.stream is None:
            found = replace(found, stream=first)
        else:
            known = (*COUNTED, WORST, *streams, *steps)
            raise MetricError(
                f"{first!r} is neither a direction nor a stream of this test"
                f"{did_you_mean(first, known)}"
            )
    return found, rest


def _over_intervals(metric: Metric) -> Metric:
    """Raises MetricError for what intervals do not tell, or tell in two ways."""
    if metric.worst and metric.beyond:
        raise MetricError("a share of intervals is of a metric, not of a worst second")
    if percent_of(metric.name) is None and metric.name not in OVER_INTERVALS:
        known = " ".join(OVER_INTERVALS)
        raise MetricError(
            f"intervals are judged by {known} and percentiles, not by {metric.name!r}"
        )
    return metric


def _beyond(of: Metric, side: str, limit: str) -> Beyond:
    """Raises MetricError."""
    try:
        found = parse_quantity(limit)
    except QuantityError as error:
        raise MetricError(f"{limit}: {error}") from error
    if found.kind != of.kind and not (of.kind == "iops" and found.kind == "number"):
        raise MetricError(f"{of} is compared with a {of.kind}, not with {limit}")
    return Beyond(side == "above", float(found.value))


def _recovery(name: str, of: str, to: str, held: str | None) -> Recovery:
    """Raises MetricError."""
    if name.rpartition(".")[2] != "recovery":
        raise MetricError(f"only 'recovery' is of another metric, not {name!r}")
    if of not in RECOVERING:
        known = ", ".join(RECOVERING)
        raise MetricError(f"a recovery is of one of {known}, not of {of!r}")
    try:
        percent, held_for = float(to), parse_quantity(held) if held else None
    except (ValueError, QuantityError) as error:
        raise MetricError(f"{to} % for {held}: {error}") from error
    is_rate = of in RATES
    if held_for and held_for.kind != "time":
        raise MetricError(f"a recovery is held for a time, not for {held}")
    if not percent or ((percent > 100) == is_rate and percent != 100):
        wanted = "at most, as to 80%" if is_rate else "at least, as to 120%"
        raise MetricError(f"a recovery of {of} is to 100 % {wanted}")
    return Recovery(of, percent, held_for.value if held_for else 0.0)
