"""Jobs that this drive cannot run: a backend says so before any I/O, and what to do."""

from __future__ import annotations

from ioplan.backends import TargetFacts
from ioplan.job import Failure, Job, JobStream


def refusal(job: Job, facts: TargetFacts) -> Failure | None:
    """Why the job cannot run on this drive; None when it can."""
    if not job.streams or not (job.run_ns or job.limit_bytes or job.passes):
        text = "a job needs streams and a limit; give it a time, bytes or passes"
        return Failure(cause="bad-job", message=text)
    failures = (_stream_refusal(stream, job, facts) for stream in job.streams)
    return next(filter(None, failures), None)


def _stream_refusal(stream: JobStream, job: Job, facts: TargetFacts) -> Failure | None:
    name, block = f"stream {stream.name!r}", facts.block_bytes
    start, end = stream.region_start_bytes, stream.region_end_bytes
    sizes = [one.size_bytes for one in (*stream.read_sizes, *stream.write_sizes)]
    needed = start + max(sizes, default=block)
    if job.read_only and stream.writes:
        text = f"{name} writes but the target is read-only; allow writing"
        return Failure(cause="bad-job", message=text)
    if any(edge % block for edge in (*sizes, start, end, stream.align_bytes or 0)):
        text = f"{name}: sizes, alignment and region must be multiples of {block} B"
        return Failure(cause="unaligned", message=text)
    if end > facts.capacity_bytes or end < needed:
        text = f"{name} uses bytes {start} to {max(end, needed)}, but its region ends "
        text += f"at {end} and the drive at {facts.capacity_bytes}; choose a larger one"
        return Failure(cause="too-small", message=text)
    return None
