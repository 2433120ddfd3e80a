"""One run, as a backend is told it, and the events that come back.

A job and its events are also the JSON that the engine `ioplan-engine` reads and
writes, so there is one description of a run and not two. They are validated where they
come from another program; within this one their types are checked by mypy.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field, GetPydanticSchema, PlainSerializer, TypeAdapter

from ioplan.core.model import Model
from ioplan.job_stream import JobStream
from ioplan.workload import Direction, Phase

PROTOCOL = 1
"""The version of jobs and events as JSON: docs/protocol.md. A field that old programs
can ignore leaves it as it is; anything else makes it the next one."""
SECOND_NS = 1_000_000_000
Count = Annotated[int, Field(ge=-(2**96), lt=2**96)]
"""What a program tells: below 0 it is a contradiction, beyond this no number."""
Amount = Annotated[int, Field(ge=0, lt=2**64)]


class JobTarget(Model):
    """One of several targets of a run: its name, which results have, and its path."""

    name: str
    path: str


class Job(Model):
    """One run. It ends at the first of its limits; at least one is set.

    `run_ns` does not include `warmup_ns`. `limit_bytes` counts bytes moved by
    all streams after the warm-up, trimmed ones included. `passes` means that each
    stream moves as many bytes as its region has, that often.
    `read_only` opens the target so that it cannot be written. A run that is to
    `await_start` does no I/O before it is told when, as other hosts are.
    `cpus` are those that its threads may have, the best first: with as many threads or
    fewer, each has one of its own, in this order; with more, they share all of them.
    Where there are none, the backend chooses. With several `targets`, `target` is their
    paths for people to read, capacity and block are those that fit all. Each of the
    `phases` has counts of its own in the Result. With `exact_intervals` the plan asks
    for what each interval counted, or for their length: no program reads it.
    """

    target: str
    targets: tuple[JobTarget, ...] = ()
    capacity_bytes: Annotated[int, Field(gt=0)]
    block_bytes: Annotated[int, Field(gt=0)]
    streams: tuple[JobStream, ...]
    phases: tuple[Phase, ...] = ()
    warmup_ns: Annotated[int, Field(ge=0)] = 0
    run_ns: Annotated[int, Field(gt=0)] | None = None
    limit_bytes: Annotated[int, Field(gt=0)] | None = None
    passes: Annotated[float, Field(gt=0)] | None = None
    interval_ns: Annotated[int, Field(gt=0)] = SECOND_NS
    exact_intervals: Annotated[bool, Field(exclude=True)] = False
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    read_only: bool = True
    await_start: bool = False
    cpus: tuple[Annotated[int, Field(ge=0)], ...] = ()
    mode: Literal["auto", "io_uring", "sync"] = "auto"

    @property
    def threads(self) -> int:
        """The number of threads of all streams."""
        return sum(stream.threads * stream.times for stream in self.streams)


Bins = Annotated[
    Sequence[int],
    GetPydanticSchema(lambda _, handler: handler(tuple[int, ...])),
    PlainSerializer(tuple, return_type=tuple[int, ...]),
]
"""Any sequence within this program, a tuple where it is read from JSON."""


class Counts(Model):
    """What one direction of one stream did, in an interval or in the whole run.

    `bins` is a sparse histogram of latencies, flat: index, count, index, count…
    in the layout of `ioplan.results.measure.histogram`. The sums are exact: `sum_ns` of
    all latencies, `sum_sq_ns2` of their squares.
    """

    ios: Count = 0
    bytes: Count = 0
    errors: Count = 0
    min_ns: Count = 0
    max_ns: Count = 0
    sum_ns: Count = 0
    sum_sq_ns2: float = 0.0
    bins: Bins = ()


class StreamCounts(Model):
    """One stream's counts by direction; a direction that did nothing is absent.

    In a Result, `run_ns` is the stream's own measured time, where that is known, and
    `gap_ns` the longest time in it without a completed read, write or trim.
    `backlog_ios` are the arrivals of a rated stream that were due and not issued.
    """

    name: str
    run_ns: Count | None = None
    gap_ns: Count | None = None
    directions: dict[Direction, Counts] = {}
    sync_ios: Count = 0
    backlog_ios: Count = 0
    verified_bytes: Count = 0
    verify_errors: Count = 0


NOTHING_ISSUED = "nothing_issued"
"""A fact of `started`: what has arrived at the target so far is of no stream, such as
SPDK's look at the partitions of a device as it attaches it."""


class Started(Model):
    """The target is open and I/O begins. `facts` are the backend's own.

    `protocol` is what another program speaks.
    """

    event: Literal["started"] = "started"
    protocol: int | None = None
    mode: str
    reason: str = ""
    facts: dict[str, Any] = {}


class Wear(Model):
    """What was written by the drive's own count, the warm-up included.

    `source` names the log, `span_s` is between its two readings, and it counts the
    host's writes in steps of `step_bytes`. What the log does not have is absent.
    """

    source: str
    span_s: Annotated[float, Field(ge=0)]
    host_written_bytes: Amount
    media_written_bytes: Amount | None = None
    capacity_bytes: Amount | None = None
    step_bytes: Amount = 1


class Progress(Model):
    """An interval has ended, `t_ns` after the start of the measured part.

    While the run warms up, `warmup` is set, `t_ns` counts from the start of the
    warm-up, and the counts are not kept. `backlog_ios` is a level, not a delta.
    A backend that is the drive itself tells the `wear` of the run so far.
    """

    event: Literal["progress"] = "progress"
    t_ns: Count
    interval_ns: Count
    warmup: bool = False
    streams: tuple[StreamCounts, ...]
    wear: Wear | None = None


class Cpu(Model):
    """CPU time that the load generator used in the measured part."""

    user_ns: Count = 0
    system_ns: Count = 0


class Result(Model):
    """The end of a run that could be measured; `cpu` is none if nobody measured it.

    `phases` has the counts of each stream in each phase of the job.

    A backend that is the drive itself tells its `wear`; of others the logs are read.
    """

    event: Literal["result"] = "result"
    run_ns: Count
    stopped: bool = False
    streams: tuple[StreamCounts, ...]
    phases: dict[str, tuple[StreamCounts, ...]] = {}
    cpu: Cpu | None = None
    wear: Wear | None = None
    warnings: tuple[str, ...] = ()
    facts: dict[str, Any] = {}


class Failure(Model):
    """The run cannot start, or cannot go on. `message` says what to do."""

    event: Literal["failure"] = "failure"
    cause: str
    message: str


Event = Annotated[Started | Progress | Result | Failure, Field(discriminator="event")]


@cache
def events() -> TypeAdapter[Event]:
    """What reads the events of another program; made when it is first asked for."""
    return TypeAdapter(Event)
