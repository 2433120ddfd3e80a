"""A thread that pauses: bursts of I/Os, each of them with none outstanding at its end.

A burst may be far longer than a batch, but once the drive has got used to it, each I/O
of it is like the next. So a shorter burst is followed, and its later part stands for
what is left out. Its pause is shortened in proportion, so that other threads and other
streams meet it as often.
"""

from __future__ import annotations

from array import array
from math import ceil, sqrt
from statistics import fmean

import numpy as np

from ioplan_sim.io_source import IoSource, Samples
from ioplan_sim.load import StreamLoad
from ioplan_sim.spec import DriveSpec

WAVES, MAX_IOS = 16, 8192
"""The longest burst that is followed: so many I/Os over all threads, but so many times
the queue depth at least."""
MIN_BURSTS, MIN_CUT_BURSTS = 8, 3
"""How many bursts of a stream a batch must have: whole ones, and those that are cut."""


class PausingSource(IoSource):
    """One thread of a stream that pauses after every so many I/Os."""

    def __init__(
        self,
        load: StreamLoad,
        thread: int,
        stored: tuple[float, float],
        spec: DriveSpec,
        rng: np.random.Generator,
    ) -> None:
        super().__init__(load, False, stored, spec, rng)
        stream = load.stream
        self.every, self.threads = stream.pause_every, stream.threads
        self.outstanding = min(stream.qd, self.every)
        waves = max(WAVES, MAX_IOS // self.threads // self.outstanding // 2 * 2)
        self.ios = min(self.every, waves * self.outstanding)
        self.inner_from = self.inner_ios = 0
        if self.ios < self.every:
            self.inner_from = waves // 2 * self.outstanding
            self.inner_ios = self.ios - self.outstanding - self.inner_from
        self.pause_ns = stream.pause_ns * self.ios / self.every
        self.resume_ns = self.pause_ns * thread / self.threads
        self.issued = self.in_flight = 0
        self.start_ns = self.inner_start_ns = 0.0
        self.bursts_ns: list[float] = []
        self.inner_ns: list[float] = []
        self.outer = self.samples
        self.inner: Samples = [array("d") for _ in load.kinds]

    def clear_samples(self) -> None:
        """Forget latencies and times."""
        for sample in (*self.outer, *self.inner):
            del sample[:]
        self.bursts_ns.clear()
        self.inner_ns.clear()

    def lacks_bursts(self) -> bool:
        """Whether too few are complete."""
        needed = MIN_CUT_BURSTS if self.inner_ios else MIN_BURSTS
        return len(self.bursts_ns) < ceil(needed / self.threads)

    def deviation(self) -> float:
        """As sure as all threads together are."""
        self.samples = self.inner if self.inner_ios else self.outer
        return super().deviation() / sqrt(self.threads)

    def begin_burst(self, now_ns: float) -> None:
        """The pause is over."""
        self.issued, self.start_ns = 0, now_ns

    def count_issue(self, now_ns: float) -> None:
        """The next I/O of the burst is issued now."""
        place = self.issued - self.inner_from
        self.samples = self.inner if 0 <= place < self.inner_ios else self.outer
        if place == 0:
            self.inner_start_ns = now_ns
        elif place == self.inner_ios:
            self.inner_ns.append(now_ns - self.inner_start_ns)
        self.issued += 1
        self.in_flight += 1

    def end_burst(self, now_ns: float) -> None:
        """None is outstanding; the pause begins."""
        self.bursts_ns.append(now_ns - self.start_ns)
        self.resume_ns = now_ns + self.pause_ns

    def burst_ns(self) -> float:
        """The mean time of a whole burst, from first issue to last completion."""
        time_ns = fmean(self.bursts_ns)
        if self.inner_ios:
            each_ns = fmean(self.inner_ns) / self.inner_ios
            time_ns += each_ns * (self.every - self.ios)
        return time_ns

    @property
    def inner_share(self) -> float:
        """The share of a whole burst's I/Os that its inner part stands for."""
        left_out = self.every - self.ios
        return (self.inner_ios + left_out) / self.every if self.inner_ios else 0.0
