"""What is asked of a target: streams of I/O, complete and without names.

A workload has one or more streams that run at the same time. Everything that
the language leaves to a default is written out here, so that a record says all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field

from ioplan.core.model import Model, defaults_of

Percent = Annotated[float, Field(ge=0, le=100)]
Direction = Literal["read", "write", "trim", "flush", "commit"]
DIRECTIONS: tuple[Direction, ...] = ("read", "write", "trim")
"""What I/Os are asked in, and move."""
SYNCS: tuple[Direction, ...] = ("flush", "commit")
"""What else has latencies: a flush its own, a commit from the start of the first write
that no flush had covered to the end of the flush that does."""
COUNTED: tuple[Direction, ...] = (*DIRECTIONS, *SYNCS)
"""Whatever has counts and latencies of its own."""

MIN_INTERVAL_NS, MAX_INTERVAL_NS = 10_000_000, 3600 * 10**9
"""How short and how long an interval of a run's reports may be."""
USUAL_INTERVAL_NS = 10**9


def interval_of(run_ns: int | None) -> int:
    """A second; shorter in short runs, so that each has a series."""
    if run_ns is None:
        return USUAL_INTERVAL_NS
    return max(MIN_INTERVAL_NS, min(USUAL_INTERVAL_NS, run_ns // 10))


class SizeShare(Model):
    """One entry of a block-size distribution."""

    size_bytes: Annotated[int, Field(gt=0)]
    percent: Annotated[float, Field(gt=0, le=100)]


class Uniform(Model):
    """Random I/O falls everywhere alike."""

    kind: Literal["uniform"] = "uniform"


class Hotspot(Model):
    """`io_percent` of the I/Os fall into the next `space_percent` of the region."""

    io_percent: Percent
    space_percent: Annotated[float, Field(gt=0, le=100)]


class Hotspots(Model):
    """Zones in the order of their offsets; both columns add up to 100."""

    kind: Literal["hotspots"] = "hotspots"
    spots: tuple[Hotspot, ...]


class Zipf(Model):
    """The k-th most popular block is hit in proportion to k to the minus `theta`."""

    kind: Literal["zipf"] = "zipf"
    theta: Annotated[float, Field(gt=0, le=5)]


class Pareto(Model):
    """Pareto by fio's one-parameter form: `h` of 0.2 is the 80/20 rule."""

    kind: Literal["pareto"] = "pareto"
    h: Annotated[float, Field(gt=0, lt=1)]


class Normal(Model):
    """A bell around the middle; the deviation is a share of the region."""

    kind: Literal["normal"] = "normal"
    deviation_percent: Annotated[float, Field(gt=0, le=100)]


Distribution = Annotated[
    Uniform | Hotspots | Zipf | Pareto | Normal, Field(discriminator="kind")
]


class RatePhase(Model):
    """So long at so many I/Os or bytes per second, whichever the rate is in."""

    length_ns: Annotated[int, Field(gt=0)]
    per_s: Annotated[float, Field(ge=0)]
    name: str = ""


Arrivals = Literal["fixed", "poisson", "gamma"]


class Rate(Model):
    """An open-loop rate of a whole stream, in I/Os or in bytes per second.

    Where it changes, that is its mean: `phases` are repeated, the first one from the
    start of the stream's measured time on; or it goes evenly from `first_per_s` to
    `last_per_s` over that time, and is the first before. Gaps between `gamma` arrivals
    have the gamma distribution of which the standard deviation is `gap_variation` times
    the mean: with 1 that of `poisson`.
    """

    iops: Annotated[float, Field(gt=0)] | None = None
    bytes_per_s: Annotated[float, Field(gt=0)] | None = None
    arrivals: Arrivals = "fixed"
    gap_variation: Annotated[float, Field(ge=0.01, le=100)] = 1.0
    phases: tuple[RatePhase, ...] = ()
    first_per_s: Annotated[float, Field(ge=0)] | None = None
    last_per_s: Annotated[float, Field(ge=0)] | None = None

    @property
    def changes(self) -> bool:
        """Whether it is another at other times."""
        return bool(self.phases) or self.first_per_s is not None

    @property
    def all_per_s(self) -> tuple[float, ...]:
        """The rates that it has, or between which it goes."""
        if self.first_per_s is not None and self.last_per_s is not None:
            return self.first_per_s, self.last_per_s
        mean = self.iops or self.bytes_per_s or 0.0
        return tuple(phase.per_s for phase in self.phases) or (mean,)


class Data(Model):
    """What is written; `percent` is how much of each block compresses away."""

    kind: Literal["random", "zeros", "compressible"] = "random"
    percent: Percent = 0.0


class Region(Model):
    """A part of the target: each edge is a share of its capacity and bytes beyond."""

    start_percent: Percent = 0.0
    end_percent: Percent = 100.0
    start_bytes: Annotated[int, Field(ge=0)] = 0
    end_bytes: Annotated[int, Field(ge=0)] = 0

    def edges_percent(self, capacity_bytes: float) -> tuple[float, float]:
        """Both edges on a target of this size, in percent of it."""
        return (
            min(100.0, self.start_percent + 100 * self.start_bytes / capacity_bytes),
            min(100.0, self.end_percent + 100 * self.end_bytes / capacity_bytes),
        )


class Replay(Model):
    """A recorded trace, or the part of it from one time to another: the SHA-256 of the
    whole file, the number of I/Os that are replayed, the time from the first to the
    last, the largest end of one, and what all of them move; the longest time without
    any, and how many have FUA. A footprint `covers` the trace of that SHA-256, which
    no program reads."""

    digest: str
    ios: Annotated[int, Field(gt=0)]
    span_ns: Annotated[int, Field(ge=0)]
    end_bytes: Annotated[int, Field(ge=0)]
    moved_bytes: Annotated[int, Field(ge=0)]
    from_ns: Annotated[int, Field(ge=0)] = 0
    to_ns: Annotated[int, Field(gt=0)] | None = None
    quiet_ns: Annotated[int, Field(ge=0)] = 0
    fua: Annotated[int, Field(ge=0)] = 0
    covers: Annotated[str, Field(exclude=True)] = ""


class Stream(Model):
    """One stream of I/O.

    `read_percent` is reads as a share of reads and writes; `trim_percent`
    the share of discards among all operations. `random_percent` of a random stream's
    I/Os are drawn (of its writes and discards `write_random_percent`, if that differs);
    each of the rest begins where the last one of its direction in the thread ended.
    `permuted` random I/O visits each block once before any again. With a
    `spare_percent`, one pass of random writes leaves the blocks of a drive that has so
    much more flash than capacity as its steady state does. `dedup_percent` is the share
    of the writes whose data is that of an earlier one. `qd` is the queue depth of each
    of the `threads`. With `fua` a write is durable when acknowledged.
    One that `follows` another issues its n-th write once n writes of that are durable.
    `align_bytes` of None aligns each I/O to its own size. With a `pause_ns` each
    thread, after `pause_every` I/Os, lets those outstanding complete and waits so
    long. The stream's part of the run is from `starts_ns` to `ends_ns` of the run's
    measured time, with a warm-up of its own before it, as long as the run's. Each of
    the `hosts` does the whole stream; without any it is the host of the target. Each of
    the `targets`, or else of all that the run has, gets the whole stream; `over_all`
    they get it together, and take its I/Os in turn. With a
    `replay` its I/Os and their times are those of a trace, `speed` times as fast; mix
    and sizes then only describe it, and a pass is once through it. Its offsets count
    from the region's start, as recorded, or `scaled` or `wrapped` into it; `only` its
    reads or its writes are replayed, or its `writes_as_reads`. At the pace `fast`, each
    I/O starts as soon as fewer than `qd` are outstanding; at `after`, when those are
    complete that were so before it in the recording.
    """

    name: str = "main"
    pattern: Literal["random", "sequential"]
    read_percent: Percent
    trim_percent: Percent = 0.0
    read_sizes: tuple[SizeShare, ...]
    write_sizes: tuple[SizeShare, ...]
    permuted: bool = False
    spare_percent: Annotated[float, Field(gt=0)] | None = None
    random_percent: Percent = 100.0
    write_random_percent: Percent | None = None
    align_bytes: Annotated[int, Field(gt=0)] | None = None
    qd: Annotated[int, Field(ge=1)] = 1
    threads: Annotated[int, Field(ge=1)] = 1
    rate: Rate | None = None
    pause_ns: Annotated[int, Field(ge=0)] = 0
    pause_every: Annotated[int, Field(ge=1)] = 1
    starts_ns: Annotated[int, Field(ge=0)] = 0
    ends_ns: Annotated[int, Field(gt=0)] | None = None
    region: Region = Region.model_construct()
    distribution: Distribution = Uniform.model_construct()
    data: Data = Data.model_construct()
    dedup_percent: Percent = 0.0
    sync_every: Annotated[int, Field(ge=1)] | None = None
    fua: bool = False
    follows: str | None = None
    verify: bool = False
    errors_allowed: Annotated[int, Field(ge=1)] | None = None
    errors_allowed_percent: Percent | None = None
    retries: Annotated[int, Field(ge=0, le=100)] = 0
    hang_ns: Annotated[int, Field(ge=0)] = 0
    hosts: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    over_all: bool = False
    replay: Replay | None = None
    speed: Annotated[float, Field(gt=0)] = 1.0
    offsets: Literal["recorded", "scaled", "wrapped"] = "recorded"
    only: Literal["all", "reads", "writes"] = "all"
    writes_as_reads: bool = False
    pace: Literal["recorded", "fast", "after"] = "recorded"

    @property
    def writes(self) -> bool:
        """Whether the stream changes what is stored."""
        return self.read_percent < 100 or self.trim_percent > 0

    @property
    def sizes_bytes(self) -> set[int]:
        """The sizes of its I/Os."""
        reads = self.read_percent > 0 and self.trim_percent < 100
        used = (self.read_sizes if reads else (), self.write_sizes * self.writes)
        return {share.size_bytes for sizes in used for share in sizes}

    def drawn_percent(self, direction: Direction) -> float:
        """How much of the random I/O of a direction is drawn."""
        if direction == "read" or self.write_random_percent is None:
            return self.random_percent
        return self.write_random_percent

    @property
    def goes_on(self) -> bool:
        """Whether some random I/O begins where another ended."""
        return any(self.drawn_percent(d) < 100 for d in ("read", "write"))

    def own_ns(self, run_ns: int) -> int:
        """How long its part of a run is measured."""
        return max(0, min(self.ends_ns or run_ns, run_ns) - self.starts_ns)

    @property
    def can_permute(self) -> bool:
        """Whether there are blocks of which each can be visited once."""
        uniform = self.distribution.kind == "uniform"
        drawn = self.pattern == "random" and not self.goes_on
        single = len(self.sizes_bytes) == 1 and self.spare_percent is None
        return drawn and uniform and single


AnyStream = TypeVar("AnyStream", bound=Stream)


def scaled_times(stream: AnyStream, time_scale: float) -> AnyStream:
    """The stream, with its times within a run multiplied."""
    times = {"starts_ns": stream.starts_ns, "ends_ns": stream.ends_ns}
    changed: dict[str, Any] = {
        name: round(ns * time_scale) for name, ns in times.items() if ns
    }
    if stream.rate and stream.rate.phases:
        phases = tuple(
            one.model_copy(update={"length_ns": round(one.length_ns * time_scale)})
            for one in stream.rate.phases
        )
        changed["rate"] = stream.rate.model_copy(update={"phases": phases})
    return stream.model_copy(update=changed) if changed else stream


class Phase(Model):
    """A part of a run's measured time that has counts of its own: `length_ns` from
    `start_ns` on, and again `every_ns`, all before `end_ns`.

    The I/Os of a phase are those whose intended start is in it.
    """

    name: str
    start_ns: Annotated[int, Field(ge=0)]
    length_ns: Annotated[int, Field(gt=0)]
    every_ns: Annotated[int, Field(gt=0)] | None = None
    end_ns: Annotated[int, Field(gt=0)] | None = None

    def windows(self, until_ns: int) -> Iterator[tuple[int, int]]:
        """Begin and end of each time that it comes, as far as a run of this length."""
        end_ns = min(until_ns, until_ns if self.end_ns is None else self.end_ns)
        for begin_ns in range(self.start_ns, end_ns, self.every_ns or FOREVER_NS):
            yield begin_ns, min(begin_ns + self.length_ns, end_ns)

    def time_ns(self, begin_ns: int, end_ns: int) -> int:
        """How much of the time from the one to the other is in it."""
        return sum(max(0, to - max(begin_ns, at)) for at, to in self.windows(end_ns))


FOREVER_NS = 1 << 62


def part_of(stream: Stream) -> Phase | None:
    """The part of the run that a stream has; None where that is all of it."""
    if not stream.starts_ns and stream.ends_ns is None:
        return None
    length_ns = (stream.ends_ns or FOREVER_NS) - stream.starts_ns
    return Phase(name=stream.name, start_ns=stream.starts_ns, length_ns=length_ns)


def parts_of(streams: Iterable[Stream]) -> dict[str, Phase]:
    """Those of the streams that have a part of the run only, by name."""
    return {one.name: part for one in streams if (part := part_of(one))}


def phases_of(stream: Stream) -> Iterator[Phase]:
    """The part of the run that a stream has, under its name, and the named phases of
    its rate."""
    if own := part_of(stream):
        yield own
    parts = stream.rate.phases if stream.rate else ()
    begin_ns, every_ns = stream.starts_ns, sum(part.length_ns for part in parts)
    for part in parts:
        if part.name:
            yield Phase(
                name=part.name,
                start_ns=begin_ns,
                length_ns=part.length_ns,
                every_ns=every_ns,
                end_ns=stream.ends_ns,
            )
        begin_ns += part.length_ns


STREAM_DEFAULTS: dict[str, Any] = defaults_of(Stream)


class Workload(Model):
    """Streams that run at the same time."""

    streams: Annotated[tuple[Stream, ...], Field(min_length=1)]

    @property
    def writes(self) -> bool:
        """Whether any stream changes what is stored."""
        for stream in self.streams:  # `any` would take three times as long
            if stream.read_percent < 100 or stream.trim_percent > 0:
                return True
        return False
