"""One stream as the section of a job file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import erf, sqrt

from ioplan.backends import Direction, Hotspots, Job, JobStream, Normal, Pareto, Zipf
from ioplan_fio.replayed import replay_lines
from ioplan_fio.streams import (
    Sizes,
    block_align,
    covered_bytes,
    direction_shares,
    directions,
    extent,
    is_cover,
    mean_bytes,
    size_range,
    sizes,
)

UNITS = ((1 << 40, "t"), (1 << 30, "g"), (1 << 20, "m"), (1 << 10, "k"))
KINDS: dict[tuple[Direction, ...], str] = {
    ("read",): "read",
    ("write",): "write",
    ("trim",): "trim",
}
US_NS = 1_000
NEAR_ONE = 1.001
"""fio refuses a theta of 1, where its formula divides by zero."""


def section_lines(job: Job, stream: JobStream) -> Iterator[str]:
    """What stands under the section's name."""
    yield from _pattern(stream)
    yield from _sizes(stream)
    align = block_align(job, stream)
    if align is not None:
        yield f"blockalign={size_text(align)}"
    yield f"iodepth={stream.qd}"
    yield from _cpus(job, stream)
    yield from _place(job, stream)
    yield from _random(job, stream)
    yield from rate_lines(stream)
    yield from _pause(stream)
    if "write" in directions(stream):
        yield from _data(stream)
        if stream.sync_every is not None:
            yield f"fdatasync={stream.sync_every}"
        if stream.fua:
            yield "sync=dsync"


def replay_section(
    job: Job, stream: JobStream, name: str, target: str
) -> Iterator[str]:
    """What stands under the name of a stream whose I/Os are in a log."""
    yield from replay_lines(name, stream, target)
    yield f"iodepth={stream.qd}"
    yield from _cpus(job, stream)
    if "write" in directions(stream):
        yield from _data(stream)
        if stream.fua:
            yield "sync=dsync"


def size_text(size_bytes: int) -> str:
    """4096 as 4k, as people write it."""
    for unit, letter in UNITS:
        if size_bytes and size_bytes % unit == 0:
            return f"{size_bytes // unit}{letter}"
    return str(size_bytes)


def _pattern(stream: JobStream) -> Iterator[str]:
    kind = KINDS.get(directions(stream), "rw")
    yield f"rw={'rand' if stream.pattern == 'random' else ''}{kind}"
    if kind == "rw":
        yield f"rwmixread={whole([stream.read_percent, 100 - stream.read_percent])[0]}"


def _sizes(stream: JobStream) -> Iterator[str]:
    """One size, one for each direction, or shares."""
    used = directions(stream)
    if all(len(sizes(stream, d)) == 1 for d in used):
        texts = [size_text(sizes(stream, d)[0].size_bytes) for d in used]
        yield f"bs={_by_direction(used, texts)}"
    elif all(_is_range(sizes(stream, d)) for d in used):
        ranges = [size_range(sizes(stream, d)) for d in used]
        texts = ["-".join(map(size_text, one)) for one in ranges if one]
        yield f"bsrange={_by_direction(used, texts)}"
    else:
        texts = [_split(sizes(stream, d)) for d in used]
        yield f"bssplit={_by_direction(used, texts)}"


def _is_range(shares: Sizes) -> bool:
    """Equal shares that are no whole percents, which `bssplit` takes."""
    whole_shares = all(is_whole(one.percent) for one in shares)
    return not whole_shares and size_range(shares) is not None


def _by_direction(used: tuple[Direction, ...], texts: list[str]) -> str:
    return texts[0] if len(set(texts)) == 1 else ",".join(texts)


def _split(shares: Sizes) -> str:
    percents = whole([s.percent for s in shares])
    pairs = zip(shares, percents, strict=True)
    return ":".join(f"{size_text(s.size_bytes)}/{p}" for s, p in pairs if p)


def _cpus(job: Job, stream: JobStream) -> Iterator[str]:
    """A CPU for each thread, where there are enough for those of all streams."""
    if not job.cpus:
        return
    if job.threads > len(job.cpus):
        yield f"cpus_allowed={_listed(job.cpus)}"
        return
    before = job.streams[: job.streams.index(stream)]
    first = sum(one.threads for one in before)
    yield f"cpus_allowed={_listed(job.cpus[first : first + stream.threads])}"
    yield "cpus_allowed_policy=split"


def _listed(cpus: tuple[int, ...]) -> str:
    return ",".join(map(str, cpus))


def _place(job: Job, stream: JobStream) -> Iterator[str]:
    """Where the threads work, and how much they do."""
    part, much = extent(job, stream), covered_bytes(job, stream)
    if stream.threads > 1:
        yield f"numjobs={stream.threads}"
        if part.step_bytes:  # without it they would all start at one offset
            yield f"offset_increment={size_text(part.step_bytes)}"
    yield f"offset={size_text(part.start_bytes)}"
    yield f"size={size_text(part.size_bytes)}"
    if much is not None and much != part.size_bytes:
        passes, rest = divmod(much, max(1, part.size_bytes))
        whole_passes = job.passes is not None and passes and not rest
        yield f"loops={passes}" if whole_passes else f"io_size={size_text(much)}"


def _random(job: Job, stream: JobStream) -> Iterator[str]:
    if stream.pattern != "random":
        return
    if not is_cover(stream):
        yield "norandommap=1"
    if stream.goes_on:
        yield f"percentage_random={random_shares(stream)}"
    distribution = distribution_text(stream)
    if distribution:
        yield f"random_distribution={distribution}"


def random_shares(stream: JobStream) -> str:
    """For all directions, or one for reads and one for writes, in whole percents."""
    shares = [stream.drawn_percent(d) for d in directions(stream)]
    least = 0 if len(set(shares)) > 1 else 1
    texts = [str(max(least, whole([one, 100 - one])[0])) for one in shares]
    return _by_direction(directions(stream), texts)


def distribution_text(stream: JobStream) -> str:
    """fio's word for the distribution of random offsets; empty for everywhere alike."""
    match stream.distribution:
        case Zipf(theta=theta):
            return f"zipf:{NEAR_ONE if theta == 1 else theta:g}"
        case Pareto(h=h):
            return f"pareto:{h:g}"
        case Normal(deviation_percent=percent):
            return _zoned(bell(percent))
        case Hotspots(spots=spots):
            ios = whole([spot.io_percent for spot in spots])
            spaces = whole([spot.space_percent for spot in spots])
            return _zoned(list(zip(ios, spaces, strict=True)))
    return ""


def _zoned(zones: list[tuple[int, int]]) -> str:
    return "zoned:" + ":".join(f"{ios}/{space}" for ios, space in zones if space)


def _pause(stream: JobStream) -> Iterator[str]:
    """By issued I/Os: fio's default counts completed ones, and then issues more than
    was asked for where the queue is deeper than the group."""
    if not stream.pause_ns:
        return
    yield f"thinktime={pause_us(stream)}us"
    yield f"thinktime_blocks={stream.pause_every}"
    yield "thinktime_blocks_type=issue"


def pause_us(stream: JobStream) -> int:
    """A pause as fio takes it: whole microseconds, one at least."""
    return max(1, round(stream.pause_ns / US_NS))


def _data(stream: JobStream) -> Iterator[str]:
    if stream.data.kind == "zeros":
        yield "zero_buffers=1"
        return
    yield "refill_buffers=1"
    if stream.data.kind == "compressible":
        percent = stream.data.percent
        yield f"buffer_compress_percentage={whole([percent, 100 - percent])[0]}"
    if stream.dedup_percent:
        percent = stream.dedup_percent
        yield f"dedupe_percentage={whole([percent, 100 - percent])[0]}"


def rate_lines(stream: JobStream) -> Iterator[str]:
    """`rate_iops` where that says it, else `rate`; nothing for a closed loop.

    fio counts by job and by direction. It turns `rate_iops` into bytes with the
    smallest block size, so with several sizes only `rate`, in bytes, gives the mean
    that is asked for. Its Poisson mode turns them back: there `rate_iops` is right.
    """
    if stream.rate is None:
        return
    iops = _iops_of_a_thread(stream)
    poisson = stream.rate.arrivals == "poisson"
    if poisson or (stream.rate.iops is not None and _is_countable(stream, iops)):
        yield f"rate_iops={','.join(str(max(1, round(i))) for i in iops.values())}"
    else:
        bytes_per_s = [i * mean_bytes(sizes(stream, d)) for d, i in iops.items()]
        yield f"rate={','.join(str(max(1, round(b))) for b in bytes_per_s)}"
    if poisson:
        yield "rate_process=poisson"


def _iops_of_a_thread(stream: JobStream) -> dict[Direction, float]:
    assert stream.rate
    shares, used = direction_shares(stream), directions(stream)
    mean = sum(shares[d] * mean_bytes(sizes(stream, d)) for d in used)
    total = stream.rate.iops or (stream.rate.bytes_per_s or 0.0) / mean
    # rounded: a 7th of a share is no reason to call 700 no whole number
    return {d: round(total * shares[d] / stream.threads, 6) for d in used}


def _is_countable(stream: JobStream, iops: dict[Direction, float]) -> bool:
    one_size = all(len(sizes(stream, d)) == 1 for d in iops)
    return one_size and all(i >= 1 and i.is_integer() for i in iops.values())


def is_whole(percent: float) -> bool:
    """Whether fio takes the share as it is: it knows whole percents only."""
    return float(percent).is_integer()


def whole(percents: Sequence[float]) -> list[int]:
    """The nearest whole percents that still add up to 100 (largest remainder)."""
    floors = [int(percent) for percent in percents]
    rest = [percent - floor for percent, floor in zip(percents, floors, strict=True)]
    order = sorted(range(len(rest)), key=lambda i: (-rest[i], i))
    for index in order[: 100 - sum(floors)]:
        floors[index] += 1
    return floors


def bell(deviation_percent: float) -> list[tuple[int, int]]:
    """A bell around the middle in steps: shares of the I/Os and of the space.

    The weights of 100 cells of one percent each, neighbours alike put together.
    """

    def below(percent: float) -> float:
        return (1 + erf((percent - 50) / (deviation_percent * sqrt(2)))) / 2

    inside = below(100) - below(0)
    cells = [(below(i + 1) - below(i)) / inside * 100 for i in range(100)]
    runs = [list(run) for _, run in groupby(whole(cells))]
    return [(sum(run), len(run)) for run in runs]
