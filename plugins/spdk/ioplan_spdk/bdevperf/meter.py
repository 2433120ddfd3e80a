"""From bdevperf's statistics to counts: intervals, and totals they add up to.

While a test runs, each direction's device gives its counters and its histogram.
The histogram is gone when the test has ended, the counters are not, and the reply
and the text of the test know the total. So:

- of an interval, the histogram's growth is the count, and the counters give its
  mean;
- the text's histogram is that of the one direction, or of a mix's greater one, and
  with it the total is exact;
- of a mix's other direction, and of a run at a rate, the counters' final values are
  exact. What came after the last histogram (some hundredths of a second) is given the
  shape of what came before, and the mean that is then missing; the run's facts say
  how many I/Os those were;
- the last interval is what then is missing, so that all of them add up.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ioplan.backends import (
    Bins,
    CountsBuilder,
    Direction,
    Progress,
    StreamCounts,
    bucket_index,
    bucket_range,
    no_bins,
)
from ioplan_spdk.bdevperf.outcome import Outcome
from ioplan_spdk.bdevperf.ticks import (
    apportioned,
    mean_ns,
    shaped,
    squares_ns2,
    within,
)

MEAN_SHARE = 0.005
"""How far a histogram's mean may be from the exact one; buckets alone explain it."""
TAIL_WARNING = 0.1
"""The share of a direction without a histogram that is worth a warning."""


def snapshot(counters: CountsBuilder, bins: Bins | None) -> CountsBuilder:
    """Counters and histogram of one moment as one.

    They were asked for at once, but one may count what the other does not: I/Os
    that were under way when it was reset.
    """
    if bins is None or not counters.ios:
        return counters
    count = int(bins.sum())
    sum_ns = round(counters.sum_ns * count / counters.ios)
    return counters.changed(ios=count, sum_ns=sum_ns, bins=bins)


def between(before: CountsBuilder, after: CountsBuilder) -> CountsBuilder:
    """What was done in between; extremes as far as the histogram knows them."""
    ios = max(0, after.ios - before.ios)
    bins = np.maximum(after.bins - before.bins, 0)
    if int(bins.sum()) != ios:
        bins = apportioned(bins, ios) if bins.any() and ios else no_bins()
    low_ns, high_ns = _extremes(bins, after)
    sum_ns = after.sum_ns - before.sum_ns
    sum_ns = max(ios * low_ns, min(sum_ns, ios * high_ns))
    if not ios:
        low_ns = high_ns = 0
    return CountsBuilder(
        ios=ios, sum_ns=sum_ns, min_ns=low_ns, max_ns=high_ns, bins=bins
    )


def _extremes(bins: Bins, whole: CountsBuilder) -> tuple[int, int]:
    index = np.flatnonzero(bins)
    if not len(index):
        return whole.min_ns, whole.max_ns
    low_ns = max(whole.min_ns, bucket_range(int(index[0]))[0])
    high_ns = min(whole.max_ns, bucket_range(int(index[-1]))[1] - 1)
    return min(low_ns, high_ns), max(low_ns, high_ns)


class Meter:
    """The counts of one test."""

    def __init__(
        self, stream: str, size_bytes: int, shares: Mapping[Direction, int]
    ) -> None:
        """`shares` are the directions, and what is asked of each in percent."""
        self.stream, self.size_bytes, self.shares = stream, size_bytes, shares
        self.reported = {direction: CountsBuilder() for direction in shares}
        self.now = {direction: CountsBuilder() for direction in shares}
        self.last_ns = 0
        self.warnings: list[str] = []
        self.tail_ios = 0

    def update(
        self, direction: Direction, counters: CountsBuilder, bins: Bins | None
    ) -> None:
        """Take what the direction's device has counted since the start.

        With the end of the test the histogram is empty: then the last one stands.
        """
        if bins is not None and int(bins.sum()) < max(1, self.now[direction].ios):
            return
        self.now[direction] = snapshot(counters, bins)

    @property
    def bytes(self) -> int:
        """How much was moved so far."""
        return self.size_bytes * sum(part.ios for part in self.now.values())

    def progress(self, t_ns: int, warmup: bool) -> Progress:
        """The interval since the last one."""
        t_ns = max(t_ns, self.last_ns + 1)
        parts = {d: between(self.reported[d], self.now[d]) for d in self.now}
        for direction, part in parts.items():
            self.reported[direction].merge(part)
        event = Progress(
            t_ns=t_ns,
            interval_ns=t_ns - self.last_ns,
            warmup=warmup,
            streams=(self._counts(parts),),
        )
        self.last_ns = t_ns
        return event

    def finish(
        self,
        found: Outcome,
        ends: Mapping[Direction, CountsBuilder],
        printed: Mapping[Direction, Bins],
    ) -> StreamCounts:
        """The totals; `progress` then gives the interval that completes them.

        `printed` is the text's histogram, with the direction that it is of.
        """
        if len(self.now) == 1 and printed:
            ((direction, bins),) = printed.items()
            self.now[direction] = self._single(found, ends.get(direction), bins)
        else:
            ends = self._ends(found, ends, printed)
            self.now = {
                d: self._completed(self.now[d], ends[d], printed.get(d))
                for d in self.now
            }
        return self._counts(self.now)

    def _single(
        self, found: Outcome, counters: CountsBuilder | None, printed: Bins
    ) -> CountsBuilder:
        (before,) = self.now.values()
        end = CountsBuilder(
            ios=found.ios,
            sum_ns=round(found.mean_ns * found.ios),
            min_ns=found.min_ns,
            max_ns=found.max_ns,
        )
        if counters and counters.ios == found.ios:
            end = counters  # exact, where the reply knows buckets only
        if int(printed.sum()) != end.ios:
            self.warnings.append("bdevperf printed no histogram that fits its count")
            return self._completed(before, end)
        return end.changed(bins=within(printed, end.min_ns, end.max_ns))

    def _ends(
        self,
        found: Outcome,
        ends: Mapping[Direction, CountsBuilder],
        printed: Mapping[Direction, Bins],
    ) -> dict[Direction, CountsBuilder]:
        """The final counters; without them, what the text tells of one direction, or
        else the total shared as it was so far."""
        if sum(end.ios for end in ends.values()) == found.ios:
            return dict(ends)
        for direction, bins in printed.items():
            if 0 < (count := int(bins.sum())) <= found.ios:
                (other,) = self.now.keys() - {direction}
                counted = {direction: count, other: found.ios - count}
                return {
                    d: _estimated(part, counted[d], found, printed.get(d))
                    for d, part in self.now.items()
                }
        shares = np.array([part.ios for part in self.now.values()])
        if not shares.any():
            shares = np.array(list(self.shares.values()))
        counts = apportioned(shares, found.ios).tolist()
        self.warnings.append(
            "the counters at the end do not fit the count of bdevperf; what came "
            "after the last statistics is shared as before, or without any as asked"
        )
        return {
            direction: _estimated(self.now[direction], count, found)
            for direction, count in zip(self.now, counts, strict=True)
        }

    def _completed(
        self, before: CountsBuilder, end: CountsBuilder, printed: Bins | None = None
    ) -> CountsBuilder:
        """The end, with the histogram so far and its shape for what is missing."""
        if printed is not None and end.ios == int(printed.sum()):
            return end.changed(bins=within(printed, end.min_ns, end.max_ns))
        if not before.bins.any():
            return end
        tail = end.ios - int(before.bins.sum())
        if tail < 0:
            return end.changed(bins=apportioned(before.bins, end.ios))
        self.tail_ios += tail
        if tail > end.ios * TAIL_WARNING:
            self.warnings.append(
                f"{tail} of {end.ios} I/Os came after the last histogram of their "
                f"direction; their latencies are estimated from the others"
            )
        bins = _lengthened(before, tail, end)
        return end.changed(bins=within(bins, end.min_ns, end.max_ns))

    def _counts(self, parts: Mapping[Direction, CountsBuilder]) -> StreamCounts:
        done = {d: self._complete(p).counts() for d, p in parts.items() if p.ios}
        return StreamCounts(name=self.stream, directions=done)

    def _complete(self, part: CountsBuilder) -> CountsBuilder:
        """With what bdevperf does not tell: bytes, as its I/Os have one size, and the
        squares."""
        squares = squares_ns2(part.bins, part.ios, part.sum_ns)
        return part.changed(bytes=part.ios * self.size_bytes, sum_sq_ns2=squares)


def _lengthened(before: CountsBuilder, tail: int, end: CountsBuilder) -> Bins:
    """The histogram and so many more, with the mean that is missing.

    Both sums are the counters', so what is left of them is exact too.
    """
    missing_ns = (end.sum_ns - before.sum_ns) / max(1, tail)
    missing_ns = max(float(end.min_ns), min(missing_ns, float(end.max_ns)))
    bins = within(shaped(before.bins, tail, missing_ns), end.min_ns, end.max_ns)
    if tail and abs(mean_ns(bins) - missing_ns) > missing_ns * MEAN_SHARE:
        # Unlike what came before: at their mean, as all else would be invented.
        bins = no_bins()
        bins[bucket_index(round(missing_ns))] = tail
    return before.bins + bins


def _estimated(
    now: CountsBuilder, count: int, found: Outcome, printed: Bins | None = None
) -> CountsBuilder:
    """A direction's end when only the total of both is known, and of one of them the
    printed histogram."""
    bins = now.bins if printed is None else printed
    each_ns = mean_ns(bins) or (now.sum_ns / now.ios if now.ios else found.mean_ns)
    low_ns = min(now.min_ns, found.min_ns) if now.ios else found.min_ns
    return CountsBuilder(
        ios=count,
        sum_ns=round(each_ns * count),
        min_ns=low_ns,
        max_ns=max(now.max_ns, found.max_ns),
    )
