"""What is asked of a target: streams of I/O, complete and without names.

A workload has one or more streams that run at the same time. Everything that
the language leaves to a default is written out here, so that a record says all.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from ioplan.core.model import Model

Percent = Annotated[float, Field(ge=0, le=100)]
Direction = Literal["read", "write", "trim"]
DIRECTIONS: tuple[Direction, ...] = ("read", "write", "trim")


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


class Rate(Model):
    """An open-loop rate of a whole stream, in I/Os or in bytes per second."""

    iops: Annotated[float, Field(gt=0)] | None = None
    bytes_per_s: Annotated[float, Field(gt=0)] | None = None
    arrivals: Literal["fixed", "poisson"] = "fixed"


class Data(Model):
    """What is written; `percent` is how much of each block compresses away."""

    kind: Literal["random", "zeros", "compressible"] = "random"
    percent: Percent = 0.0


class Region(Model):
    """A part of the target, in percent of its capacity."""

    start_percent: Percent = 0.0
    end_percent: Percent = 100.0


class Stream(Model):
    """One stream of I/O.

    `read_percent` is the share of reads among reads and writes; `trim_percent`
    the share of discards among all operations. `qd` is the queue depth of each
    of the `threads`. `align_bytes` of None aligns each I/O to its own size. With a
    `pause_ns` each thread, after `pause_every` I/Os, lets those outstanding complete
    and waits so long. Each of
    the `hosts` does the whole stream; without any it is the host of the target.
    """

    name: str = "main"
    pattern: Literal["random", "sequential"]
    read_percent: Percent
    trim_percent: Percent = 0.0
    read_sizes: tuple[SizeShare, ...]
    write_sizes: tuple[SizeShare, ...]
    align_bytes: Annotated[int, Field(gt=0)] | None = None
    qd: Annotated[int, Field(ge=1)] = 1
    threads: Annotated[int, Field(ge=1)] = 1
    rate: Rate | None = None
    pause_ns: Annotated[int, Field(ge=0)] = 0
    pause_every: Annotated[int, Field(ge=1)] = 1
    region: Region = Region()
    distribution: Distribution = Uniform()
    data: Data = Data()
    sync_every: Annotated[int, Field(ge=1)] | None = None
    verify: bool = False
    hosts: tuple[str, ...] = ()

    @property
    def writes(self) -> bool:
        """Whether the stream changes what is stored."""
        return self.read_percent < 100 or self.trim_percent > 0


STREAM_DEFAULTS: dict[str, Any] = {
    name: field.default
    for name, field in Stream.model_fields.items()
    if not field.is_required()
}


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
