"""The histogram of a mix's greater direction, which the upper device has.

bdevperf sets that device's histogram to all I/O whenever a test starts. Once the test
does I/O, the device is told to count one direction; until then, some ms, it counted the
other one, too. How many of those there are, the counters say; how they are distributed,
the other direction's own histogram at that moment.
"""

from __future__ import annotations

import numpy as np

from ioplan.results.measure.tally import Bins, CountsBuilder, no_bins
from ioplan_spdk.bdevperf.script import Script
from ioplan_spdk.bdevperf.ticks import apportioned, dense, mean_ns, shaped
from ioplan_spdk.rpc.bdev import Call
from ioplan_spdk.rpc.client import BadReply, Client, RpcError, RpcFault

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
