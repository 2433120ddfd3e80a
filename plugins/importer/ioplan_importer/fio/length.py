"""How long a job goes on: time, bytes, passes, and what is before it."""

from __future__ import annotations

from typing import NamedTuple

from ioplan.language import make
from ioplan_importer.findings import Findings
from ioplan_importer.fio.jobs import FioJob
from ioplan_importer.fio.numbers import (
    Extent,
    Percent,
    is_plain_time,
    size,
    time_us,
    whole,
)
from ioplan_importer.fio.shape import Shape, kb_base
from ioplan_importer.outline import Length

# What `size` and `filesize` come to: where a job's I/O goes, and how much there is.

WHOLE_TARGET = Percent(100)
NOTHING = (0, Percent(0))


class Extents(NamedTuple):
    """Of one job, and one loop of it: the part of the target, and what is moved.

    `name` is the option that says the first.
    """

    region: Extent
    moved: Extent
    name: str = "size"


def extents_of(job: FioJob, findings: Findings) -> Extents:
    """With both, I/O goes to all of the file, until it comes to `size`, or to the
    file's if that is less."""
    base = kb_base(job, findings)
    nothing: Extent = 0

    def read(name: str) -> Extent:
        return job.read(name, lambda text: size(text, base), nothing, findings)

    moved, file = read("size"), read("filesize")
    if file in NOTHING:
        found = WHOLE_TARGET if moved in NOTHING else moved
        return Extents(found, found)
    if moved in NOTHING:
        moved = file
    elif isinstance(file, Percent):
        moved = file if isinstance(moved, Percent) else moved
    elif isinstance(moved, Percent):
        moved = file * moved.percent // 100
    else:
        moved = min(moved, file)
    return Extents(file, moved, "filesize")


US_NS = 1000


def length_of(job: FioJob, shape: Shape, findings: Findings) -> Length:
    """A run's length and warm-up, as a plan says them."""
    run_us = _time(job, "runtime", findings)
    warmup_ns = _time(job, "ramp_time", findings) * US_NS
    if run_us:
        if not job.is_on("time_based"):
            findings.loss(
                f"without time_based fio also ends when `{_amount(job)}` is done; here "
                f"the run goes on for its time",
                job.place("runtime"),
                "add time_based to the job if that is what was meant",
            )
        text = f"for {make('time', run_us * US_NS).text}"
        return Length(text=text, run_ns=run_us * US_NS, warmup_ns=warmup_ns)
    if warmup_ns:
        findings.loss(
            f"fio counts what it moves in ramp_time as a part of `{_amount(job)}`; a "
            f"plan moves all of that after its warm-up",
            job.place("ramp_time"),
            "with time_based and runtime both measure for the same time",
        )
    return Length(text=_by_bytes(job, shape, findings), warmup_ns=warmup_ns)


def _amount(job: FioJob) -> str:
    """The option that says how much is moved."""
    names = ("number_ios", "io_size", "loops")
    return next((name for name in names if job.has(name)), "size")


def _time(job: FioJob, name: str, findings: Findings) -> int:
    if job.has(name) and not is_plain_time(job.text(name)):
        findings.note(
            f"fio reads {name}={job.text(name)!r} as "
            f"{job.read(name, lambda t: time_us(t, seconds=True), 0, findings)} us",
            job.place(name),
            "its units are us, ms, s, m, h and d",
        )
    return job.read(name, lambda t: time_us(t, seconds=True), 0, findings)


def _by_bytes(job: FioJob, shape: Shape, findings: Findings) -> str:
    """What `io_size`, `number_ios` and `loops` come to, of all threads."""
    base = kb_base(job, findings)
    nothing: Extent = 0
    moved = job.read("io_size", lambda text: size(text, base), nothing, findings)
    loops = max(1, job.read("loops", whole, 1, findings))
    if isinstance(moved, Percent):
        return _passes(moved.percent * shape.threads * loops / 100)
    amount = _a_loop(job, shape, moved, findings)
    if amount:
        return f"for {make('size', amount * shape.threads * loops).text}"
    shared = shape.threads > 1 and not job.has("offset_increment")
    return _passes(loops * (shape.threads if shared else 1))


def _a_loop(job: FioJob, shape: Shape, moved: int, findings: Findings) -> int:
    """What a loop moves, in bytes; 0 where that is its part of the target, once.

    Of `io_size`, or else `size`, and `number_ios`, the lesser ends it.
    """
    extents = extents_of(job, Findings())
    whole_part = not moved and extents.moved == extents.region
    a_loop = moved or extents.moved
    limits = [] if isinstance(a_loop, Percent) else [a_loop]
    ios = job.read("number_ios", whole, 0, findings)
    if ios and len(shape.used_sizes) == 1:
        by_ios = ios * max(shape.used_sizes)
        whole_part = whole_part and limits != [] and limits[0] <= by_ios
        limits.append(by_ios)
    elif ios:
        findings.loss(
            "number_ios is left out: the sizes differ", job.place("number_ios")
        )
    return 0 if whole_part else min(limits, default=0)


def _passes(count: float) -> str:
    return make("passes", int(count) if count == int(count) else count).text
