"""What a stream does, in the terms that a job file needs."""

from __future__ import annotations

from math import lcm

from msgspec import Struct

from ioplan.backends import DIRECTIONS, Direction, Job, JobStream, SizeShare

Sizes = tuple[SizeShare, ...]
EQUAL = 1e-6
"""Shares in percent that differ by less are equal."""


def directions(stream: JobStream) -> tuple[Direction, ...]:
    """The directions that the stream really uses."""
    shares = direction_shares(stream)
    return tuple(d for d in DIRECTIONS if shares[d] > 0)


def direction_shares(stream: JobStream) -> dict[Direction, float]:
    """The share of each direction among all I/Os."""
    trim = stream.trim_percent / 100
    read = (1 - trim) * stream.read_percent / 100
    return {"read": read, "write": max(0.0, 1 - trim - read), "trim": trim}


def sizes(stream: JobStream, direction: Direction) -> Sizes:
    """The sizes of a direction; a discard has the size of a write."""
    return stream.read_sizes if direction == "read" else stream.write_sizes


def used_sizes(stream: JobStream) -> list[int]:
    """All block sizes in use, each once, ascending."""
    used = directions(stream)
    return sorted({s.size_bytes for d in used for s in sizes(stream, d)})


def has_own_sizes(stream: JobStream) -> bool:
    """Whether each direction has one size: fio aligns the I/O of each to that."""
    return all(len(sizes(stream, d)) == 1 for d in directions(stream))


def size_range(shares: Sizes) -> tuple[int, int] | None:
    """The first and the last of the multiples of one size in equal shares, if such."""
    found = sorted((one.size_bytes, one.percent) for one in shares)
    first, count = found[0][0], len(found)
    equal = all(abs(percent - 100 / count) < EQUAL for _, percent in found)
    multiples = all(size == first * (i + 1) for i, (size, _) in enumerate(found))
    return (first, found[-1][0]) if count > 1 and equal and multiples else None


def mean_bytes(shares: Sizes) -> float:
    """The mean I/O size of a distribution."""
    return sum(s.size_bytes * s.percent for s in shares) / 100


def is_cover(stream: JobStream) -> bool:
    """Whether random I/O is to visit each block once per pass."""
    return stream.permuted and stream.can_permute


class Extent(Struct, frozen=True):
    """The bytes that one thread of a stream works on."""

    start_bytes: int
    size_bytes: int
    step_bytes: int
    """How far the next thread's part is; 0 where all threads share one."""


def extent(job: Job, stream: JobStream) -> Extent:
    """Disjoint parts for sequential threads and for passes, else the region.

    fio counts offsets from the start of the part, so that starts on a multiple of
    the alignment; and a part holds whole I/Os, as fio ends a job at a cut one.
    """
    grid_bytes = _grid(job, stream)
    start = aligned(stream.region_start_bytes, grid_bytes)
    room = max(0, stream.region_end_bytes - start)
    if stream.pattern == "sequential" or is_cover(stream):
        unit = aligned(used_sizes(stream)[-1], grid_bytes if is_cover(stream) else 1)
        part = room // stream.threads // unit * unit
        return Extent(start, part, part)
    return Extent(start, room, 0)


PAGE_BYTES = 4 << 10
"""What a drive writes at once: I/O of this size and more has to stand on it."""


def common_align(stream: JobStream) -> int | None:
    """Where fio is to align random I/O of several sizes, each of which should be
    aligned to itself; None for other streams, which it can align as is asked."""
    used = used_sizes(stream)
    alike = len(used) == 1 or has_own_sizes(stream)
    if stream.pattern != "random" or stream.align_bytes is not None or alike:
        return None
    return PAGE_BYTES if used[0] < PAGE_BYTES <= used[-1] else used[0]


def _grid(job: Job, stream: JobStream) -> int:
    """What the first offset is a multiple of."""
    if stream.align_bytes is not None:
        return stream.align_bytes
    used = used_sizes(stream)
    if stream.pattern == "random" and has_own_sizes(stream):
        return lcm(*used)
    return common_align(stream) or (used[0] if len(used) == 1 else job.block_bytes)


def block_align(job: Job, stream: JobStream) -> int | None:
    """The distance of random offsets; None where fio's own is meant.

    Blocks that are to be visited once each may not overlap.
    """
    align = stream.align_bytes or common_align(stream)
    if align is None or stream.pattern == "sequential":
        return None
    if is_cover(stream):
        step = aligned(used_sizes(stream)[0], align)
        return None if step == used_sizes(stream)[0] else step
    return None if used_sizes(stream) == [align] else align


def covered_bytes(job: Job, stream: JobStream) -> int | None:
    """How many bytes one thread is to move at most; None for no limit."""
    if job.passes is not None:
        part = extent(job, stream)
        share = 1 if part.step_bytes else stream.threads
        unit = used_sizes(stream)[0]
        return max(unit, int(part.size_bytes * job.passes / share) // unit * unit)
    if job.limit_bytes is not None and len(job.streams) == 1:
        return -(-job.limit_bytes // stream.threads)
    return None


def aligned(value: int, multiple: int) -> int:
    """The next multiple."""
    return -(-value // multiple) * multiple
