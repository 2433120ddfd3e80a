"""What a drive is made of: the drive file, in TOML, in the quantities of plans."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import Field

from ioplan.backends import (
    POSITIVE,
    SHARE,
    SIZE,
    BackendError,
    Bandwidth,
    Iops,
    Model,
    Size,
    SomeTime,
    Time,
    WrittenError,
    read_written,
)

MAP_BYTES = 4096
"""What the map of the drive knows: a host page."""


Count = Annotated[int, Field(ge=1, le=4096, strict=True)]


class FlashSpec(Model):
    """The memory. A die reads `page`, and programs `planes` pages at once.

    `erase_block` is what is erased together, over all dies. `spread` is how far
    a read may take more or less than `read`; `retries` is the share of reads that
    take five times as long. `map` is the unit that is written as a whole.
    `in_place` memory has no map and collects nothing.
    """

    channels: Count = 8
    dies: Count = 64
    planes: Count = 2
    page: Annotated[
        int, Field(ge=MAP_BYTES, le=1 << 20, multiple_of=MAP_BYTES), SIZE
    ] = 16384
    map: Annotated[
        int, Field(ge=MAP_BYTES, le=1 << 16, multiple_of=MAP_BYTES), SIZE
    ] = MAP_BYTES
    erase_block: Annotated[int, Field(ge=16 * MAP_BYTES), SIZE] = 128 << 20
    read: SomeTime = 60_000
    program: SomeTime = 800_000
    erase: Time = 5_000_000
    spread: Annotated[float, Field(le=90), SHARE] = 20.0
    retries: Annotated[float, Field(le=50), SHARE] = 0.05
    channel_bandwidth: Bandwidth = 1.2e9
    in_place: Annotated[bool, Field(strict=True)] = False


class HostSpec(Model):
    """The way to the host. `bandwidth` holds for each direction by itself."""

    bandwidth: Bandwidth = 3.2e9
    overhead: Time = 10_000
    commands: Annotated[Iops, Field(le=1e9)] = 600_000.0
    trim: Time = 30_000


class BufferSpec(Model):
    """Memory that takes writes until they are programmed; kept at a power cut."""

    size: Annotated[int, Field(ge=MAP_BYTES), SIZE] = 64 << 20
    flush: Time = 20_000


class CacheSpec(Model):
    """Flash that is programmed with one bit a cell, and emptied when idle."""

    size: Size = 0
    program: SomeTime = 200_000


class CollectionSpec(Model):
    """Garbage collection. `idle` is the share of the spare that rest makes free."""

    idle: Annotated[float, Field(le=90), SHARE] = 50.0


class LogSpec(Model):
    """The drive's log of what it wrote: it counts in steps, and is renewed so often."""

    step: Size = 0
    every: Time = 0


class DriveSpec(Model):
    """A drive. `capacity` is what the host sees; spare flash is beyond it."""

    model: str = "ioplan sim"
    capacity: Annotated[int, POSITIVE, SIZE] | None = None
    over_provisioning: Annotated[float, Field(ge=1, le=400), SHARE] = 15.0
    flash: FlashSpec = FlashSpec.model_construct()
    host: HostSpec = HostSpec.model_construct()
    buffer: BufferSpec = BufferSpec.model_construct()
    cache: CacheSpec = CacheSpec.model_construct()
    collection: CollectionSpec = CollectionSpec.model_construct()
    log: LogSpec = LogSpec.model_construct()

    @property
    def unit_pages(self) -> int:
        """Host pages that a die programs at once."""
        return self.flash.planes * self.flash.page // MAP_BYTES

    @property
    def page_pages(self) -> int:
        """Host pages that a die reads at once."""
        return self.flash.page // MAP_BYTES

    def program_ns(self, die_ns: float = 0.0) -> float:
        """How long the whole drive is busy with a page that it programs, the erasing
        included; a die takes `die_ns`, unless it is the usual time."""
        flash = self.flash
        erase_ns = (
            0.0 if flash.in_place else flash.erase * MAP_BYTES / flash.erase_block
        )
        return (die_ns or flash.program) / self.unit_pages / flash.dies + erase_ns

    def copy_ns(self) -> float:
        """The time of a page that it copies."""
        return self.program_ns() + self.flash.read / self.page_pages / self.flash.dies


def read_spec(path: str | None) -> DriveSpec:
    """The drive of a file; without one, a middling drive. Raises BackendError."""
    if path is None:
        return DriveSpec.model_construct()
    try:
        return read_written(path, DriveSpec, "the drive")
    except WrittenError as error:
        raise BackendError(str(error)) from error


# The model drive: a part of the drive that is small enough to be followed.
#
# Of a drive of many blocks only some are simulated, and a block of many pages has
# fewer, larger ones: each model page stands for `scale` host pages, and one in
# `scale` host pages that are written is. In units of drive writes, nothing else
# changes: what greedy collection costs depends on the spare and, weakly, on the pages
# of a block (see docs/sim.md for the error).

MAX_PAGES = 1 << 18
"""Model pages of a drive, unless the drive has fewer."""
BLOCK_PAGES = 256
MIN_BLOCKS = 64
"""A drive smaller than that many erase blocks has smaller ones."""
EXTRA_BLOCKS = 4
"""Two that are being filled and two in reserve, beside what is over-provisioned."""


class Geometry(NamedTuple):
    """`pages` are what the host sees, in blocks of `block_pages` with spare ones.

    `scale` host pages are one model page; `grain` of them are neighbours in it.
    """

    pages: int
    blocks: int
    block_pages: int
    scale: float
    grain: float
    cache_pages: int

    @property
    def spare_blocks(self) -> int:
        """Blocks beyond what the host sees; the extra ones do not count."""
        return self.blocks - EXTRA_BLOCKS - self.pages // self.block_pages


def geometry(
    spec: DriveSpec, capacity_bytes: int, max_pages: int = MAX_PAGES
) -> Geometry:
    """How a drive of some capacity is modelled."""
    host_pages = max(1, capacity_bytes // MAP_BYTES)
    over = 1 + spec.over_provisioning / 100
    host_block = min(spec.flash.erase_block // MAP_BYTES, host_pages // MIN_BLOCKS)
    block_pages = max(8, min(BLOCK_PAGES, host_block))
    grain = max(1.0, host_block / block_pages)
    pages = int(min(host_pages / grain, max_pages / over))
    pages = max(pages, 8 * block_pages)
    blocks = -(-int(pages * over) // block_pages) + EXTRA_BLOCKS
    scale = host_pages / pages
    cache = int(spec.cache.size / MAP_BYTES / scale)
    return Geometry(pages, blocks, block_pages, scale, grain, cache)
