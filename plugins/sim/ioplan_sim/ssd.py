"""A drive over all of its runs: its map, its clock, and what it does when idle."""

from __future__ import annotations

from math import log

import numpy as np

from ioplan.backends import Job, JobStream, steady_waf
from ioplan_sim.flash import Flash
from ioplan_sim.load import IoKind, StreamLoad
from ioplan_sim.placement import Placement
from ioplan_sim.spec import MAP_BYTES, MAX_PAGES, DriveSpec, Geometry, geometry
from ioplan_sim.speed import Speeds

# What collecting costs by theory, and how far below it the model of a drive may be.

BLOCKS_LACKING = 2.0
"""Open blocks and those in reserve are spare, too: of few spare blocks that is much."""


def large_blocks(over: float) -> float:
    """Write amplification of greedy collection, uniform random writes, large blocks."""
    return steady_waf(100 * over)


def small_blocks(over: float, pages: int) -> float:
    """Write amplification of greedy collection, blocks of so many pages, very many.

    In the steady state, as many blocks fall from i to i - 1 valid pages as are
    written, so that x_i of them are in proportion to 1 / i down to the j valid
    pages of a victim: (pages - j) / (H(pages) - H(j)) valid pages in the mean, with
    H(n) close to ln(n + 1/2). As in P. Desnoyers, Analytic Modeling of SSD Write
    Performance, SYSTOR 2012.
    """
    low, high = 0.0, pages - 1e-6
    for _ in range(200):
        j = (low + high) / 2
        mean = (pages - j) / log((pages + 0.5) / (j + 0.5))
        low, high = (j, high) if mean < pages / (1 + over) else (low, j)
    return pages / (pages - j)


def below_theory_percent(over: float, shape: Geometry) -> float:
    """How far the model of a drive may be below the theory for large blocks: as its
    blocks have few pages, and as few of them are spare."""
    fewer_pages = small_blocks(over, shape.block_pages) / large_blocks(over)
    fewer_blocks = 1 - BLOCKS_LACKING / (shape.spare_blocks + 2)
    return 100 * (1 - fewer_pages * fewer_blocks)


SLICE_NS = 10_000_000
"""The shortest step of a long interval, so that a small drive is not slow to run."""
PARTS = 64
"""A step writes no more than this part of the drive."""
WRITES, SAMPLED_EVERY = 8.0, 16.0
"""A run that has written the drive so often is near its steady state: from then on
one in 16 pages is followed, so that a small drive is not slow to run for hours."""
BELOW_THEORY = "write_amplification_below_theory_percent"
SPARE_TIME_SHARE = 0.5
"""How much of the dies' spare time is used for collecting while there is I/O."""


class Ssd:
    """A drive of some capacity. `max_pages` is how large its model may be."""

    def __init__(
        self, spec: DriveSpec, capacity_bytes: int, max_pages: int = MAX_PAGES
    ) -> None:
        self.spec, self.capacity_bytes = spec, capacity_bytes
        self.shape = geometry(spec, capacity_bytes, max_pages)
        self.flash = Flash(self.shape)
        self._below_theory: dict[str, float | str] = {}
        if not spec.flash.in_place:  # which collects nothing
            below = below_theory_percent(spec.over_provisioning / 100, self.shape)
            self._below_theory[BELOW_THEORY] = round(below, 1)
        self.clock_ns = 0
        self._logged, self._logged_ns = (0, 0), 0  # by its log
        self.copies_due = 0.0
        self._speeds: dict[tuple[JobStream, ...], Speeds] = {}

    def speeds(self, job: Job) -> Speeds:
        """What is known of the speed of a job's streams."""
        return self._speeds.setdefault(job.streams, Speeds(self.spec, job.streams))

    def placement(self, stream: JobStream, rng: np.random.Generator) -> Placement:
        """Where a stream goes on this drive."""
        map_bytes = self.spec.flash.map
        return Placement(stream, self.shape, self.capacity_bytes, rng, map_bytes)

    def sampled_every(self, written_pages: float) -> float:
        """Of how many model pages one is followed, so late in a run."""
        late = written_pages > WRITES * self.shape.pages * self.shape.scale
        return SAMPLED_EVERY if late else 1.0

    def horizon_ns(self, pages_per_ns: float, sampled_every: float) -> float:
        """How long the drive stays nearly as it is, at this rate of writing."""
        pace = max(pages_per_ns, 1e-12) / self.shape.scale / sampled_every
        edges = [self.flash.room_pages, self.flash.cache_room_pages]
        edge_ns = min((edge / pace for edge in edges if edge > 0), default=np.inf)
        return max(SLICE_NS, min(edge_ns, self.shape.pages / PARTS / pace))

    def take(
        self, load: StreamLoad, kind: IoKind, ios: int, sampled_every: float
    ) -> None:
        """Let I/Os of a kind change what is stored."""
        pages = ios * kind.pages / self.shape.scale / sampled_every
        if kind.direction == "read":
            load.placement.skip(pages)
            return
        found = load.placement.take(pages, kind.size_bytes)
        if kind.direction == "trim":
            self.flash.trim(found)
        elif self.spec.flash.in_place:
            self.flash.overwrite(found)
        else:
            self.flash.write(found, self._piece(load, kind), self._share(kind))

    def _share(self, kind: IoKind) -> float:
        """Of what is programmed, the host's: the rest fills units of the map."""
        if self.spec.flash.map == MAP_BYTES or not kind.partial:
            return 1.0
        return kind.size_bytes / MAP_BYTES / kind.pages

    def _piece(self, load: StreamLoad, kind: IoKind) -> float:
        """In order, the buffer puts small writes together."""
        most = self.spec.page_pages
        return most if load.placement.sequential else max(1, min(most, kind.pages))

    def work(self, loads: list[StreamLoad]) -> float:
        """How busy the dies are, from 0 to about 1."""
        reading_ns = self.spec.flash.read / self.spec.flash.dies
        writing_ns = self.spec.program_ns() + self.flash.copies * self.spec.copy_ns()
        return sum(
            load.pace_per_ns
            * (load.written_pages * writing_ns + load.read_share * reading_ns)
            for load in loads
        )

    def rest(self, time_ns: float, share: float = 1.0) -> None:
        """Pass time; a share of it is used to fold the cache and to collect."""
        self.clock_ns += round(time_ns)
        if share <= 0 or self.spec.flash.in_place:
            return
        copy_ns = self.spec.copy_ns() * self.shape.scale
        most = 2.0 * self.shape.pages
        self.copies_due = min(most, self.copies_due + time_ns * share / copy_ns)
        goal = self.spec.collection.idle / 100
        self.copies_due = min(self.flash.rest(self.copies_due, goal), 1.0)

    def purge(self) -> None:
        """As new."""
        self.flash.purge()
        self.copies_due = 0.0

    def logged(self) -> tuple[int, int]:
        """Bytes of the host and of the flash, as the drive's log has them now."""
        step, every_ns = max(1, self.spec.log.step), max(1, self.spec.log.every)
        if self.clock_ns - self._logged_ns >= self.spec.log.every:
            self._logged_ns = self.clock_ns // every_ns * every_ns
            scale, flash = self.map_page_bytes, self.flash
            host, media = flash.host_pages * scale, flash.programmed_pages * scale
            self._logged = round(host) // step * step, round(media) // step * step
        return self._logged

    @property
    def map_page_bytes(self) -> float:
        """So much of the drive a page of the model stands for."""
        return self.shape.scale * MAP_BYTES

    def facts(self) -> dict[str, float | str]:
        """The state, and what was written in the drive's life."""
        scale = self.map_page_bytes
        return {
            "state_of": f"1 in {self.shape.scale:.4g} pages",
            **self._below_theory,
            **self.flash.facts(),
            "host_written_bytes": round(self.flash.host_pages * scale),
            "flash_written_bytes": round(self.flash.programmed_pages * scale),
        }
