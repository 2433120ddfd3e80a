"""The map of the drive: where each page is, and how blocks become free again."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from zlib import crc32

import numpy as np
import numpy.typing as npt

from ioplan_sim.spec import Geometry

Pages = npt.NDArray[np.int64]
Pieces = npt.NDArray[np.float64]

RESERVE_BLOCKS = 2
"""With no more than these erased, collection must make room for each write."""
VICTIMS = 16
FOLD_PAGES = 32
"""The cache is emptied in steps, as collection may cost more than the time left."""
NEVER, CLOSED = 1 << 40, 0
"""Only a block that is full and closed is collected."""
HOST, COLLECTION = 0, 1
"""Who fills an open block: copies have one of their own."""


class OpenBlock:
    """A block that is being filled."""

    def __init__(self, number: int) -> None:
        self.number, self.used = number, 0


class Flash:
    """A page map with greedy garbage collection and a cache of single-bit cells.

    `where` has the place of each page of the host, -1 where nothing is stored;
    places from `blocks * block_pages` on lie in the cache. `pieces` says in how
    large a piece a page was written, in pages that a die reads at once.
    """

    def __init__(self, geometry: Geometry) -> None:
        self.geometry = geometry
        self.places = geometry.blocks * geometry.block_pages
        self.host_pages = self.programmed_pages = 0.0
        self.purge()

    def purge(self) -> None:
        """As new: all erased, nothing stored."""
        shape = self.geometry
        self.where: Pages = np.full(shape.pages, -1, dtype=np.int64)
        self.holds: Pages = np.zeros(self.places + shape.cache_pages, dtype=np.int64)
        self.pieces = np.ones(shape.pages, dtype=np.float32)
        self.valid: Pages = np.zeros(shape.blocks, dtype=np.int64)
        self.barred: Pages = np.full(shape.blocks, NEVER, dtype=np.int64)
        self.free = deque(range(2, shape.blocks))
        self.open_blocks = [OpenBlock(0), OpenBlock(1)]  # by HOST and COLLECTION
        self.cache_first = self.cache_pages = 0
        self.victims: deque[int] = deque(maxlen=VICTIMS)

    # what the drive says of itself

    @property
    def collecting(self) -> bool:
        """Whether each block that is written makes one be collected."""
        return len(self.free) <= RESERVE_BLOCKS

    @property
    def copies(self) -> float:
        """Pages that are copied for each page that is written at the moment."""
        if not self.collecting:
            return 0.0
        pages = self.geometry.block_pages
        kept = sum(self.victims) / len(self.victims) if self.victims else self._least()
        return kept / max(pages - kept, 0.25)

    def _least(self) -> int:
        block = int((self.valid + self.barred).argmin())
        return min(int(self.valid[block]), self.geometry.block_pages)

    @property
    def room_pages(self) -> int:
        """Model pages that can be written before collection begins."""
        blocks = max(0, len(self.free) - RESERVE_BLOCKS)
        left = self.geometry.block_pages - self.open_blocks[HOST].used
        return blocks * self.geometry.block_pages + left * (blocks > 0)

    @property
    def cache_room_pages(self) -> int:
        """Model pages that the cache can still take."""
        return self.geometry.cache_pages - self.cache_pages

    def stored(self, start: int, end: int) -> tuple[float, float]:
        """The share of some pages that is stored, and the mean size of a piece."""
        step = max(1, (end - start) // 8192)
        held = self.where[start:end:step] >= 0
        share = float(held.mean()) if len(held) else 0.0
        size = float(self.pieces[start:end:step][held].mean()) if share else 1.0
        return share, size

    def facts(self) -> dict[str, float | str]:
        """The state in figures; equal states have equal digests."""
        shape, stored = self.geometry, self.where >= 0
        closed = np.sort(self.valid[self.barred == CLOSED])
        return {
            "mapped_share": round(np.count_nonzero(stored) / shape.pages, 4),
            "free_blocks_share": round(len(self.free) / shape.blocks, 4),
            "cache_fill": round(self.cache_pages / max(1, shape.cache_pages), 4),
            "valid_quartiles": "/".join(
                f"{q / shape.block_pages:.2f}" for q in _quarters(closed)
            ),
            "valid_digest": f"{crc32(closed.data):08x}",
            "stored_digest": f"{crc32(stored.data):08x}",
        }

    # writing

    def write(self, pages: Pages, piece: float | Pieces, share: float = 1.0) -> None:
        """Store pages of the host, in this order, written in pieces of a size, or each
        in one of its own.

        Of each the host has written a share.
        """
        self.host_pages += len(pages) * share
        self.pieces[pages] = piece
        cached = min(len(pages), self.cache_room_pages)
        if cached:
            self._cache(pages[:cached])
        self._program(pages[cached:], HOST)

    def overwrite(self, pages: Pages) -> None:
        """Store pages in place, as memory without a map does."""
        self.host_pages += len(pages)
        self.programmed_pages += len(pages)
        self.where[pages] = 0

    def trim(self, pages: Pages) -> None:
        """Forget pages."""
        pages = np.unique(pages)
        self._leave(self.where[pages])
        self.where[pages] = -1

    def _leave(self, places: Pages) -> None:
        """What lay there is stale. Without a sign, no place (-1) is beyond all."""
        inside = places[places.view(np.uint64) < self.places]
        if len(inside):
            np.subtract.at(self.valid, inside // self.geometry.block_pages, 1)

    def _put(self, pages: Pages, first: int) -> int:
        """Place pages from `first` on; of equal ones the last counts. Returns how
        many are valid."""
        places = np.arange(first, first + len(pages))
        before = self.where[pages]
        self.where[pages] = places
        self.holds[first : first + len(pages)] = pages
        last = self.where[pages] == places
        self._leave(before[last])
        self.programmed_pages += len(pages)
        return int(np.count_nonzero(last))

    def _program(self, pages: Pages, writer: int) -> None:
        """Fill blocks; a host's page may have to wait for collection."""
        done, size = 0, self.geometry.block_pages
        while done < len(pages):
            part = pages[done : done + size - self._open_block(writer).used]
            block = self.open_blocks[writer]
            # In two steps, as placing pages may make others of this block stale.
            valid = self._put(part, block.number * size + block.used)
            self.valid[block.number] += valid
            block.used += len(part)
            done += len(part)

    def _copy(self, pages: Pages) -> None:
        """Fill collection's blocks with different pages, which a block is left by."""
        done, size = 0, self.geometry.block_pages
        while done < len(pages):
            part = pages[done : done + size - self._open_block(COLLECTION).used]
            block, count = self.open_blocks[COLLECTION], len(part)
            first = block.number * size + block.used
            self.where[part] = np.arange(first, first + count)
            self.holds[first : first + count] = part
            self.valid[block.number] += count
            block.used += count
            done += count
        self.programmed_pages += len(pages)

    def _open_block(self, writer: int) -> OpenBlock:
        """The block to fill, a new one where it is full."""
        if self.open_blocks[writer].used == self.geometry.block_pages:
            if writer == HOST:
                self._make_room()
            full = self.open_blocks[writer]  # to make room may have replaced it
            if full.used == self.geometry.block_pages:
                self.barred[full.number] = CLOSED
                self.open_blocks[writer] = OpenBlock(self.free.popleft())
        return self.open_blocks[writer]

    def _make_room(self) -> None:
        """Collect until one block more than the reserve is erased."""
        if not self.collecting:
            self.victims.clear()
        while self.collecting and self.collect():
            pass

    def collect(self) -> int:
        """Copy what is valid in the block that has least of it, and erase it.

        Returns how many pages that has freed; none if all of all blocks is valid.
        """
        block, size = (
            int((self.valid + self.barred).argmin()),
            self.geometry.block_pages,
        )
        kept = int(self.valid[block])
        if self.barred[block] or kept >= size:
            return 0
        places = np.arange(block * size, (block + 1) * size)
        pages = self.holds[block * size : (block + 1) * size]
        self.barred[block] = NEVER
        self._copy(pages[self.where[pages] == places])
        self.valid[block] = 0
        self.free.append(block)
        self.victims.append(kept)
        return size - kept

    # the cache

    def _cache(self, pages: Pages) -> None:
        """Write to the cache, a ring."""
        size = self.geometry.cache_pages
        while len(pages):
            at = (self.cache_first + self.cache_pages) % size
            part, pages = np.split(pages, [min(len(pages), size - at)])
            self._put(part, self.places + at)
            self.cache_pages += len(part)

    def _fold(self, most_pages: int) -> None:
        """Move the oldest pages out of the cache."""
        size = self.geometry.cache_pages
        count = min(most_pages, self.cache_pages, size - self.cache_first)
        places = np.arange(count) + self.places + self.cache_first
        pages = self.holds[places]
        alive = pages[self.where[pages] == places]
        self._program(alive, HOST)
        self.cache_first = (self.cache_first + count) % size
        self.cache_pages -= count

    # rest

    def rest(self, copies: float, goal_share: float) -> float:
        """Use time for so many copies to fold the cache and to collect.

        Returns what is left of them, less than nothing if a block took more;
        `goal_share` of the spare is to be erased.
        """
        while copies >= 1 and self.cache_pages:
            before = self.programmed_pages
            self._fold(min(int(copies), FOLD_PAGES))
            copies -= max(1.0, self.programmed_pages - before)
        goal = RESERVE_BLOCKS + goal_share * max(0, self.geometry.spare_blocks)
        while copies >= 1 and len(self.free) < goal:
            before = self.programmed_pages
            if not self.collect():
                return 0.0
            copies -= max(1.0, self.programmed_pages - before)
        return copies


def _quarters(ordered: Pages) -> Sequence[float]:
    """The quartiles, as `np.quantile` has them, at a tenth of its price."""
    if not len(ordered):
        return ()
    places = np.array((0.25, 0.5, 0.75)) * (len(ordered) - 1)
    return [*map(float, np.interp(places, np.arange(len(ordered)), ordered))]
