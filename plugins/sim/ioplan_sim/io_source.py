"""A stream in a batch: what chance decides for its next I/Os, drawn beforehand."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Sequence
from math import ceil, inf, sqrt
from statistics import fmean

import numpy as np

from ioplan_sim.load import IoKind, StreamLoad
from ioplan_sim.placement import Floats, last_drawn, quantiles, scattered
from ioplan_sim.spec import MAP_BYTES, DriveSpec

DRAWS = 2048
"""So many I/Os are drawn at once."""
PARTS = 8
"""A batch tells how sure its means are by those of so many parts."""
RETRY_TIMES = 5.0
JITTER = 0.1
"""How much the overhead of a command varies."""

Samples = list["array[float]"]
"""Latencies by kind, in ns; in a list each would take four times the memory."""


class IoSource:
    """Where the I/Os of one stream come from, and the latencies that they had."""

    def __init__(
        self,
        load: StreamLoad,
        open_loop: bool,
        stored: tuple[float, float],
        spec: DriveSpec,
        rng: np.random.Generator,
    ) -> None:
        self.load, self.kinds = load, load.kinds
        self.open_loop, self.stored, self.spec, self.rng = open_loop, stored, spec, rng
        stream = load.stream
        self.goes_on = stream.pattern == "sequential" or stream.goes_on
        self.free = self.outstanding = load.outstanding
        self.waiting: deque[float] = deque()
        self.samples: Samples = [array("d") for _ in load.kinds]
        self.number = self.writes = 0
        self.commits_ns, self.uncovered_ns = array("d"), inf
        self.last_page, self.ready_ns = -1, 0.0
        piece = max(1.0, min(stored[1], spec.page_pages))
        self.reads = [read_size(kind, piece) for kind in load.kinds]
        self.sync_every = 1 if stream.fua else stream.sync_every
        self.draw()

    def draw(self) -> None:
        """Let chance decide on the next I/Os."""
        spec, rng = self.spec, self.rng
        self.choice = self._choices(rng)
        self.first_pages = self._first_pages(spec, rng)
        self.read_ns = self._read_times(spec, rng)
        self.is_stored = (rng.random(DRAWS) < self.stored[0]).tolist()
        delays_ns = spec.host.overhead * rng.uniform(1 - JITTER, 1 + JITTER, DRAWS)
        self.delays_ns: Sequence[float] = array("d", delays_ns.tobytes())
        self.gaps_ns = self._gaps(rng) if self.open_loop else None

    def clear_samples(self) -> None:
        """Forget the latencies; what is under way still comes."""
        for sample in (*self.samples, self.commits_ns):
            del sample[:]

    @property
    def has_gone_round(self) -> bool:
        """Whether each I/O of a closed loop has followed one that was complete: the
        first ones all begin at once, and wait less."""
        return self.open_loop or self.number > 2 * self.outstanding

    def commit(self, write_ns: float, flushed_ns: float | None) -> None:
        """A write that was due then is complete, and flushed, if it is the last of its
        commit."""
        self.uncovered_ns = min(self.uncovered_ns, write_ns)
        if flushed_ns is not None:
            self.commits_ns.append(flushed_ns - self.uncovered_ns)
            self.uncovered_ns = inf

    def deviation(self) -> float:
        """The relative standard error of the mean latency, from the means of parts.

        A kind too rare to say is left out.
        """
        means_ns = np.zeros(PARTS)
        for kind, sample in zip(self.kinds, self.samples, strict=True):
            if len(sample) >= PARTS:
                parts = np.array_split(np.array(sample), PARTS)
                means_ns += kind.share * np.array([part.mean() for part in parts])
        error_ns = float(means_ns.std(ddof=1)) / sqrt(PARTS)
        return error_ns / float(means_ns.mean()) if error_ns else 0.0

    def _choices(self, rng: np.random.Generator) -> list[int]:
        """Kinds in their shares, as exactly as so many draws allow."""
        ends = np.cumsum(self.load.shares)
        points = (np.arange(DRAWS) + rng.random()) / DRAWS * ends[-1]
        found = rng.permutation(np.searchsorted(ends, points))
        made: list[int] = np.minimum(found, len(self.kinds) - 1).tolist()
        return made

    def _first_pages(self, spec: DriveSpec, rng: np.random.Generator) -> Sequence[int]:
        """Pages of the dies where the I/Os begin."""
        stream, pages = self.load.stream, self.load.mean_bytes / spec.flash.page
        if stream.pattern == "sequential":
            return [int(n * pages) for n in range(DRAWS)]
        region = stream.region_bytes
        slots = max(1, int(region // max(self.load.mean_bytes, MAP_BYTES)))
        drawn = (quantiles(stream, DRAWS, rng) * slots).astype(np.int64)
        found = scattered(stream, drawn, slots) * 7919 % 1_000_003
        if stream.goes_on:  # the others begin where the last one ended
            last = np.maximum(0, last_drawn(self._drawn_percents(), DRAWS, rng))
            found = found[last] + ((np.arange(DRAWS) - last) * pages).astype(np.int64)
        return array("q", found.tobytes())

    def _drawn_percents(self) -> Floats:
        """How likely each of the next I/Os is random."""
        by_kind = [self.load.stream.drawn_percent(one.direction) for one in self.kinds]
        return np.array(by_kind)[self.choice]

    def _read_times(self, spec: DriveSpec, rng: np.random.Generator) -> Sequence[float]:
        spread = spec.flash.spread / 100
        times = 1 + spread * np.linspace(-1, 1, DRAWS)
        retries = int(DRAWS * spec.flash.retries / 100 + rng.random())
        times = rng.permutation(times)
        times[:retries] *= RETRY_TIMES
        mean = times.mean()
        drawn = rng.permutation(times) * spec.flash.read / mean
        return array("d", drawn.tobytes())

    def _gaps(self, rng: np.random.Generator) -> list[float]:
        gap_ns, rate = 1 / self.load.rate_per_ns, self.load.stream.rate
        if rate and rate.arrivals != "fixed":  # Poisson's vary by 1
            drawn = rng.standard_gamma(rate.gap_variation**-2, DRAWS)
            made: list[float] = (drawn / drawn.mean() * gap_ns).tolist()
            return made
        return [gap_ns] * DRAWS


def read_size(kind: IoKind, piece: float) -> tuple[int, int, float]:
    """A read's bytes, its pages of the dies, and the bytes that each of these gives."""
    count = max(1, round(kind.pages / piece))
    return kind.size_bytes, count, max(kind.size_bytes, MAP_BYTES) / count


# A thread that pauses: bursts of I/Os, each of them with none outstanding at its end.
#
# A burst may be far longer than a batch, but once the drive has got used to it, each
# I/O of it is like the next. So a shorter burst is followed, and its later part
# stands for what is left out. Its pause is shortened in proportion, so that other
# threads and other streams meet it as often.

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

    @property
    def has_gone_round(self) -> bool:
        """What waits is the beginning of a burst, too."""
        return True

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
