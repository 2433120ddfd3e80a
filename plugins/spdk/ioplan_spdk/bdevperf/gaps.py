"""What bdevperf cannot do exactly as the job says, and what it would do instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil
from typing import NamedTuple

from ioplan.backends import SECOND_NS, Gap, Job, JobStream, Uniform, Zipf
from ioplan_spdk.bdevperf.script import MIB, QOS_IOPS, depth_of, directions_of, size_of
from ioplan_spdk.options import SpdkOptions
from ioplan_spdk.target_spec import TargetSpec, target_spec

MAP_IOS = 1 << 32
"""How many blocks bdevperf's map of visited blocks can have."""
BUFFER_SHARE = 0.5
"""How much of its memory the buffers may take; the rest are its own pools."""

BY_BYTES = "ended at the first statistics that show enough bytes, so a little more"

Found = Iterator[tuple[str, str, str]]
"""Field, reason, and what is done instead."""


class GapContext(NamedTuple):
    """What decides on the gaps of a stream."""

    job: Job
    stream: JobStream
    target: TargetSpec
    options: SpdkOptions


def gaps(job: Job, options: SpdkOptions) -> list[Gap]:
    """All of them, the first stream's first; without a stream there are none."""
    target = target_spec(job.target)
    found = [
        Gap(stream=first.name, field=field, reason=reason, instead=instead)
        for first in job.streams[:1]
        for check in CHECKS
        for field, reason, instead in check(GapContext(job, first, target, options))
    ]
    return found + [_another(stream) for stream in job.streams[1:]]


def _another(stream: JobStream) -> Gap:
    return Gap(
        stream=stream.name,
        field="streams",
        reason="bdevperf runs one stream on a device",
    )


def _length(context: GapContext) -> Found:
    for field, asked_ns in (
        ("for", context.job.run_ns),
        ("warmup", context.job.warmup_ns),
    ):
        if asked_ns and asked_ns % SECOND_NS:
            whole_s = ceil(asked_ns / SECOND_NS)
            yield field, "bdevperf's times are whole seconds", f"{whole_s} s"
    if context.job.limit_bytes:
        yield "for", "bdevperf counts seconds, not bytes", BY_BYTES
    if context.job.passes:
        yield "passes", "bdevperf counts seconds, not bytes", BY_BYTES


def _size(context: GapContext) -> Found:
    directions = directions_of(context.stream)
    used = [context.stream.read_sizes] * ("read" in directions)
    used += [context.stream.write_sizes] * (directions != ("read",))
    if len({share.size_bytes for sizes in used for share in sizes}) > 1:
        yield "size", "bdevperf issues one size", ""
        return
    size_bytes = size_of(context.stream)
    if size_bytes % context.job.block_bytes:
        reason = (
            f"{size_bytes} B is not a multiple of the block of "
            f"{context.job.block_bytes} B"
        )
        yield "size", reason, ""
    if size_bytes > context.job.capacity_bytes:
        yield "size", "it is larger than the target", ""


def _depth(context: GapContext) -> Found:
    needed = depth_of(context.stream) * size_of(context.stream)
    if needed > context.options.memory_mib * MIB * BUFFER_SHARE:
        least = ceil(needed / BUFFER_SHARE / MIB)
        yield "qd", f"its buffers need --option memory_mib={least} or more", ""
    if context.stream.threads > 1:
        reason = "bdevperf drives a device from one core"
        yield "threads", reason, f"one core at queue depth {depth_of(context.stream)}"


def no_discards(target: TargetSpec) -> str:
    """Why SPDK does not discard there; empty where it does.

    Its aio does so only with a parameter that older releases refuse, its uring only in
    the newest ones, and its null device never.
    """
    if target.kind == "kernel":
        return (
            "SPDK does not discard through the kernel (aio, uring); give it the drive "
            "(nvme:pcie:…), or use the backend io_uring or fio"
        )
    if target.kind in ("null", "delay"):
        return f"SPDK's {target.kind} device does not support discards; use malloc:SIZE"
    return ""


def _mix(context: GapContext) -> Found:
    if 0 < context.stream.trim_percent < 100:
        yield "trim", "bdevperf trims always or never", ""
    elif context.stream.trim_percent and (reason := no_discards(context.target)):
        yield "trim", reason, ""
    elif context.stream.trim_percent and context.stream.pattern == "random":
        yield "trim", "bdevperf trims in sequence only", ""
    if len(directions_of(context.stream)) > 1 and context.stream.read_percent % 1:
        whole = min(99, max(1, round(context.stream.read_percent)))
        yield "mix", "bdevperf supports only whole percents", f"{whole}% reads"


def _is_part(job: Job, stream: JobStream, size_bytes: int) -> bool:
    """The bytes decide: a region of a job need not have come from percents.

    What is left over at the target's end, less than one I/O, is nobody's.
    """
    last = job.capacity_bytes // size_bytes * size_bytes
    reaches = last <= stream.region_end_bytes <= job.capacity_bytes
    whole = stream.region.edges_percent(job.capacity_bytes) == (0, 100)
    return stream.region_start_bytes > 0 or not reaches or not whole


def _where(context: GapContext) -> Found:
    size_bytes = size_of(context.stream)
    if _is_part(context.job, context.stream, size_bytes):
        yield "region", "bdevperf uses the whole device", ""
    if context.stream.align_bytes not in (None, size_bytes):
        whole = (context.stream.align_bytes or 1) < size_bytes
        yield "align", "bdevperf aligns to the size", "the size" if whole else ""
    mapped = context.stream.permuted
    if mapped and context.job.capacity_bytes // size_bytes >= MAP_IOS:
        yield "permuted", "the target has too many blocks to visit each once", ""


def _chance(context: GapContext) -> Found:
    distribution = context.stream.distribution
    if isinstance(distribution, Zipf):
        reason = "bdevperf's own zipf, by an approximation made for theta below 1"
        yield "distribution", reason, f"bdevperf -F {distribution.theta:g}"
    elif not isinstance(distribution, Uniform):
        reason = f"bdevperf knows uniform and zipf, not {distribution.kind}"
        yield "distribution", reason, ""


def _pace(context: GapContext) -> Found:
    if not context.stream.rate:
        return
    if context.stream.rate.changes:
        yield "rate", "bdevperf keeps one limit all the time", ""
        return
    if context.stream.rate.arrivals == "gamma":
        yield "rate", "bdevperf has no clock for arrivals whose gaps vary", ""
        return
    if context.stream.rate.iops:
        limit = f"{ceil(context.stream.rate.iops / QOS_IOPS) * QOS_IOPS} IOPS"
    else:
        limit = f"{ceil((context.stream.rate.bytes_per_s or 0) / MIB)} MiB/s"
    reason = "bdevperf is a closed loop; its limits are of whole thousands, or MiB/s"
    yield (
        "rate",
        reason,
        f"at most {limit}; the wait for them is not included in the latency",
    )


def _rests(context: GapContext) -> Found:
    stream = context.stream
    if stream.pause_ns:
        yield "pause", "bdevperf does not pause between I/Os", ""
    if stream.starts_ns or stream.ends_ns is not None:
        field = "starts" if stream.starts_ns else "ends"
        yield field, "bdevperf runs its stream all the time", ""
    if stream.goes_on:
        by_direction = stream.write_random_percent is not None
        field = "read random" if by_direction else "random share"
        yield field, "bdevperf's I/O is all random or all sequential", ""


def _data(context: GapContext) -> Found:
    directions, kind = directions_of(context.stream), context.stream.data.kind
    if "write" not in directions or context.target.in_memory:
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


def _promise(context: GapContext) -> Found:
    if context.stream.sync_every:
        yield "sync", "bdevperf does not flush between writes", ""
    if context.stream.fua:
        yield "fua", "bdevperf has no writes with FUA", ""
    if context.stream.verify:
        reason = "bdevperf verifies only what it has just written"
        yield "verify", reason, ""


Check = Callable[[GapContext], Found]
CHECKS: tuple[Check, ...] = (
    _length, _size, _depth, _mix, _where, _chance, _pace, _rests, _data, _promise,
)  # fmt: skip
