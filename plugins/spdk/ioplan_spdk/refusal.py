"""Jobs that cannot run at all: said before a process is started."""

from __future__ import annotations

from collections.abc import Iterable

from ioplan.backends import BackendError, Gap
from ioplan.job import Job


def refuse(job: Job, gaps: Iterable[Gap]) -> None:
    """Raises BackendError, for a job or for a gap that nothing can fill.

    bdevperf itself would run without an end, and an NVMe drive in it cannot be
    opened read-only: that nothing is written is only sure if it is not asked.
    """
    if not job.streams:
        raise BackendError("the job has no stream: give it one")
    if not (job.run_ns or job.limit_bytes or job.passes):
        raise BackendError("the job has no end: give a time, bytes or passes")
    for stream in job.streams:
        if job.read_only and stream.writes:
            raise BackendError(f"stream {stream.name} writes, but the job is read-only")
    for gap in gaps:
        if not gap.instead:
            raise BackendError(f"{gap.field} of stream {gap.stream}: {gap.reason}")
