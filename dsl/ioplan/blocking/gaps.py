"""What blocking reads and writes cannot say, each in the language's words."""

from __future__ import annotations

from collections.abc import Iterator

from ioplan.backends import Gap
from ioplan.job import Job, JobStream

WHO = "this backend's load generator"


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
        yield "rate", f"{WHO} has no clock for arrivals, only closed loops", ""
    if random and stream.distribution.kind != "uniform":
        spread = stream.distribution.kind
        reason = f"{WHO} spreads random I/O evenly, not as {spread}"
        yield "distribution", reason, "uniform"
    if stream.trim_percent:
        yield "trim", f"{WHO} cannot discard", ""
    if stream.sync_every is not None and stream.read_percent < 100:
        yield "sync", f"{WHO} cannot flush", "no flush"
    if stream.fua and stream.read_percent < 100:
        yield "fua", f"{WHO} has no writes with FUA", "no fua"
    if stream.verify:
        yield "verify", f"{WHO} does not remember what it wrote", ""
    if stream.data.kind == "compressible" and stream.read_percent < 100:
        yield "data", f"{WHO} makes no compressible data", "data random"
    if stream.permuted:
        reason = f"{WHO} does not remember which blocks it has visited"
        yield "permuted", reason, "independent offsets, some blocks more than once"
