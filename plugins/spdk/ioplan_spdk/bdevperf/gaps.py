"""What bdevperf cannot do exactly as the job says, and what it would do instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil

from ioplan.backends import Gap
from ioplan.job import SECOND_NS, Job, JobStream
from ioplan_spdk.bdevperf.script import MIB, QOS_IOPS, depth_of, directions_of, size_of
from ioplan_spdk.options import SpdkOptions
from ioplan_spdk.place import Place, place_of

MAP_IOS = 1 << 32
"""How many blocks bdevperf's map of visited blocks can have."""
BUFFER_SHARE = 0.5
"""How much of its memory the buffers may take; the rest are its own pools."""

Found = Iterator[tuple[str, str, str]]
"""Field, reason, and what is done instead."""


def gaps(job: Job, options: SpdkOptions) -> list[Gap]:
    """All of them, the first stream's first; without a stream there are none."""
    place = place_of(job.target)
    found = [
        Gap(stream=first.name, field=field, reason=reason, instead=instead)
        for first in job.streams[:1]
        for check in CHECKS
        for field, reason, instead in check(job, first, place, options)
    ]
    return found + [_another(stream) for stream in job.streams[1:]]


def _another(stream: JobStream) -> Gap:
    return Gap(
        stream=stream.name,
        field="streams",
        reason="bdevperf runs one stream on a device",
    )


def _length(job: Job, stream: JobStream, place: Place, options: SpdkOptions) -> Found:
    for field, asked_ns in (("for", job.run_ns), ("warmup", job.warmup_ns)):
        if asked_ns and asked_ns % SECOND_NS:
            whole_s = ceil(asked_ns / SECOND_NS)
            yield field, "bdevperf's times are whole seconds", f"{whole_s} s"
    if job.limit_bytes:
        yield "for", "bdevperf counts seconds, not bytes", _by_bytes(job)
    if job.passes:
        yield "passes", "bdevperf counts seconds, not bytes", _by_bytes(job)


def _by_bytes(job: Job) -> str:
    return "ended at the first statistics that show enough bytes, so a little more"


def _size(job: Job, stream: JobStream, place: Place, options: SpdkOptions) -> Found:
    directions = directions_of(stream)
    used = [stream.read_sizes] * ("read" in directions)
    used += [stream.write_sizes] * (directions != ("read",))
    if len({share.size_bytes for sizes in used for share in sizes}) > 1:
        yield "size", "bdevperf issues one size", ""
        return
    size_bytes = size_of(stream)
    if size_bytes % job.block_bytes:
        reason = f"{size_bytes} B is no multiple of the block of {job.block_bytes} B"
        yield "size", reason, ""
    if size_bytes > job.capacity_bytes:
        yield "size", "it is larger than the target", ""


def _depth(job: Job, stream: JobStream, place: Place, options: SpdkOptions) -> Found:
    needed = depth_of(stream) * size_of(stream)
    if needed > options.memory_mib * MIB * BUFFER_SHARE:
        least = ceil(needed / BUFFER_SHARE / MIB)
        yield "qd", f"its buffers need --option memory_mib={least} or more", ""
    if stream.threads > 1:
        reason = "bdevperf drives a device from one core"
        yield "threads", reason, f"one core at queue depth {depth_of(stream)}"


def _mix(job: Job, stream: JobStream, place: Place, options: SpdkOptions) -> Found:
    if 0 < stream.trim_percent < 100:
        yield "trim", "bdevperf trims always or never", ""
    elif stream.trim_percent and stream.pattern == "random":
        yield "trim", "bdevperf trims in sequence only", ""
    if len(directions_of(stream)) > 1 and stream.read_percent % 1:
        whole = min(99, max(1, round(stream.read_percent)))
        yield "mix", "bdevperf takes whole percents", f"{whole}% reads"


def _is_part(job: Job, stream: JobStream, size_bytes: int) -> bool:
    """The bytes decide: a region of a job need not have come from percents.

    What is left over at the target's end, less than one I/O, is nobody's.
    """
    last = job.capacity_bytes // size_bytes * size_bytes
    reaches = last <= stream.region_end_bytes <= job.capacity_bytes
    region = stream.region
    whole = region.start_percent <= 0 and region.end_percent >= 100
    return stream.region_start_bytes > 0 or not reaches or not whole


def _where(job: Job, stream: JobStream, place: Place, options: SpdkOptions) -> Found:
    size_bytes = size_of(stream)
    if _is_part(job, stream, size_bytes):
        yield "region", "bdevperf uses the whole device", ""
    if stream.align_bytes not in (None, size_bytes):
        whole = (stream.align_bytes or 1) < size_bytes
        yield "align", "bdevperf aligns to the size", "the size" if whole else ""
    mapped = job.passes and stream.pattern == "random"
    if mapped and job.capacity_bytes // size_bytes >= MAP_IOS:
        yield "passes", "the target has too many blocks to visit each once", ""


def _chance(job: Job, stream: JobStream, place: Place, options: SpdkOptions) -> Found:
    kind = stream.distribution.kind
    if kind == "zipf":
        reason = "bdevperf's own zipf, by an approximation made for theta below 1"
        yield "distribution", reason, f"bdevperf -F {stream.distribution.theta:g}"  # type: ignore[union-attr]
    elif kind != "uniform":
        reason = f"bdevperf knows uniform and zipf, not {kind}"
        yield "distribution", reason, ""


def _pace(job: Job, stream: JobStream, place: Place, options: SpdkOptions) -> Found:
    if not stream.rate:
        return
    if stream.rate.iops:
        limit = f"{ceil(stream.rate.iops / QOS_IOPS) * QOS_IOPS} IOPS"
    else:
        limit = f"{ceil((stream.rate.bytes_per_s or 0) / MIB)} MiB/s"
    reason = "bdevperf is a closed loop; its limits are of whole thousands, or MiB/s"
    yield (
        "rate",
        reason,
        f"at most {limit}; the wait for them is left out of the latency",
    )


def _data(job: Job, stream: JobStream, place: Place, options: SpdkOptions) -> Found:
    directions, kind = directions_of(stream), stream.data.kind
    if "write" not in directions or place.in_memory:
        return  # nobody looks at what memory was given, and it is gone afterwards
    if kind == "random":
        reason = "bdevperf does not write random data"
        yield "data", reason, "64-bit counters, other in each write (-U); they compress"
    elif kind == "compressible":
        yield "data", "bdevperf's data do not compress by a given share", ""
    elif len(directions) > 1:
        yield (
            "data",
            "bdevperf writes from the buffers that it reads into",
            "what is there",
        )


def _promise(job: Job, stream: JobStream, place: Place, options: SpdkOptions) -> Found:
    if stream.sync_every:
        yield "sync", "bdevperf does not flush between writes", ""
    if stream.verify:
        reason = "bdevperf verifies what it has just written, not what was before"
        yield "verify", reason, ""


Check = Callable[[Job, JobStream, Place, SpdkOptions], Found]
CHECKS: tuple[Check, ...] = (
    _length, _size, _depth, _mix, _where, _chance, _pace, _data, _promise,
)  # fmt: skip
