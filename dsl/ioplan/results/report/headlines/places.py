"""What a point does, as far as it decides on headlines: access, load, size, rate."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain

from ioplan.core.grouping import grouped
from ioplan.core.units import bandwidth_text, iops_text, without_underscores
from ioplan.language.quantity import size_text
from ioplan.results.measure.tally import arrivals
from ioplan.results.report.charts.axis import axis_title
from ioplan.results.report.headlines.headline import Place
from ioplan.results.report.point import Point, does
from ioplan.workload import Direction, Stream

LARGE_BYTES = 64 * 1024
"""From this mean size on, bytes per second say more than I/Os per second."""
MOST_BACKLOG = 0.001
"""With a larger share of its arrivals left at the end, a rate was not reached."""
PURE = ("reads", "writes", "trims")
UNIT = re.compile(r"(?<=\d)(?=[KMGT]?i?B$)")
SHORT = {"queue depth": "QD", "read share": "reads", "block size": "size"}


def access(point: Point) -> str:
    """`random reads`, `sequential mix`."""
    return does(point.runs[-1].asked.workload)


def is_pure(access: str) -> bool:
    return access.endswith(PURE) and "+" not in access


def purity(access: str) -> int:
    """What a drive does is told by its reads, then by its writes, then by mixes."""
    ends = [access.endswith(end) and is_pure(access) for end in PURE]
    return ends.index(True) if any(ends) else len(PURE)


def load(point: Point) -> int:
    return sum(stream.threads * stream.qd for stream in _streams(point))


def writes(point: Point) -> bool:
    """Whether it fills what caches writes."""
    return any(stream.read_percent < 100 for stream in _streams(point))


def flushes(point: Point) -> bool:
    """Whether streams flush what they write, unless they never came to it."""
    syncs = any(stream.sync_ios for run in point.counted for stream in run.streams)
    return any(map(_flushes, _streams(point))) and (point.failed or syncs)


def sync_of(points: Iterable[Point]) -> Direction:
    """What writes wait for: commits, or flushes where only these are measured."""
    runs = (run.directions for point in points for run in point.counted)
    directions = set(chain.from_iterable(runs))
    is_flush = "flush" in directions and "commit" not in directions
    return "flush" if is_flush else "commit"


def does_more(point: Point) -> bool:
    """Whether it has I/O that no flush follows: reads, and streams without flushes."""
    return any(
        stream.read_percent or not _flushes(stream) for stream in _streams(point)
    )


def _flushes(stream: Stream) -> bool:
    return bool(stream.sync_every) and stream.read_percent < 100


def is_rated(point: Point) -> bool:
    """Whether the plan says how fast it goes, so that throughput is no finding."""
    return all(stream.rate or stream.pause_ns for stream in _streams(point))


def is_reached(point: Point) -> bool:
    """Whether all came at the rate that the plan sets, so that it has no spread."""
    counts = [arrivals(stream) for run in point.counted for stream in run.streams]
    done = sum(done for done, _ in counts)
    missing = sum(due - done for done, due in counts)
    rated = all(stream.rate for stream in _streams(point))
    return rated and missing <= MOST_BACKLOG * done


def rates_of(points: Sequence[Point]) -> tuple[str, ...]:
    """The metrics of their throughput: of large I/Os that in bytes."""
    large = {mean_bytes(point) >= LARGE_BYTES for point in points}
    if len(large) > 1:
        return ("iops", "bandwidth")
    return ("bandwidth",) if large == {True} else ("iops",)


def mean_bytes(point: Point) -> float:
    """The mean size of a point's I/Os, as the plan has them."""
    sizes = [_stream_bytes(stream) for stream in _streams(point)]
    return sum(sizes) / len(sizes)


def size_of(point: Point) -> str:
    """The size of all I/Os, `4 KiB`; empty where there are several sizes."""
    sizes = set[int]()
    for stream in _streams(point):
        reads = stream.read_sizes if stream.read_percent else ()
        writes = stream.write_sizes if stream.read_percent < 100 else ()
        sizes |= {size.size_bytes for size in (*reads, *writes)}
    return UNIT.sub(" ", size_text(sizes.pop())) if len(sizes) == 1 else ""


def _stream_bytes(stream: Stream) -> float:
    """Writes, and trims like them, where they are not reads."""
    reads = stream.read_percent / 100
    parts = ((reads, stream.read_sizes), (1 - reads, stream.write_sizes))
    return sum(s * z.size_bytes * z.percent / 100 for s, sizes in parts for z in sizes)


def rate(point: Point) -> float:
    rates = (stream.rate.all_per_s for stream in _streams(point) if stream.rate)
    return sum(max(per_second) for per_second in rates)


def place(point: Point) -> Place:
    return tuple((n, t) for n, t in point.dimensions.items() if n != "session")


def where(point: Point, points: Sequence[Point]) -> str:
    """In what it differs from the others: `QD 128, reads 70%`; else its queue depth.
    Of what was not measured, its cell."""
    if not point.runs:
        cell = ", ".join(f"{axis_name(name)} {text}" for name, text in place(point))
        return without_underscores(cell)
    return cell_text(point, points) or _depth(_streams(point))


def cell_text(point: Point, points: Sequence[Point]) -> str:
    """In what it differs from the others; `random reads` needs no share of reads."""
    differing = {
        name: text
        for name, text in place(point)
        if len({other.dimensions.get(name) for other in points}) > 1
    }
    if is_pure(access(point)):
        differing.pop("read", None)
    if differing.get("align") == "size":  # of the I/O
        differing["align"] = differing.pop("size", "naturally")
    return ", ".join(
        f"{UNIT.sub(' ', text)} aligned"
        if name == "align"
        else f"{axis_name(name)} {without_underscores(text)}"
        for name, text in differing.items()
    )


def axis_name(name: str) -> str:
    """An axis in few letters: `QD`."""
    title = axis_title(name)
    return SHORT.get(title, title)


def _depth(streams: Sequence[Stream]) -> str:
    """`QD 4`; of a rate `10.0k IOPS`, as the queue depth only caps what waits."""
    if len(streams) > 1:
        return ""
    (stream,) = streams
    if rate := stream.rate:
        ends = dict.fromkeys((min(rate.all_per_s), max(rate.all_per_s)))
        is_iops = rate.iops is not None
        texts = map(iops_text if is_iops else bandwidth_text, ends)
        return " to ".join(texts) + " IOPS" * is_iops
    threads = f"{stream.threads} threads, " if stream.threads > 1 else ""
    return f"{threads}QD {stream.qd}"


def last_alike(points: Sequence[Point]) -> list[Point]:
    """The last of a cell's steps that do the same: the others were to settle."""
    if not any("step" in point.dimensions for point in points):
        return list(points)
    cells = grouped(points, lambda p: tuple(a for a in place(p) if a[0] != "step"))
    is_alike = all(len({*map(_streams, own)}) == 1 for own in cells.values())
    return [own[-1] for own in cells.values()] if is_alike else list(points)


def _streams(point: Point) -> tuple[Stream, ...]:
    return point.runs[-1].asked.workload.streams
