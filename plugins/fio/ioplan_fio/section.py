"""One stream as the section of a job file."""

from __future__ import annotations

from collections.abc import Iterator

from ioplan.job import Job, JobStream
from ioplan.workload import Direction, Hotspots, Normal, Pareto, Zipf
from ioplan_fio.percents import bell, whole
from ioplan_fio.rate import rate_lines
from ioplan_fio.usage import (
    Sizes,
    block_align,
    covered_bytes,
    directions,
    extent,
    is_cover,
    sizes,
)

UNITS = ((1 << 40, "t"), (1 << 30, "g"), (1 << 20, "m"), (1 << 10, "k"))
KINDS: dict[tuple[Direction, ...], str] = {
    ("read",): "read",
    ("write",): "write",
    ("trim",): "trim",
}
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
    yield from _place(job, stream)
    yield from _random(job, stream)
    yield from rate_lines(stream)
    if "write" in directions(stream):
        yield from _data(stream)
        if stream.sync_every is not None:
            yield f"fdatasync={stream.sync_every}"


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
    else:
        texts = [_split(sizes(stream, d)) for d in used]
        yield f"bssplit={_by_direction(used, texts)}"


def _by_direction(used: tuple[Direction, ...], texts: list[str]) -> str:
    return texts[0] if len(set(texts)) == 1 else ",".join(texts)


def _split(shares: Sizes) -> str:
    percents = whole([s.percent for s in shares])
    pairs = zip(shares, percents, strict=True)
    return ":".join(f"{size_text(s.size_bytes)}/{p}" for s, p in pairs if p)


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
    if not is_cover(job, stream):
        yield "norandommap=1"
    distribution = distribution_text(stream)
    if distribution:
        yield f"random_distribution={distribution}"


def distribution_text(stream: JobStream) -> str:
    """fio's word for where random I/O falls; empty for everywhere alike."""
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


def _data(stream: JobStream) -> Iterator[str]:
    if stream.data.kind == "zeros":
        yield "zero_buffers=1"
        return
    yield "refill_buffers=1"
    if stream.data.kind == "compressible":
        percent = stream.data.percent
        yield f"buffer_compress_percentage={whole([percent, 100 - percent])[0]}"
