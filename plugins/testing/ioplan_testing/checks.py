"""What must hold of a run: pure functions, whose assertions say what does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import sqrt

import numpy as np
import numpy.typing as npt

from ioplan.job import (
    SECOND_NS,
    Counts,
    Event,
    Failure,
    Job,
    Progress,
    Result,
    Started,
    StreamCounts,
)
from ioplan.records import Asked, RunRecord
from ioplan.results.measure import Histogram, Measurement, faults
from ioplan.workload import SizeShare

SIGMAS = 5.0
"""So rarely is a right backend called wrong: once in a million tests."""
PERCENTILES = (0.1, 1, 10, 25, 50, 75, 90, 99, 99.9, 99.99)


def result_of(events: Sequence[Event]) -> Result:
    """The Result of a run that went well."""
    last = events[-1] if events else None
    assert not isinstance(last, Failure), f"the run failed: {last}"
    assert isinstance(last, Result), (
        f"the run ended without a Result: {described(last)}"
    )
    errors = sum(one.errors for _, one in directions(last))
    assert not errors, f"{errors} I/Os failed on a sound target"
    assert ios_of(last), "the run did no I/O"
    return last


def described(event: Event | None) -> str:
    """An event in a few words."""
    if isinstance(event, Result | Progress):
        return f"a {type(event).__name__} with {ios_of(event)} I/Os"
    return repr(event)


def directions(event: Result | Progress) -> Iterator[tuple[str, Counts]]:
    """All counts, with the names of their stream and direction."""
    for stream in event.streams:
        for direction, counts in stream.directions.items():
            yield f"{stream.name} {direction}", counts


def ios_of(event: Result | Progress) -> int:
    """I/Os over all streams and directions."""
    return sum(one.ios for _, one in directions(event))


def bytes_of(event: Result | Progress) -> int:
    """Bytes over all streams and directions."""
    return sum(one.bytes for _, one in directions(event))


def of(stream: StreamCounts, direction: str) -> Counts:
    """One direction of a stream; nothing counts as zeros."""
    return next((c for d, c in stream.directions.items() if d == direction), Counts())


def check_share(what: str, ios: int, total: int, percent: float, slack: int) -> None:
    """A share is within statistics; `slack` I/Os may be under way at either end."""
    share = percent / 100
    expected = total * share
    allowed = SIGMAS * sqrt(total * share * (1 - share)) + slack
    if share in (0, 1):
        allowed = 0
    assert abs(ios - expected) <= allowed, (
        f"{what}: {ios} of {total} I/Os are {ios / max(total, 1):.2%}, but "
        f"{percent:g} % were asked, give or take {allowed / max(total, 1):.2%}"
    )


def check_sizes(
    what: str, counts: Counts, wanted: Sequence[SizeShare], slack: int
) -> None:
    """The mean size is within statistics of the distribution's."""
    mean = sum(one.size_bytes * one.percent for one in wanted) / 100
    square = sum(one.size_bytes**2 * one.percent for one in wanted) / 100
    spread = sqrt(max(0.0, square - mean**2))
    largest = max(one.size_bytes for one in wanted) if spread else 0
    found = counts.bytes / counts.ios
    allowed = SIGMAS * spread / sqrt(counts.ios) + slack * largest / counts.ios
    assert abs(found - mean) <= allowed + 1e-6, (
        f"{what}: the mean size is {found:.0f} B, but the distribution's is "
        f"{mean:.0f} B, give or take {allowed:.0f} B"
    )


def held_depth(result: Result) -> float:
    """Little's law: what is outstanding in the mean is IOPS times latency."""
    return sum(one.sum_ns for _, one in directions(result)) / result.run_ns


def check_depth(result: Result, outstanding: int, tolerance: float) -> None:
    """The queue depth was held, by Little's law."""
    held = held_depth(result)
    assert abs(held - outstanding) <= outstanding * tolerance, (
        f"IOPS times mean latency is {held:.2f} outstanding I/Os, but {outstanding} "
        f"were asked, give or take {tolerance:.0%}"
    )


def check_order(events: Sequence[Event], job: Job) -> None:
    """Started, the warm-up's intervals, the measured ones, and one Result."""
    assert isinstance(events[0], Started), f"the first event is {described(events[0])}"
    assert isinstance(events[-1], Result), f"the last event is {described(events[-1])}"
    parts = [event for event in events[1:-1] if isinstance(event, Progress)]
    assert len(parts) == len(events) - 2, "Started or an end came in between"
    warm = [part.warmup for part in parts]
    assert warm == sorted(warm, reverse=True), "the warm-up came after its end"
    assert bool(job.warmup_ns) or not any(warm), "a warm-up that nobody asked for"
    assert False in warm, "no interval was told of the measured part"
    for before, after in pairwise(parts):
        if before.warmup == after.warmup:
            assert before.t_ns < after.t_ns, "the intervals are not in order of time"
    names = [stream.name for stream in job.streams]
    ends: list[Progress | Result] = [*parts, events[-1]]
    for event in ends:
        assert [s.name for s in event.streams] == names, "streams have other names"


def check_sums(events: Sequence[Event]) -> None:
    """The measured intervals add up to the Result."""
    result = result_of(events)
    seen: dict[str, tuple[int, int, int]] = {}
    for event in events:
        if isinstance(event, Progress) and not event.warmup:
            for where, one in directions(event):
                ios, size, errors = seen.get(where, (0, 0, 0))
                seen[where] = ios + one.ios, size + one.bytes, errors + one.errors
    for where, one in directions(result):
        total, added = (one.ios, one.bytes, one.errors), seen.pop(where, (0, 0, 0))
        assert added == total, (
            f"{where}: the intervals add up to {added} I/Os, bytes and errors, but "
            f"the Result has {total}"
        )
    assert not any(any(one) for one in seen.values()), f"not in the Result: {seen}"


def check_histograms(event: Result | Progress) -> None:
    """The histogram counts each I/O, and agrees with the exact sums."""
    for where, one in directions(event):
        bins = Histogram.of(one.bins)
        assert bins.total == one.ios, (
            f"{where}: the histogram counts {bins.total} latencies, but {one.ios} "
            f"I/Os completed"
        )
        if one.ios:
            _check_mean(where, bins.mean_ns(), one.sum_ns / one.ios)
            _check_percentiles(where, bins.percentiles_ns(PERCENTILES), one)


def _check_mean(where: str, binned_ns: float, exact_ns: float) -> None:
    assert abs(binned_ns - exact_ns) <= 0.01 * exact_ns + 1, (
        f"{where}: the histogram's mean is {binned_ns:.0f} ns, the exact one "
        f"{exact_ns:.0f} ns"
    )


def _check_percentiles(where: str, found_ns: list[float], one: Counts) -> None:
    assert found_ns == sorted(found_ns), f"{where}: a percentile falls: {found_ns}"
    low, high = one.min_ns * 0.99 - 1, one.max_ns * 1.01 + 1
    assert low <= found_ns[0] and found_ns[-1] <= high, (
        f"{where}: percentiles from {found_ns[0]:.0f} to {found_ns[-1]:.0f} ns lie "
        f"beyond the smallest, {one.min_ns} ns, or the largest, {one.max_ns} ns"
    )


def check_consistent(events: Sequence[Event], job: Job) -> None:
    """What ioplan itself holds against a run's figures: nothing."""
    measurement = Measurement()
    for event in events:
        measurement.add(event)
    found = [str(one) for one in faults(_record(measurement, job), measurement.detail)]
    assert not found, f"the results are inconsistent: {'; '.join(found)}"


def _record(measurement: Measurement, job: Job) -> RunRecord:
    """As much of a record as has figures."""
    names = ("streams", "directions", "total", "targets", "cpu", "cpu_percent")
    return RunRecord.model_construct(
        asked=Asked.model_construct(job=job),
        run_s=measurement.run_ns / SECOND_NS,
        phases=measurement.phases(job),
        target={},
        host={},
        **{name: getattr(measurement, name) for name in names},
    )


def check_surfaced(events: Sequence[Event], damage: str) -> None:
    """A run on a damaged target is no clean result."""
    last = events[-1] if events else None
    if isinstance(last, Result):
        errors = sum(one.errors for _, one in directions(last))
        assert errors, f"{damage}, and the run ended well, without an error"
    else:
        check_refused(events)


def check_refused(events: Sequence[Event]) -> None:
    """The run is a Failure that a person can use."""
    last = events[-1] if events else None
    assert isinstance(last, Failure), (
        f"a Failure should have come, not {described(last)}"
    )
    assert last.cause and last.message, "the Failure does not say why"


def check_duration(result: Result, asked_ns: int, slack_ns: int) -> None:
    """A run takes the time that was asked, and what its last I/O may take beyond it."""
    slowest_ns = max(one.max_ns for _, one in directions(result))
    assert -slack_ns <= result.run_ns - asked_ns <= slack_ns + slowest_ns, (
        f"the run took {result.run_ns / 1e9:.3f} s, but {asked_ns / 1e9:.3f} s were "
        f"asked, and its slowest I/O took {slowest_ns / 1e9:.3f} s"
    )


Flags = npt.NDArray[np.bool_]


def changed(before: bytes, after: bytes, block_bytes: int) -> Flags:
    """Which blocks are not what they were."""
    assert len(before) == len(after), (
        f"the target had {len(before)} B and has {len(after)} B"
    )
    whole = len(before) // block_bytes * block_bytes
    old, new = (np.frombuffer(side[:whole], np.uint8) for side in (before, after))
    flags: Flags = (old != new).reshape(-1, block_bytes).any(axis=1)
    return flags


def check_same(before: bytes, after: bytes) -> None:
    """Nothing has changed."""
    count = int(changed(before, after, 512).sum())
    assert not count, f"{count} blocks of 512 B have changed, but nothing may"


def check_inside(before: bytes, after: bytes, start: int, end: int) -> None:
    """What has changed lies inside the region, and something has."""
    flags = changed(before, after, 512)
    outside = int(flags[: start // 512].sum() + flags[end // 512 :].sum())
    assert not outside, f"{outside} blocks outside the region were written"
    assert flags.any(), "nothing was written, though writes were counted"


def check_aligned(before: bytes, after: bytes, size: int) -> None:
    """Each I/O of `size`, aligned to itself, has changed a whole place."""
    flags = changed(before, after, 512)
    places = flags[: len(flags) * 512 // size * size // 512].reshape(-1, size // 512)
    torn = int((places.any(axis=1) & ~places.all(axis=1)).sum())
    assert not torn, f"{torn} places of {size} B were written in part: not aligned"


def check_covered(before: bytes, after: bytes, start: int, end: int, size: int) -> None:
    """Each block of the region was written."""
    flags = changed(before[start:end], after[start:end], size)
    left = int((~flags).sum())
    assert not left, f"{left} of {len(flags)} blocks were not written in one pass"


def check_written(before: bytes, after: bytes, size: int, wrote_bytes: int) -> None:
    """No more has changed than was counted."""
    count = int(changed(before, after, size).sum())
    assert count * size <= wrote_bytes, (
        f"{count} blocks of {size} B have changed, but {wrote_bytes} B were counted"
    )
