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
from ioplan.workload import Direction, Phase, Stream, Workload

PROTOCOL = 1
"""The version of jobs and events as JSON: docs/protocol.md. A field that old programs
can ignore leaves it as it is; anything else makes it the next one."""
SECOND_NS = 1_000_000_000


class JobStream(Stream):
    """A stream with its region in bytes of this target.

    Where a job has several `targets`, `target_numbers` are the places of its own.
    """

    region_start_bytes: Annotated[int, Field(ge=0)]
    region_end_bytes: Annotated[int, Field(gt=0)]
    target_numbers: tuple[Annotated[int, Field(ge=0)], ...] = ()

    @property
    def times(self) -> int:
        """How often it runs: targets that do not share it have all of it each."""
        return 1 if self.over_all else max(1, len(self.target_numbers))

    @property
    def trace_end_bytes(self) -> int:
        """Where the region must end for a trace in the places that it recorded."""
        if self.replay and self.offsets == "recorded":
            return self.region_start_bytes + self.replay.end_bytes
        return 0

    @property
    def region_bytes(self) -> int:
        """What one pass of it covers on each of its targets."""
        if self.replay:
            return self.replay.moved_bytes
        return self.region_end_bytes - self.region_start_bytes

    @property
    def pass_bytes(self) -> int:
        """What one pass of it covers on all of its targets."""
        return self.region_bytes * max(1, len(self.target_numbers))


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


def job_streams(
    workload: Workload, capacity_bytes: int, block_bytes: int
) -> tuple[JobStream, ...]:
    """Give each stream its region in whole logical blocks of the target."""

    def edge(percent: float, more_bytes: int) -> int:
        beyond = int(capacity_bytes * percent / 100) + more_bytes
        return beyond // block_bytes * block_bytes

    return tuple(
        JobStream.model_construct(
            **dict(stream),
            region_start_bytes=edge(
                stream.region.start_percent, stream.region.start_bytes
            ),
            region_end_bytes=edge(stream.region.end_percent, stream.region.end_bytes),
        )
        for stream in workload.streams
    )


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

    ios: int = 0
    bytes: int = 0
    errors: int = 0
    min_ns: int = 0
    max_ns: int = 0
    sum_ns: int = 0
    sum_sq_ns2: float = 0.0
    bins: Bins = ()


class StreamCounts(Model):
    """One stream's counts by direction; a direction that did nothing is absent.

    In a Result, `run_ns` is the stream's own measured time, where that is known, and
    `gap_ns` the longest time in it without a completed read, write or trim.
    `backlog_ios` are the arrivals of a rated stream that were due and not issued.
    """

    name: str
    run_ns: int | None = None
    gap_ns: int | None = None
    directions: dict[Direction, Counts] = {}
    sync_ios: int = 0
    backlog_ios: int = 0
    verified_bytes: int = 0
    verify_errors: int = 0


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
    span_s: float
    host_written_bytes: int
    media_written_bytes: int | None = None
    capacity_bytes: int | None = None
    step_bytes: int = 1


class Progress(Model):
    """An interval has ended, `t_ns` after the start of the measured part.

    While the run warms up, `warmup` is set, `t_ns` counts from the start of the
    warm-up, and the counts are not kept. `backlog_ios` is a level, not a delta.
    A backend that is the drive itself tells the `wear` of the run so far.
    """

    event: Literal["progress"] = "progress"
    t_ns: int
    interval_ns: int
    warmup: bool = False
    streams: tuple[StreamCounts, ...]
    wear: Wear | None = None


class Cpu(Model):
    """CPU time that the load generator used in the measured part."""

    user_ns: int = 0
    system_ns: int = 0


class Result(Model):
    """The end of a run that could be measured; `cpu` is none if nobody measured it.

    `phases` has the counts of each stream in each phase of the job.

    A backend that is the drive itself tells its `wear`; of others the logs are read.
    """

    event: Literal["result"] = "result"
    run_ns: int
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
