"""Splits a job between several hosts."""

from __future__ import annotations

from collections.abc import Sequence

from ioplan.backends import Gap
from ioplan.job import Job, JobStream
from ioplan.planner.run_id import digest


def hosts_of(job: Job, leader: str) -> list[str]:
    """The hosts of its streams, each once; a stream without hosts is the leader's."""
    return list(dict.fromkeys(h for s in job.streams for h in s.hosts or (leader,)))


def job_of_host(job: Job, host: str, leader: str) -> Job:
    """One host's job. Its seed, and so its offsets, differ from the other hosts'."""
    streams = tuple(
        _stream(stream, host) for stream in job.streams if host in _of(stream, leader)
    )
    seed = int(digest(job.seed, host), 16)
    return job.model_copy(update={"streams": streams, "seed": seed})


def region_gaps(part: Job) -> list[Gap]:
    """A gap for each stream whose region is too small to be split."""
    reason = "its region has no room for a part of each host"
    return [
        Gap(stream=stream.name, field="region", reason=reason)
        for stream in part.streams
        if stream.region_end_bytes <= stream.region_start_bytes
    ]


def _of(stream: JobStream, leader: str) -> Sequence[str]:
    return stream.hosts or (leader,)


def _stream(stream: JobStream, host: str) -> JobStream:
    """Sequential streams get disjoint parts of the region, as threads do."""
    count = len(stream.hosts)
    if count < 2 or stream.pattern == "random":
        return stream
    number, unit_bytes = stream.hosts.index(host), _unit_bytes(stream)
    part_bytes = stream.region_bytes // count // unit_bytes * unit_bytes
    start = stream.region_start_bytes + number * part_bytes
    change = {"region_start_bytes": start, "region_end_bytes": start + part_bytes}
    return stream.model_copy(update=change)


def _unit_bytes(stream: JobStream) -> int:
    sizes = (*stream.read_sizes, *stream.write_sizes)
    return max(*(one.size_bytes for one in sizes), stream.align_bytes or 0)
