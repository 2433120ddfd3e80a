"""What blocking reads and writes cannot say, each in the language's words."""

from __future__ import annotations

from collections.abc import Iterator

from ioplan.backends import Gap, TargetFacts
from ioplan.job import Failure, Job, JobStream

SOME = "this backend's load generator"


def find_gaps(job: Job) -> list[Gap]:
    """All gaps of a job, stream by stream."""
    return [
        Gap(stream=stream.name, field=field, reason=reason, instead=instead)
        for stream in job.streams
        for field, reason, instead in _gaps(job, stream)
    ]


def _gaps(job: Job, stream: JobStream) -> Iterator[tuple[str, str, str]]:
    random = stream.pattern == "random"
    if stream.rate is not None:
        yield "rate", f"{SOME} has no clock for arrivals, only closed loops", ""
    if random and stream.distribution.kind != "uniform":
        spread = stream.distribution.kind
        reason = f"{SOME} spreads random I/O evenly, not as {spread}"
        yield "distribution", reason, "uniform"
    if stream.trim_percent:
        yield "trim", f"{SOME} cannot discard", ""
    if stream.sync_every is not None and stream.read_percent < 100:
        yield "sync", f"{SOME} cannot flush", "no flush"
    if stream.verify:
        yield "verify", f"{SOME} does not remember what it wrote", ""
    if stream.data.kind == "compressible" and stream.read_percent < 100:
        yield "data", f"{SOME} makes no compressible data", "data random"
    if random and job.passes is not None:
        reason = f"{SOME} does not remember which blocks it has visited"
        yield "passes", reason, "as many bytes at random, some blocks more than once"


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
