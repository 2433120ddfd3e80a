"""The rate of a stream as fio's options, which count by job and by direction.

fio turns `rate_iops` into bytes with the smallest block size, so with several
sizes only `rate`, in bytes, gives the mean that is asked for. Its Poisson mode
turns them back, so there `rate_iops` is right with any sizes.
"""

from __future__ import annotations

from collections.abc import Iterator

from ioplan.job import JobStream
from ioplan.workload import Direction
from ioplan_fio.usage import direction_shares, directions, mean_bytes, sizes


def rate_lines(stream: JobStream) -> Iterator[str]:
    """`rate_iops` where that says it, else `rate`; nothing for a closed loop."""
    if stream.rate is None:
        return
    iops = _iops_of_a_thread(stream)
    poisson = stream.rate.arrivals == "poisson"
    if poisson or (stream.rate.iops is not None and _is_countable(stream, iops)):
        yield f"rate_iops={','.join(str(max(1, round(i))) for i in iops.values())}"
    else:
        bytes_per_s = [i * mean_bytes(sizes(stream, d)) for d, i in iops.items()]
        yield f"rate={','.join(str(max(1, round(b))) for b in bytes_per_s)}"
    if poisson:
        yield "rate_process=poisson"


def _iops_of_a_thread(stream: JobStream) -> dict[Direction, float]:
    assert stream.rate
    shares, used = direction_shares(stream), directions(stream)
    mean = sum(shares[d] * mean_bytes(sizes(stream, d)) for d in used)
    total = stream.rate.iops or (stream.rate.bytes_per_s or 0.0) / mean
    # rounded: a 7th of a share is no reason to call 700 no whole number
    return {d: round(total * shares[d] / stream.threads, 6) for d in used}


def _is_countable(stream: JobStream, iops: dict[Direction, float]) -> bool:
    one_size = all(len(sizes(stream, d)) == 1 for d in iops)
    return one_size and all(i >= 1 and i.is_integer() for i in iops.values())
