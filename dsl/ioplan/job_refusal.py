"""Jobs that cannot run on a target, told before any I/O is done on it.

A checked plan makes none of these for the target that it was planned for. The engine
has the same rules in its own `check.rs`, as it is run by others too.
"""

from __future__ import annotations

from collections.abc import Iterable

from ioplan.backends import Gap, TargetFacts
from ioplan.job import Failure, Job, JobStream


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
    failures = (_stream_refusal(stream, job, facts) for stream in job.streams)
    return next(filter(None, failures), None)


def _stream_refusal(stream: JobStream, job: Job, facts: TargetFacts) -> Failure | None:
    name, block = f"stream {stream.name!r}", facts.block_bytes
    start, end = stream.region_start_bytes, stream.region_end_bytes
    sizes = used_sizes(stream)
    if job.read_only and stream.writes:
        text = f"{name} writes but the target is read-only; allow writing"
        return Failure(cause="bad-job", message=text)
    if stream.trace_end_bytes > end:
        text = (
            f"{name}: the trace goes up to byte {stream.trace_end_bytes}, and its "
            f"region to {end}; use a larger one"
        )
        return Failure(cause="too-small", message=text)
    if any(edge % block for edge in (*sizes, start, end, stream.align_bytes or 0)):
        text = f"{name}: sizes, alignment and region must be multiples of {block} B"
        return Failure(cause="unaligned", message=text)
    if end > facts.capacity_bytes or end < start + _least_bytes(stream, sizes):
        text = (
            f"{name} works on bytes {start} to {end}, which must hold an aligned I/O "
            f"for each thread and end within {facts.capacity_bytes}; change its region"
        )
        return Failure(cause="too-small", message=text)
    return None


def used_sizes(stream: JobStream) -> set[int]:
    """The I/O sizes of the directions that the stream has; a trim is as a write."""
    shares = stream.read_sizes if stream.read_percent else ()
    shares += stream.write_sizes if stream.writes else ()
    return {share.size_bytes for share in shares}


def _least_bytes(stream: JobStream, sizes: set[int]) -> int:
    """How long a region must be. Sequential threads have a part of it each; an I/O
    whose first place is not aligned moves up."""
    parts = stream.threads if stream.pattern == "sequential" else 1
    aligns = {stream.align_bytes} if stream.align_bytes else sizes
    unit = max(*sizes, *aligns)
    moved = any(stream.region_start_bytes % a or unit % a for a in aligns)
    return parts * unit * (2 if moved else 1)
