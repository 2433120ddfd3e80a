"""How much of a job is done."""

from __future__ import annotations

from ioplan.job import Job, JobStream


def share_done(job: Job, run_ns: int, moved_bytes: int) -> float:
    """From 0 to 1: by time or by bytes, whichever is further."""
    by_time = run_ns / job.run_ns if job.run_ns else 0.0
    by_bytes = moved_bytes / max(1, _most_bytes(job)) if _by_bytes(job) else 0.0
    return min(1.0, max(by_time, by_bytes))


def _by_bytes(job: Job) -> bool:
    return job.limit_bytes is not None or job.passes is not None


def _most_bytes(job: Job) -> float:
    """What the limits let the job move. The last bytes of a pass may fit no I/O."""
    if job.limit_bytes is not None:
        return job.limit_bytes
    return (job.passes or 0) * sum(map(_covered_bytes, job.streams))


def _covered_bytes(stream: JobStream) -> int:
    sizes = (*stream.read_sizes, *stream.write_sizes)
    left_out = stream.threads * max(size.size_bytes for size in sizes)
    return stream.region_bytes - left_out
