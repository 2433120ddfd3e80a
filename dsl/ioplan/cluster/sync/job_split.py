"""One job for several hosts: the part of each."""

from __future__ import annotations

from collections.abc import Sequence

from ioplan.backends import Gap
from ioplan.job import Job, JobStream
from ioplan.planner.run_id import digest


def hosts_of(job: Job, leader: str) -> list[str]:
    """Who does something in it, each once; what names no host is the leader's."""
    return list(dict.fromkeys(h for s in job.streams for h in s.hosts or (leader,)))


def share_of(job: Job, host: str, leader: str) -> Job:
    """What one host does. It falls elsewhere than the same stream of another host."""
    streams = tuple(
        _stream(stream, host) for stream in job.streams if host in _of(stream, leader)
    )
    seed = int(digest(job.seed, host), 16)
    return job.model_copy(update={"streams": streams, "seed": seed})


def no_room(part: Job) -> list[Gap]:
    """Streams whose region is too small to be shared out."""
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
    place, unit = stream.hosts.index(host), _unit(stream)
    whole = stream.region_bytes
    part = whole // count // unit * unit
    start = stream.region_start_bytes + place * part
    change = {"region_start_bytes": start, "region_end_bytes": start + part}
    return stream.model_copy(update=change)


def _unit(stream: JobStream) -> int:
    sizes = (*stream.read_sizes, *stream.write_sizes)
    return max(*(one.size_bytes for one in sizes), stream.align_bytes or 0)
