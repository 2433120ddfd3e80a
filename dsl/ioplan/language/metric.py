"""Metrics: what can be expected of a run, shown, or tracked until steady."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from ioplan.core.text import did_you_mean
from ioplan.language.quantity import Kind
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
}
HOST = tuple(METRICS)[list(METRICS).index("cpu") :]
"""Measured for the whole run: a stream or a direction has none of its own."""
MOVED = ("bandwidth", "errors", "verified")
"""Of I/Os that move data: a flush or a commit has none."""
IN_INTERVALS = (
    *("errors", "mean", "max", "p50", "p99", "p99.9"),
    *HOST[: HOST.index("waf")],
)
"""What is known of each interval of a run, besides rates."""
FOREIGN = {
    **dict.fromkeys(("bw", "throughput", "mbps", "mb"), "bandwidth"),
    **dict.fromkeys(("latency", "lat", "clat", "avg", "average"), "mean"),
    **{"median": "p50", "tail": "p99", "stdev": "stddev"},
    **{"maximum": "max", "minimum": "min", "temp": "temperature", "power": "watts"},
}
"""Words of other tools for a metric."""
PERCENTILE = re.compile(r"p([0-9]{1,2}(?:\.[0-9]{1,6})?)")


class MetricError(ValueError):
    """There is no such metric."""


UNITS: dict[Kind, str] = {
    **{"iops": "1/s", "bandwidth": "B/s", "size": "B", "time": "ns"},
    **{"share": "%", "mix": "%", "passes": "", "number": ""},
}
"""The units in which quantities are kept."""


class Metric(Struct, frozen=True, kw_only=True):
    """A figure of a run, perhaps of one stream or one direction only.

    `step` is one of the test's named steps. Of a test with a `seek` the axis is a
    metric, too: the value that was found, of the kind `sought`.
    """

    name: str
    stream: str | None = None
    direction: Direction | None = None
    sought: Kind | None = None
    step: str | None = None

    @property
    def percent(self) -> float | None:
        """The percentile that the metric asks for, if it does."""
        return _percent(self.name)

    @property
    def unit(self) -> str:
        """The unit in which its values are kept."""
        if self.sought:
            return UNITS[self.sought]
        return METRICS[self.name][0] if self.name in METRICS else "ns"

    @property
    def kind(self) -> Kind:
        """The kind of quantity that it is compared with."""
        if self.sought:
            return self.sought
        return METRICS[self.name][1] if self.name in METRICS else "time"

    def __str__(self) -> str:
        parts = (self.step, self.stream, self.direction, self.name)
        return ".".join(part for part in parts if part)


def why_not_in_intervals(metric: Metric) -> str:
    """Why a metric is not known of each interval of a run; empty where it is."""
    if metric.sought:
        return "a seek finds it once"
    if metric.stream:
        return "intervals keep the figures of all streams together"
    if metric.name in ("iops", "bandwidth"):
        return f"intervals count no {metric.direction}s" * (metric.direction in SYNCS)
    if metric.direction:
        return f"intervals keep the {metric.name} of all directions together"
    known = metric.name in IN_INTERVALS
    return "" if known else f"intervals keep no {metric.name}"


def _hint(word: str, meant: str, known: Collection[str]) -> str:
    if meant == word:
        return did_you_mean(word, known)
    return f", did you mean {meant!r}?"


@cache
def _percent(name: str) -> float | None:
    found = PERCENTILE.fullmatch(name)
    return float(found[1]) if found else None


def parse_metric(
    text: str, streams: Collection[str] = (), steps: Collection[str] = ()
) -> Metric:
    """`p99`, `read.p99.999`, `reader.iops`, `later.reader.iops`. Raises MetricError."""
    named, dot, after = text.partition(".")
    if dot and named in steps:
        found = parse_metric(after, streams)
        return replace(found, step=named)
    stream, direction, rest = None, None, text
    if re.match(r"p[0-9]", text) and not PERCENTILE.fullmatch(text):
        raise MetricError(
            f"unsupported percentile {text!r}; the highest is p99 with 6 more digits"
        )
    while "." in rest and not PERCENTILE.fullmatch(rest):
        first, _, rest = rest.partition(".")
        if first in COUNTED and direction is None:
            direction = next(d for d in COUNTED if d == first)
        elif first in streams and stream is None:
            stream = first
        else:
            known = (*COUNTED, *streams, *steps)
            raise MetricError(
                f"{first!r} is neither a direction nor a stream of this test"
                f"{did_you_mean(first, known)}"
            )
    if rest not in METRICS and not PERCENTILE.fullmatch(rest):
        known = (*METRICS, "p50", "p99", "p99.9", "p99.99", "p99.999")
        meant = FOREIGN.get(rest.lower(), rest)
        raise MetricError(f"unknown metric {rest!r}{_hint(rest, meant, known)}")
    if rest in HOST and rest != text:
        raise MetricError(
            f"{rest!r} is measured for the whole run, so write it without a prefix"
        )
    if direction in SYNCS and rest in MOVED:
        raise MetricError(f"a {direction} has no {rest!r}, but latencies and iops")
    return Metric(name=rest, stream=stream, direction=direction)
