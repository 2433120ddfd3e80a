"""What fio makes of a job's options: values in one unit, defaults written out."""

from __future__ import annotations

from ioplan_importer.findings import Findings
from ioplan_importer.fio.jobs import FioJob
from ioplan_importer.fio.length import extents_of
from ioplan_importer.fio.numbers import (
    Extent,
    Percent,
    by_direction,
    bytes_of,
    size,
    time_us,
    whole,
)
from ioplan_importer.fio.shape import Shape, distribution, kb_base, shape_of
from ioplan_importer.fio.stream import counts_issues, syncs_every, writes_zeros

Options = dict[str, object]


def effective(job: FioJob, capacity_bytes: int) -> Options:
    """The options that decide what is asked of the target, and how fast."""
    ignored = Findings()
    shape = shape_of(job, ignored)
    found: Options = {
        "rw": (shape.pattern, shape.read_percent, shape.trims),
        "block sizes": _used_sizes(shape),
        "iodepth": shape.qd,
        "numjobs": shape.threads,
        **_place(job, shape, capacity_bytes),
        **_random(job, shape),
        **_pace(job, shape),
        **_time(job),
    }
    if shape.read_percent < 100 and not shape.trims:
        found |= _data(job)
    return found


def _used_sizes(shape: Shape) -> object:
    reads, writes = (tuple(sorted(shares)) for shares in shape.sizes)
    return (
        reads if shape.read_percent else (),
        writes if shape.read_percent < 100 else (),
    )


def _read(job: FioJob, name: str, default: Extent) -> Extent:
    base = kb_base(job, Findings())
    return job.read(name, lambda text: size(text, base), default, Findings())


def _bytes(extent: Extent, capacity_bytes: int) -> int:
    if isinstance(extent, Percent):
        return capacity_bytes * extent.percent // 100
    return extent


def _place(job: FioJob, shape: Shape, capacity_bytes: int) -> Options:
    start = _bytes(_read(job, "offset", 0), capacity_bytes)
    extents = extents_of(job, Findings())
    size_bytes = _bytes(extents.region, capacity_bytes) or capacity_bytes
    size_bytes = min(size_bytes, capacity_bytes - start)
    size_bytes -= size_bytes % min(shape.used_sizes)  # no part of a block is done
    moved = _read(job, "io_size", 0)
    ios = job.read("number_ios", whole, 0, Findings())
    loops = max(1, job.read("loops", whole, 1, Findings()))
    a_loop = _bytes(moved, size_bytes)
    a_loop = a_loop or min(_bytes(extents.moved, capacity_bytes), size_bytes)
    if ios and len(shape.used_sizes) == 1:
        a_loop = min(a_loop, ios * max(shape.used_sizes))
    amount = loops * a_loop
    step = _bytes(_read(job, "offset_increment", 0), capacity_bytes)
    found: Options = {"offset": start, "size": size_bytes}
    if shape.threads > 1:
        found["offset_increment"] = step
    by_time = _time(job)["time_based"]
    return found if by_time else {**found, "bytes": amount}


def _random(job: FioJob, shape: Shape) -> Options:
    if shape.pattern != "random":
        return {}
    text = job.text("random_distribution", "random")
    uniform = text.split(":")[0] == "random"
    single = len(shape.used_sizes) == 1
    off = job.is_on("norandommap")
    aligns = _by_direction(job, "blockalign")
    smallest = [min(size_bytes for size_bytes, _ in part) for part in shape.sizes]
    return {
        "random_distribution": "uniform" if uniform else distribution(text) or text,
        "random map": uniform and single and not off,
        "blockalign": [
            aligns[i] or smallest[i]
            for i, used in enumerate((shape.read_percent, 100 - shape.read_percent))
            if used
        ],
        "percentage_random": [
            100 if one is None else one
            for one, used in zip(
                _by_direction(job, "percentage_random"),
                (shape.read_percent, 100 - shape.read_percent),
                strict=False,
            )
            if used
        ],
    }


def _by_direction(job: FioJob, name: str) -> list[int | None]:
    base = kb_base(job, Findings())
    nothing: list[int | None] = [None] * 3

    def read(text: str) -> list[int | None]:
        return by_direction(text, lambda part: bytes_of(part, base))

    return job.read(name, read, nothing, Findings())


def _pace(job: FioJob, shape: Shape) -> Options:
    used = [shape.read_percent > 0, shape.read_percent < 100]
    found: Options = {}
    for name in ("rate_iops", "rate"):
        each = zip(_by_direction(job, name), used, strict=False)
        rates = [rate for rate, is_used in each if is_used]
        if any(rates):
            found[name] = rates
            found["rate_process"] = job.text("rate_process", "linear")
    us = job.read("thinktime", lambda t: time_us(t, seconds=False), 0, Findings())
    if us:
        found["thinktime"] = us
        every = max(1, job.read("thinktime_blocks", whole, 1, Findings()))
        found["thinktime_blocks"] = every
        by_issue = counts_issues(job, shape.qd, every)
        found["thinktime_blocks_type"] = "issue" if by_issue else "complete"
    return found


def _time(job: FioJob) -> Options:
    def seconds(name: str) -> int:
        return job.read(name, lambda t: time_us(t, seconds=True), 0, Findings())

    run_us = seconds("runtime")
    timed = bool(run_us) and job.has("time_based")
    return {
        "runtime": run_us,
        "time_based": timed and job.is_on("time_based"),
        "ramp_time": seconds("ramp_time"),
        "startdelay": seconds("startdelay"),
    }


def _data(job: FioJob) -> Options:
    zeros = writes_zeros(job, Findings())
    dedup = job.read("dedupe_percentage", whole, 0, Findings())
    return {
        "fdatasync": syncs_every(job, Findings()),
        "zero_buffers": zeros,
        "buffer_compress_percentage": job.read(
            "buffer_compress_percentage", whole, 0, Findings()
        ),
        "dedupe_percentage": 0 if zeros else dedup,
    }
