"""What kind of I/O came, how large, when, how much at once, and how long it took."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import numpy as np
import numpy.typing as npt

from ioplan.core import latency_text
from ioplan.language import size_text
from ioplan.results.measure import Histogram
from ioplan.workload import Rate, SizeShare
from ioplan_witness.log import Entries
from ioplan_witness.offsets import (
    SIGMAS,
    Floats,
    chi_square_sigmas,
    gamma_below,
    ks_distance,
    share_sigmas,
)
from ioplan_witness.sighting import (
    DISCARD,
    FLUSH,
    READ,
    WRITE,
    Clause,
    StreamSighting,
)

BEAT = 4.0
"""Above it, arrivals have a beat, or gaps are not of their law: once in a million."""
FINEST_GAP_NS = 200_000
"""With shorter gaps, the host's scheduling is the larger part."""
MOST_TIMES, HOST_NS = 3.0, 5_000_000
"""A told mean is at most so many seen ones, and what a loaded host may add."""
LEAST_DEPTH = 0.35
"""The least mean share of the asked depth; the rest is backend's and host's time."""


def flow_clauses(seen: StreamSighting) -> Iterator[Clause]:
    """All that is asked of the flow of I/Os."""
    yield from _counts(seen)
    yield from _shares(seen)
    yield from _sizes(seen)
    yield _depth(seen)
    yield _threads(seen)
    if seen.stream.rate:
        yield from _arrivals(seen, seen.stream.rate)
    yield _flushes(seen)
    if seen.stream.fua:
        yield _forced(seen)
    yield from _latencies(seen)


def _counts(seen: StreamSighting) -> Iterator[Clause]:
    """Bytes that are told have been moved: all I/Os, in pieces or whole."""
    for kind, direction in ((READ, "read"), (WRITE, "write"), (DISCARD, "trim")):
        told, found = seen.counts(direction), seen.of(kind)
        if not told.ios and not len(found):
            continue
        slack = seen.outstanding * max(seen.stream.sizes_bytes)
        if direction == "read":
            slack += seen.told.verified_bytes  # read for that, and not counted
        moved = int(found["size"].astype(np.int64).sum())
        below = told.bytes - seen.outstanding * max(seen.stream.sizes_bytes)
        fits = below <= moved <= told.bytes + slack
        told_text = f"{told.ios} I/Os, {size_text(told.bytes)}"
        shown = f"{len(found)} I/Os, {size_text(moved)}"
        yield seen.clause(f"{direction} count", "", told_text, shown, fits)


def _shares(seen: StreamSighting) -> Iterator[Clause]:
    if seen.in_pieces:
        return
    stream, reads, writes = seen.stream, len(seen.of(READ)), len(seen.of(WRITE))
    trims = len(seen.of(DISCARD))
    if reads + writes and not stream.verify:
        yield _share(seen, "read share", reads, reads + writes, stream.read_percent)
    if trims or stream.trim_percent:
        total = reads + writes + trims
        yield _share(seen, "trim share", trims, total, stream.trim_percent)


def _share(
    seen: StreamSighting, name: str, count: int, total: int, percent: float
) -> Clause:
    sigmas = share_sigmas(count, total, percent / 100, seen.outstanding)
    told = _told_percent(seen, name)
    fits = sigmas <= SIGMAS if 0 < percent < 100 else count == total * percent / 100
    shown = f"{count / max(1, total):.1%}"
    return seen.clause(name, f"{percent:g} %", told, shown, fits)


def _told_percent(seen: StreamSighting, name: str) -> str:
    ios = {one: seen.counts(one).ios for one in ("read", "write", "trim")}
    part = ios["trim"] if name == "trim share" else ios["read"]
    whole = sum(ios.values()) - (0 if name == "trim share" else ios["trim"])
    return f"{part / whole:.1%}" if whole else ""


def _sizes(seen: StreamSighting) -> Iterator[Clause]:
    if seen.in_pieces:
        note = f"above {size_text(1 << 20)} they arrive in pieces"
        yield seen.clause("size", "", "", "", None, note)
        return
    both = ((READ, seen.stream.read_sizes), (WRITE, seen.stream.write_sizes))
    for kind, asked in both:
        if len(some := seen.of(kind)):
            yield _size(seen, ("read size", "write size")[kind], some, asked)


def _size(
    seen: StreamSighting, name: str, some: Entries, asked: tuple[SizeShare, ...]
) -> Clause:
    sizes, counts = np.unique(some["size"], return_counts=True)
    found = dict(zip(sizes.tolist(), counts.tolist(), strict=True))
    strange = set(found) - {one.size_bytes for one in asked}
    shares = np.array([one.percent for one in asked])
    known = np.array([found.get(one.size_bytes, 0) for one in asked])
    fits = not strange and chi_square_sigmas(known, shares) <= SIGMAS
    text = ", ".join(f"{size_text(o.size_bytes)} {o.percent:g} %" for o in asked)
    whole = len(some)
    shown = ", ".join(
        f"{size_text(one)} {100 * count / whole:.1f} %"
        for one, count in list(found.items())[:6]
    )
    return seen.clause(name, text, "", shown, fits)


def _depth(seen: StreamSighting) -> Clause:
    """It is reached and not exceeded; a stream with a rate or pauses needs less."""
    some = seen.entries
    spans = some["done_ns"].astype(np.int64) - some["arrived_ns"].astype(np.int64)
    length_ns = int(some["done_ns"].max() - some["arrived_ns"].min())
    mean = float(spans.sum()) / max(1, length_ns)
    most, asked = _most(some), seen.outstanding
    idle = seen.stream.rate or seen.stream.pause_ns or seen.stream.sync_every
    pieces = seen.in_pieces or len(seen.job.streams) > 1 or seen.stream.verify
    low = bool(idle) or pieces or (most >= asked and mean >= LEAST_DEPTH * asked)
    high = pieces or most <= asked
    shown = f"mean {mean:.2f}, most {most}"
    return seen.clause("depth", f"{asked}", "", shown, low and high)


def _most(some: Entries) -> int:
    """The largest number of I/Os outstanding at once."""
    times = np.concatenate([some["done_ns"], some["arrived_ns"]])
    steps = np.concatenate([np.full(len(some), -1), np.ones(len(some), np.int64)])
    order = np.argsort(times, kind="stable")
    return int(np.cumsum(steps[order]).max())


def _threads(seen: StreamSighting) -> Clause:
    """As many as asked at least: a blocking backend has one for each I/O."""
    found, asked = len(np.unique(seen.transfers["thread"])), seen.stream.threads
    most = max(asked, seen.outstanding)
    fits = asked <= found <= most + 1
    return seen.clause("threads", f"{asked}", "", f"{found}", fits)


def _arrivals(seen: StreamSighting, rate: Rate) -> Iterator[Clause]:
    arrived_ns = seen.entries["arrived_ns"][seen.entries["kind"] != FLUSH]
    gaps_ns = np.diff(arrived_ns.astype(np.float64))
    if len(gaps_ns) < 50 or rate.iops is None or rate.changes:
        note = "the rate is of bytes, changes, or had too few I/Os"
        yield seen.clause("arrivals", rate.arrivals, "", "", None, note)
        return
    length_s = float(gaps_ns.sum()) / 1e9
    expected = rate.iops * length_s
    spread = SIGMAS * rate.gap_variation * sqrt(expected)
    if rate.arrivals == "fixed":
        spread = 0.02 * expected
    backlog = seen.told.backlog_ios
    fits = abs(len(gaps_ns) + backlog - expected) <= spread + seen.outstanding + 2
    shown = f"{len(gaps_ns) / length_s:.0f} iops"
    yield seen.clause("rate", f"{rate.iops:g} iops", "", shown, fits)
    yield _process(seen, rate, gaps_ns)


def _process(seen: StreamSighting, rate: Rate, gaps_ns: Floats) -> Clause:
    """A fixed rate has a beat; drawn arrivals have none, and gaps of their law."""
    mean_ns = float(gaps_ns.mean())
    beat = _beat(seen, rate)
    finest = FINEST_GAP_NS / mean_ns
    distance = ks_distance(gaps_ns / mean_ns, gamma_below(rate.gap_variation), finest)
    late = latency_text(_lateness_ns(gaps_ns, mean_ns))
    shown = f"beat {beat:.1f}, off their gaps {distance:.1f}, p99 late by {late}"
    if mean_ns < FINEST_GAP_NS:
        note = "so fast that the host decides"
        return seen.clause("arrivals", rate.arrivals, "", shown, None, note)
    fits = beat > BEAT if rate.arrivals == "fixed" else max(beat, distance) <= BEAT
    return seen.clause("arrivals", rate.arrivals, "", shown, fits)


def _beat(seen: StreamSighting, rate: Rate) -> float:
    """How far arrivals are from being anywhere between two ticks of the rate.

    Threads may share the ticks, or have their own.
    """
    io = seen.transfers
    tick_ns = 1e9 / (rate.iops or 1)
    parts = [(io["arrived_ns"], tick_ns)]
    for thread in np.unique(io["thread"]):
        own_ns = io["arrived_ns"][io["thread"] == thread]
        parts.append((own_ns, tick_ns * seen.stream.threads))
    return max(_off_uniform(times, tick) for times, tick in parts)


def _off_uniform(arrived_ns: npt.NDArray[np.uint64], tick_ns: float) -> float:
    """Rayleigh's: the mean of the phases on a circle, times the root of the count."""
    since_ns = (arrived_ns - arrived_ns[0]).astype(np.float64)
    phases = np.exp(2j * np.pi * since_ns / tick_ns)
    return float(abs(phases.mean())) * sqrt(len(phases))


def _lateness_ns(gaps_ns: Floats, mean_ns: float) -> float:
    """The 99th percentile, against the schedule that the earliest I/O keeps."""
    off_ns = np.cumsum(gaps_ns) - np.arange(1, len(gaps_ns) + 1) * mean_ns
    return float(np.percentile(off_ns - np.median(off_ns), 99))


def _flushes(seen: StreamSighting) -> Clause:
    """One after so many writes of each thread; FUA writes count, too."""
    every, found = seen.stream.sync_every, len(seen.of(FLUSH))
    writes = seen.of(WRITE)
    found += 0 if seen.stream.fua else int(writes["fua"].sum())
    told = f"{seen.told.sync_ios}"
    if every is None:
        few = found <= 2 * seen.stream.threads + 2
        return seen.clause("sync", "none", told, f"{found}", few or seen.in_pieces)
    expected, slack = len(writes) / every, seen.stream.threads + seen.outstanding + 2
    fits = abs(found - expected) <= slack and abs(found - seen.told.sync_ios) <= slack
    text = f"one in {every}: {expected:.0f}"
    return seen.clause("sync", text, told, f"{found}", fits)


def _forced(seen: StreamSighting) -> Clause:
    """Each write says so: a flush behind it would not be the same."""
    writes = seen.of(WRITE)
    found = int(writes["fua"].sum())
    shown = f"{found} of {len(writes)} writes"
    return seen.clause("fua", "each write", "", shown, found == len(writes))


def _latencies(seen: StreamSighting) -> Iterator[Clause]:
    """Told ones contain the device's own, and not much more."""
    if seen.in_pieces:
        return
    for kind, direction in ((READ, "read"), (WRITE, "write"), (DISCARD, "trim")):
        told, some = seen.counts(direction), seen.of(kind)
        if not told.ios or not len(some):
            continue
        spans_ns = some["done_ns"].astype(np.int64) - some["arrived_ns"].astype(
            np.int64
        )
        mean_ns, p99_ns = (
            told.sum_ns / told.ios,
            Histogram.of(told.bins).percentile_ns(99),
        )
        own_ns, own_p99_ns = float(spans_ns.mean()), float(np.percentile(spans_ns, 99))
        high_ns = MOST_TIMES * own_ns + HOST_NS
        late = seen.stream.rate is not None  # counted from when it was due
        fits = 0.97 * own_ns <= mean_ns and (late or mean_ns <= high_ns)
        shown = f"mean {latency_text(own_ns)}, p99 {latency_text(own_p99_ns)}"
        text = f"mean {latency_text(mean_ns)}, p99 {latency_text(p99_ns)}"
        yield seen.clause(f"{direction} latency", "", text, shown, fits)
