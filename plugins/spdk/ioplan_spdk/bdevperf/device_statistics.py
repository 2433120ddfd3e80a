"""Statistics of bdevperf's devices: when they are asked for, and what they say."""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np

from ioplan.backends import SECOND_NS, Bins, CountsBuilder, Direction, no_bins
from ioplan_spdk.bdevperf.meter import Meter
from ioplan_spdk.bdevperf.script import Script, statistics_calls
from ioplan_spdk.bdevperf.ticks import apportioned, dense, mean_ns, shaped
from ioplan_spdk.rpc.bdev import Call
from ioplan_spdk.rpc.client import (
    BadReply,
    Client,
    RpcError,
    RpcFault,
    RpcTimeout,
    number,
)

# The histogram of a mix's greater direction, which the upper device has.
#
# bdevperf sets that device's histogram to all I/O whenever a test starts. Once the
# test does I/O, the device is told to count one direction; until then, some ms, it
# counted the other one, too. How many of those there are, the counters say; how they
# are distributed, the other direction's own histogram at that moment.

LOOK_S = 0.004
"""How often bdevperf answers."""
MEAN_SHARE = 0.005
"""How far a histogram's mean may be from the exact one; buckets alone explain it."""
FOREIGN_WARNING = 0.1
"""How much of the other direction, as a share, is worth a warning."""


class MixedHistogram:
    """What is in it beside the direction that it is to have."""

    def __init__(self, client: Client, script: Script) -> None:
        self.client, self.script = client, script
        self.is_switched = script.switched is None
        self.foreign_ios = 0
        self._others = no_bins()

    def switch(self) -> None:
        """Switch the histogram, if the test does I/O by now; a refusal is no harm.

        Not before: bdevperf's own call would fail, and end the test.
        """
        try:
            if not self.is_switched and self._has_begun():
                self._switch()
        except (RpcFault, BadReply):
            return  # it is tried again, or the test's own connection tells

    def _has_begun(self) -> bool:
        found = self.client.call("bdev_get_histogram", {"name": self.script.run_on})
        return bool(dense(found).any())

    def _switch(self) -> None:
        assert self.script.switched
        (other,) = set(self.script.probes.values()) - {self.script.run_on}
        counted = Call("bdev_get_histogram", {"name": other})
        switched, others = self.client.call_together([self.script.switched, counted])
        if not isinstance(switched, RpcError) and not isinstance(others, RpcError):
            self._others, self.is_switched = dense(others), True

    def own(self, bins: Bins, counted: CountsBuilder) -> Bins:
        """Without what is of the other direction; `counted` is what there is of its
        own.

        The other direction was measured below the layer, and there may be many of it
        where the machine was too busy to switch at once: the mean is kept exact.
        """
        self.foreign_ios = max(0, int(bins.sum()) - counted.ios)
        left = self.without_foreign(bins)
        if not self.foreign_ios or not counted.ios:
            return left
        exact_ns = counted.sum_ns / counted.ios
        if abs(mean_ns(left) - exact_ns) <= exact_ns * MEAN_SHARE:
            return left
        return shaped(left, counted.ios, exact_ns)

    def warning(self, ios: int) -> str:
        """That much of the direction's histogram is estimated; empty if little is."""
        if self.foreign_ios <= ios * FOREIGN_WARNING:
            return ""
        return (
            "the machine was busy, and bdevperf started late to count one direction: "
            f"the latencies of {ios} I/Os are estimated from {ios + self.foreign_ios} "
            "of both"
        )

    def without_foreign(self, bins: Bins) -> Bins:
        """The bins without foreign I/Os, as many as before the counters were gone."""
        if not self.foreign_ios or not self._others.any():
            return bins
        left: Bins = np.maximum(bins - apportioned(self._others, self.foreign_ios), 0)
        ios = int(bins.sum()) - self.foreign_ios
        return apportioned(left, ios) if left.any() and ios > 0 else no_bins()


MIN_INTERVAL_S = 0.1
"""A histogram is 79 KB of text, made by the core that does the I/O."""
BEFORE_END_S = (0.1, 0.02)
"""When the histograms are asked for the last times: with the test they are gone. It
begins later than it is asked for, so the last look is not too late."""
BY_BYTES_S = 0.25
"""How often a test that its bytes end is looked at, at least."""


class Schedule:
    """Times in seconds after the test was asked for."""

    def __init__(self, interval_s: float, test_s: float, by_bytes: bool) -> None:
        self.interval_s = max(MIN_INTERVAL_S, interval_s)
        self.last_s = [max(before_s, test_s - before_s) for before_s in BEFORE_END_S]
        self.look_s = BY_BYTES_S if by_bytes else inf
        self.test_s = test_s
        self.point_s = self.interval_s
        self.next_s = 0.0
        self._plan(0.0)

    def passed(self, t_s: float) -> bool:
        """The statistics came; whether they make a point of the series.

        A reply so late that the test is over is left to its end.
        """
        is_point = self.point_s <= t_s < self.test_s
        if is_point:
            self.point_s = self.interval_s * (t_s // self.interval_s + 1)
        self._plan(t_s)
        return is_point

    def _plan(self, t_s: float) -> None:
        times = (self.point_s, *self.last_s, t_s + self.look_s)
        last_s = max(self.last_s)
        self.next_s = min((s for s in times if t_s < s <= last_s), default=inf)


class FinalCounters(NamedTuple):
    """What was done of each direction; and how much longer an I/O took above what is
    stacked on the target's device than below, in the mean, where something is."""

    ends: dict[Direction, CountsBuilder]
    layer_ns: float | None


def _stack(script: Script) -> tuple[str, str]:
    """The device that bdevperf runs on, and the target's own."""
    return script.run_on, script.bdev.name


class DeviceStatistics:
    """The counters and histograms of the devices that have them, by direction."""

    def __init__(self, client: Client, script: Script) -> None:
        self.client, self.script = client, script
        self.mixed = MixedHistogram(client, script)
        self.tick_rate = 0.0
        self.is_gone = False

    def poll(self, meter: Meter) -> None:
        """What is so at one moment. A late reply costs a point, not the run."""
        if self.is_gone or not self.mixed.is_switched:
            return
        try:
            replies = self.client.call_together(statistics_calls(self.script))
            probes = zip(
                self.script.probes.items(), replies[::2], replies[1::2], strict=True
            )
            for (direction, name), iostat, histogram in probes:
                counted = self._counters(iostat, name, direction)
                bins = self._own(direction, _bins(histogram), counted)
                meter.update(direction, counted, bins)
        except RpcTimeout:
            return
        except RpcFault as fault:
            # Its end is told by the test's own connection.
            if isinstance(fault, RpcError):
                meter.warnings.append(f"no statistics from then on: {fault}")
            self.is_gone = True

    def _own(
        self, direction: Direction, bins: Bins | None, counted: CountsBuilder
    ) -> Bins | None:
        """With the end of a test a histogram is empty, and has nothing of another."""
        is_mixed = self.script.switched and direction == self.script.printed
        if bins is None or not is_mixed or int(bins.sum()) < counted.ios:
            return bins
        return self.mixed.own(bins, counted)

    def final(self) -> FinalCounters:
        """The final counters; a process that was told to end has none left."""
        script = self.script
        names = list(dict.fromkeys((*script.probes.values(), *_stack(script))))
        calls = [("bdev_get_iostat", {"name": name}) for name in names]
        try:
            replies = dict(zip(names, self.client.call_together(calls), strict=True))
            ends = {
                direction: self._counters(replies[name], name, direction)
                for direction, name in script.probes.items()
            }
            return FinalCounters(ends, self._layer_ns(replies))
        except (RpcFault, BadReply):
            return FinalCounters({}, None)

    def _layer_ns(self, replies: dict[str, Any]) -> float | None:
        if not self.script.layers:
            return None
        ios = more_ns = 0
        for direction in self.script.probes:
            upper, lower = (
                self._counters(replies[name], name, direction)
                for name in _stack(self.script)
            )
            ios, more_ns = ios + upper.ios, more_ns + upper.sum_ns - lower.sum_ns
        return more_ns / ios if ios else None

    def _counters(self, reply: Any, name: str, direction: Direction) -> CountsBuilder:
        if isinstance(reply, RpcError):
            raise reply
        self.tick_rate = float(number(reply, "tick_rate"))
        return counters(reply, name, direction)


def _bins(reply: Any) -> Bins | None:
    """Releases without it still give counters."""
    return None if isinstance(reply, RpcError) else dense(reply)


KEYS: dict[Direction, tuple[str, str, str]] = {
    "read": ("num_read_ops", "bytes_read", "read"),
    "write": ("num_write_ops", "bytes_written", "write"),
    "trim": ("num_unmap_ops", "bytes_unmapped", "unmap"),
}


def counters(reply: Any, name: str, direction: Direction) -> CountsBuilder:
    """One direction of one device since the statistics were last reset, without a
    histogram. The extremes are rounded outwards, so that the mean lies between them.
    Raises BadReply."""
    stats = _of(reply, name)
    per_s = number(reply, "tick_rate")
    if per_s <= 0:
        raise BadReply(f"bdev_get_iostat has a tick rate of {per_s}")
    ios, moved, word = KEYS[direction]

    def ticks(key: str) -> int:
        return int(number(stats, key)) * SECOND_NS

    return CountsBuilder(
        ios=int(number(stats, ios)),
        bytes=int(number(stats, moved)),
        sum_ns=round(ticks(f"{word}_latency_ticks") / per_s),
        min_ns=int(ticks(f"min_{word}_latency_ticks") // per_s),
        max_ns=int(-(-ticks(f"max_{word}_latency_ticks") // per_s)),
    )


def _of(reply: Any, name: str) -> dict[str, Any]:
    bdevs = reply.get("bdevs") if isinstance(reply, dict) else None
    for stats in bdevs if isinstance(bdevs, list) else ():
        if isinstance(stats, dict) and stats.get("name") == name:
            return stats
    raise BadReply(f"bdev_get_iostat does not speak of {name}")
