"""Jobs that cannot run: said before any I/O, with what to do."""

from __future__ import annotations

from ioplan.backends import TargetFacts
from ioplan.blocking.gaps import find_gaps
from ioplan.job import Failure, Job, JobStream


def refusal(job: Job, facts: TargetFacts) -> Failure | None:
    """Why the job cannot run on this target; None when it can."""
    if not job.streams or not (job.run_ns or job.limit_bytes or job.passes):
        text = "a job needs streams and a limit; give it a time, bytes or passes"
        return Failure(cause="bad-job", message=text)
    for gap in find_gaps(job):
        if not gap.instead:
            text = f"stream {gap.stream!r}: {gap.field}: {gap.reason}; leave it out"
            return Failure(cause="bad-job", message=text)
    refused = (_refused(stream, job, facts) for stream in job.streams)
    return next(filter(None, refused), None)


def _refused(stream: JobStream, job: Job, facts: TargetFacts) -> Failure | None:
    name, block = f"stream {stream.name!r}", facts.block_bytes
    start, end = stream.region_start_bytes, stream.region_end_bytes
    sizes = [one.size_bytes for one in (*stream.read_sizes, *stream.write_sizes)]
    if job.read_only and stream.writes:
        text = f"{name} writes but the target is read-only; allow writing"
        return Failure(cause="bad-job", message=text)
    if any(edge % block for edge in (*sizes, start, end, stream.align_bytes or 0)):
        text = f"{name}: sizes, alignment and region must be multiples of {block} B"
        return Failure(cause="unaligned", message=text)
    if end > facts.capacity_bytes or end < start + _least(stream, sizes):
        text = (
            f"{name} works on bytes {start} to {end}, which must hold an aligned I/O "
            f"for each thread and end within {facts.capacity_bytes}; change its region"
        )
        return Failure(cause="too-small", message=text)
    return None


def _least(stream: JobStream, sizes: list[int]) -> int:
    """How long a region must be; where edges are not aligned, I/Os move up."""
    aligns = {stream.align_bytes} if stream.align_bytes else set(sizes)
    unit = max(*sizes, *aligns)
    moved = any(stream.region_start_bytes % a or unit % a for a in aligns)
    return stream.threads * unit * (2 if moved else 1)
