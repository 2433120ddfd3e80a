"""Jobs that cannot run on a target, told before any I/O is done on it.

The engine has the same rules in its own `check.rs`, as it is run by others too; a
property holds that what is accepted here is accepted there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from ioplan.backends.backend import Gap, TargetFacts
from ioplan.core.error_kinds import Cause
from ioplan.job import Failure, Job
from ioplan.job_stream import JobStream
from ioplan.language.quantity import size_text


class Refusal(NamedTuple):
    """Why streams cannot run on a target."""

    cause: Cause
    text: str


def refusal(job: Job, facts: TargetFacts, gaps: Iterable[Gap] = ()) -> Failure | None:
    """Why the job cannot run on this target; None when it can.

    `gaps` are the backend's own; one that nothing is done instead of refuses the job.
    """
    if not job.streams or not (job.run_ns or job.limit_bytes or job.passes):
        text = "a job needs streams and a limit; give it a time, bytes or passes"
        return Failure(cause="bad-job", message=text)
    for gap in gaps:
        if not gap.instead:
            text = f"stream {gap.stream!r}: {gap.field}: {gap.reason}"
            return Failure(cause="bad-job", message=text)
    if job.read_only and (writers := [one for one in job.streams if one.writes]):
        text = f"stream {writers[0].name!r} writes but the target is read-only"
        return Failure(cause="bad-job", message=f"{text}; allow writing")
    found = next(refusals(job.streams, facts, job.run_ns), None)
    return Failure(cause=found.cause, message=found.text) if found else None


def refusals(
    streams: Sequence[JobStream], facts: TargetFacts, run_ns: int | None
) -> Iterator[Refusal]:
    """All that no backend can do of these streams, which run at the same time."""
    for stream in streams:
        where = f"{stream.name}: " if len(streams) > 1 else ""
        for cause, text in (*_part(stream, run_ns), *_misplaced(stream, facts)):
            yield Refusal(cause, where + text)
    for pair in combinations(streams, 2):
        for stream, other in (pair, pair[::-1]):
            if stream.verify and other.writes and _overlap(stream, other):
                text = (
                    f"the stream {other.name!r} writes where {stream.name!r} verifies; "
                    "give them separate regions, such as region 0%..50%"
                )
                yield Refusal(Cause.BAD_JOB, text)
                break


def _overlap(one: JobStream, other: JobStream) -> bool:
    start = max(one.region_start_bytes, other.region_start_bytes)
    return start < min(one.region_end_bytes, other.region_end_bytes)


def _part(stream: JobStream, run_ns: int | None) -> Iterator[Refusal]:
    """A part of a run is in it; times that were scaled may have become none."""
    ends_ns = stream.ends_ns or run_ns or 0
    if (stream.starts_ns or stream.ends_ns) and not (
        stream.starts_ns < ends_ns <= (run_ns or 0)
    ):
        text = (
            f"it runs from {stream.starts_ns} ns to {ends_ns} ns of a run of "
            f"{run_ns or 0} ns; scale times less"
        )
        yield Refusal(Cause.BAD_JOB, text)


def _misplaced(stream: JobStream, facts: TargetFacts) -> Iterator[Refusal]:
    """What of its region, its sizes and its alignment the target has no place for."""
    block, start, end = (
        facts.block_bytes,
        stream.region_start_bytes,
        stream.region_end_bytes,
    )
    if end > facts.capacity_bytes:
        text = (
            f"its region ends at {size_text(end)}, and the target at "
            f"{size_text(facts.capacity_bytes)}"
        )
        yield Refusal(Cause.TOO_SMALL, text)
    elif start > end:
        text = f"its region begins at {size_text(start)}, and ends at {size_text(end)}"
        yield Refusal(Cause.TOO_SMALL, text)
    elif stream.trace_end_bytes > end:
        room = "the target" if end == facts.capacity_bytes else "its region"
        text = (
            f"its trace ends at {size_text(stream.trace_end_bytes)}, and {room} "
            f"at {size_text(end)}: write offsets wrapped, or scaled"
        )
        yield Refusal(Cause.TOO_SMALL, text)
    elif unaligned := list(_unaligned(stream, block)):
        yield from unaligned
    else:
        yield from _crowded(stream, block)


def _unaligned(stream: JobStream, block: int) -> Iterator[Refusal]:
    for size in sorted(stream.sizes_bytes):
        if size % block:
            text = f"{size} B is not a multiple of the target's {block} B blocks"
            yield Refusal(Cause.UNALIGNED, text)
    align = stream.align_bytes
    if align is not None and align % block:
        text = f"alignment to {align} B is finer than the target's {block} B blocks"
        yield Refusal(Cause.UNALIGNED, text)
    if stream.region_start_bytes % block or stream.region_end_bytes % block:
        text = f"its region is not in whole blocks of {block} B"
        yield Refusal(Cause.UNALIGNED, text)


def _crowded(stream: JobStream, block: int) -> Iterator[Refusal]:
    """An aligned I/O of each size has room in what each thread has of the region."""
    own_part = stream.verify or stream.pattern == "sequential"
    threads = stream.threads if own_part else 1
    for start, end in {_part_of(stream, n, threads, block) for n in (0, threads - 1)}:
        for size in sorted(stream.sizes_bytes):
            align = stream.align_bytes or size
            if -(-start // align) * align + size > end:
                whole = size_text(stream.region_end_bytes - stream.region_start_bytes)
                each = f" for each of {threads} threads" if threads > 1 else ""
                text = (
                    f"its region of {whole} has no room for an aligned I/O of "
                    f"{size_text(size)}{each}"
                )
                yield Refusal(Cause.TOO_SMALL, text)
                return


def _part_of(
    stream: JobStream, thread: int, threads: int, block: int
) -> tuple[int, int]:
    """What a thread has of the region, in units of the largest I/O if there are enough.

    As `part_of_region` in the engine's `walk.rs`.
    """
    start, end = stream.region_start_bytes, stream.region_end_bytes
    largest = max(stream.sizes_bytes)
    unit = largest if (end - start) // largest >= threads else block
    units = (end - start) // unit
    edges = [start + units * n // threads * unit for n in (thread, thread + 1)]
    return edges[0], end if thread + 1 == threads else edges[1]
