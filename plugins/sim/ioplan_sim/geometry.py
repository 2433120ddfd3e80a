"""The model drive: a part of the drive that is small enough to be followed.

Of a drive of many blocks only some are simulated, and a block of many pages has
fewer, larger ones: each model page stands for `scale` host pages, and one in
`scale` host pages that are written is. In units of drive writes, nothing else
changes: what greedy collection costs depends on the spare and, weakly, on the
pages of a block (see docs/sim.md for the error).
"""

from __future__ import annotations

from typing import NamedTuple

from ioplan_sim.spec import MAP_BYTES, DriveSpec

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
