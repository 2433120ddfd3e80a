"""What a trace is like: rates, sizes, shares, places, gaps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from numpy.lib.stride_tricks import sliding_window_view

from ioplan.trace.prepared import FLUSH, NO_RESPONSE, READ, WRITE, Ios, Prepared

# How many I/Os of a trace were outstanding, from how long each took.

COLUMNS = 48
"""So many equal parts of a trace are told apart where it is drawn."""


class Outstanding(Struct, frozen=True):
    """Of I/Os whose completion is known, all others are `unknown`.

    `mean` is over the time to the last arrival, `most` and `along` (the most in each
    of COLUMNS parts of that time) are what arrivals find, with themselves.
    """

    mean: float
    most: int
    along: tuple[int, ...]
    unknown: int


class Waiting:
    """Goes through a trace in the order of its times."""

    def __init__(self, span_ns: int) -> None:
        self.span_ns, self.unknown, self.busy_ns = span_ns, 0, 0.0
        self.along = np.zeros(COLUMNS, np.int64)
        self.ends = np.empty(0, "u8")

    def add(self, ios: Ios) -> None:
        """The next part of it."""
        known = ios[ios["response_ns"] != NO_RESPONSE]
        self.unknown += len(ios) - len(known)
        if not len(known):
            return
        times, before = known["time_ns"], len(self.ends)
        ends = times + known["response_ns"]
        inside = np.minimum(ends, np.uint64(self.span_ns)) - times
        self.busy_ns += float(inside.sum(dtype=np.float64))
        ends = np.maximum(ends, times + np.uint64(1))  # its arrival finds itself
        self.ends = np.sort(np.concatenate((self.ends, ends)))
        over = np.searchsorted(self.ends, times, "right")
        begun = before + np.arange(1, len(times) + 1)
        np.maximum.at(self.along, columns_of(times, self.span_ns), begun - over)
        self.ends = self.ends[over[-1] :]

    def found(self) -> Outstanding:
        """Of all of it."""
        mean = self.busy_ns / self.span_ns if self.span_ns else 0.0
        along = tuple(self.along.tolist())
        return Outstanding(mean, max(along), along, self.unknown)


def columns_of(times: npt.NDArray[np.uint64], span_ns: int) -> npt.NDArray[np.int64]:
    """In which part of the trace each time is."""
    columns = (times * (COLUMNS / max(1, span_ns))).astype(np.int64)
    return np.minimum(columns, COLUMNS - 1)


SECOND_NS = 10**9
UNIT = 20
"""Places are told in units of 1 MiB, 2^20 bytes."""
HOTTEST = 0.1
MOST_WIDE = 1 << 16
"""So many I/Os over more than two units are kept apart."""


class TraceSummary(Struct, frozen=True):
    """Figures of all I/Os; shares and the variation are from 0 and have no unit.

    `kinds` counts reads, writes, flushes and discards, `sizes` the bytes of I/Os with
    data. `gap_variation` is the standard deviation of the times between arrivals over
    their mean: 1 for Poisson, more for bursts. `sequential_share` is of I/Os that begin
    where one of the STREAMS before ended. `touched_bytes` is the footprint in units of
    1 MiB, and `hot_share` of I/Os that begin in the hottest tenth of these. `rates` are
    IOPS and `outstanding` how many I/Os there are at a time, both along the trace.
    """

    ios: int
    span_ns: int
    end_bytes: int
    moved_bytes: int
    touched_bytes: int
    kinds: tuple[int, int, int, int]
    sizes: Counter[int]
    peak_iops: int
    gap_variation: float
    sequential_share: float
    hot_share: float
    rates: tuple[float, ...]
    outstanding: Outstanding | None

    @property
    def read_share(self) -> float:
        """The share of reads among reads and writes."""
        data = self.kinds[READ] + self.kinds[WRITE]
        return self.kinds[READ] / data if data else 0.0


STREAMS = 32
"""An I/O is sequential that begins where one of so many before it ended: several
programs at once read in sequence, too."""
NO_END = 2**63
"""Before the first I/O: nothing begins there."""


class _Sums:
    def __init__(self) -> None:
        self.kinds = np.zeros(4, np.int64)
        self.sizes: Counter[int] = Counter()
        self.seconds: Counter[int] = Counter()
        self.units: Counter[int] = Counter()
        self.wide: set[tuple[int, int]] = set()
        self.moved = self.sequential = self.gaps = 0
        self.gap_sum = self.gap_squares = 0.0
        self.last_ns: int | None = None
        self.ends = np.full(STREAMS, NO_END, "u8")

    def hot_share(self, touched: int) -> float:
        """Of so many units that were touched, how much begins in the hottest ones."""
        hottest = max(1, round(HOTTEST * touched))
        most = sum(count for _, count in self.units.most_common(hottest))
        return most / max(1, self.units.total())

    def touched(self) -> int:
        """How many units: those of both ends of I/Os, and all between."""
        found = _merged(self.wide)
        ends, units = np.array(found or [(-1, -1)]), np.array(sorted(self.units))
        at = np.searchsorted(ends[:, 0], units, "right") - 1
        apart = int(((at < 0) | (units > ends[at, 1])).sum())
        return apart + sum(last + 1 - first for first, last in found)

    def add(self, ios: Ios) -> None:
        """The next part of the trace, which has an I/O at least."""
        self.kinds += np.bincount(ios["kind"], minlength=4)
        self._add_times(ios["time_ns"])
        data = ios[ios["kind"] != FLUSH]
        if not len(data):
            return
        self.sizes.update(_counts(data["size"]))
        self.moved += int(data["size"].astype("u8").sum())
        ends = data["offset"] + data["size"]
        first, last = data["offset"] >> UNIT, (ends - (ends > 0)) >> UNIT
        self.units.update(_counts(first))
        self.units.update(dict.fromkeys(np.unique(last).tolist(), 0))
        wide = last > first + 1
        self.wide.update(zip(first[wide].tolist(), last[wide].tolist(), strict=True))
        if len(self.wide) > MOST_WIDE:
            self.wide = {*_merged(self.wide)}
        before = np.concatenate((self.ends, ends[:-1]))
        earlier = sliding_window_view(before, STREAMS)
        self.sequential += int((data["offset"][:, None] == earlier).any(1).sum())
        self.ends = np.append(before, ends[-1])[-STREAMS:]

    def _add_times(self, times: np.ndarray) -> None:
        self.seconds.update(_counts(times // SECOND_NS))
        before = times[:1] if self.last_ns is None else [self.last_ns]
        gaps = np.diff(times.astype(np.float64), prepend=before)
        gaps = gaps[self.last_ns is None :]
        self.gaps += len(gaps)
        self.gap_sum += float(gaps.sum())
        self.gap_squares += float((gaps**2).sum())
        self.last_ns = int(times[-1])

    def variation(self) -> float:
        if not self.gaps or not self.gap_sum:
            return 0.0
        mean = self.gap_sum / self.gaps
        return float(max(0.0, self.gap_squares / self.gaps - mean**2) ** 0.5 / mean)


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Without overlaps, in their order; each is from its first to its last."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1]:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return found


def _counts(values: np.ndarray) -> dict[int, int]:
    """How often there is each of these."""
    found, counts = np.unique(values, return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


def summary(trace: Prepared) -> TraceSummary:
    """All figures in one pass, in the memory of one part."""
    sums, header = _Sums(), trace.header
    along = np.zeros(COLUMNS, np.int64)
    waiting = Waiting(header.span_ns) if header.answers else None
    for _, ios in trace.chunks():
        sums.add(ios)
        along += np.bincount(
            columns_of(ios["time_ns"], header.span_ns), minlength=COLUMNS
        )
        if waiting:
            waiting.add(ios)
    reads, writes, flushes, discards = sums.kinds.tolist()
    touched = sums.touched()
    return TraceSummary(
        ios=header.count,
        span_ns=header.span_ns,
        end_bytes=header.end_bytes,
        moved_bytes=sums.moved,
        touched_bytes=touched << UNIT,
        kinds=(reads, writes, flushes, discards),
        sizes=sums.sizes,
        peak_iops=max(sums.seconds.values()),
        gap_variation=sums.variation(),
        sequential_share=sums.sequential / max(1, sums.sizes.total()),
        hot_share=sums.hot_share(touched),
        rates=tuple((along * COLUMNS * SECOND_NS / max(1, header.span_ns)).tolist()),
        outstanding=waiting.found() if waiting else None,
    )
