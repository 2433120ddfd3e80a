"""A drive over all of its runs: its map, its clock, and what it does when idle."""

from __future__ import annotations

import numpy as np

from ioplan.job import Job, JobStream
from ioplan_sim.flash import Flash
from ioplan_sim.geometry import MOST_PAGES, geometry
from ioplan_sim.load import Kind, Lane
from ioplan_sim.places import Places
from ioplan_sim.spec import MAP_BYTES, DriveSpec
from ioplan_sim.speed import Speeds

SLICE_NS = 10_000_000
"""The shortest step of a long interval, so that a small drive is not slow to run."""
PARTS = 64
"""A step writes no more than this part of the drive."""
WRITES, THINNED = 8.0, 16.0
"""A run that has written the drive so often is near its steady state: from then on
one in 16 pages is followed, so that a small drive is not slow to run for hours."""
LEISURE = 0.5
"""How much of the dies' spare time is used for collecting while there is I/O."""


class Device:
    """A drive of some capacity. `most_pages` is how large its model may be."""

    def __init__(
        self, spec: DriveSpec, capacity_bytes: int, most_pages: int = MOST_PAGES
    ) -> None:
        self.spec, self.capacity_bytes = spec, capacity_bytes
        self.shape = geometry(spec, capacity_bytes, most_pages)
        self.flash = Flash(self.shape)
        self.clock_ns = 0
        self.copies_due = 0.0
        self._speeds: dict[tuple[JobStream, ...], Speeds] = {}

    def speeds(self, job: Job) -> Speeds:
        """What is known of the speed of a job's streams."""
        return self._speeds.setdefault(job.streams, Speeds(self.spec, job.streams))

    def places(self, stream: JobStream, job: Job, rng: np.random.Generator) -> Places:
        """Where a stream goes on this drive."""
        covers = job.passes is not None
        return Places(stream, self.shape, self.capacity_bytes, rng, covers)

    def thinned(self, written_pages: float) -> float:
        """Of how many model pages one is followed, so late in a run."""
        late = written_pages > WRITES * self.shape.pages * self.shape.scale
        return THINNED if late else 1.0

    def horizon_ns(self, pages_per_ns: float, thinned: float) -> float:
        """How long the drive stays nearly as it is, at this rate of writing."""
        pace = max(pages_per_ns, 1e-12) / self.shape.scale / thinned
        edges = [self.flash.room_pages, self.flash.cache_room_pages]
        edge_ns = min((edge / pace for edge in edges if edge > 0), default=np.inf)
        return max(SLICE_NS, min(edge_ns, self.shape.pages / PARTS / pace))

    def take(self, lane: Lane, kind: Kind, ios: int, thinned: float) -> None:
        """Let I/Os of a kind change what is stored."""
        pages = ios * kind.pages / self.shape.scale / thinned
        if kind.direction == "read":
            lane.places.skip(pages)
            return
        found = lane.places.take(pages, kind.size_bytes)
        if kind.direction == "trim":
            self.flash.trim(found)
        elif self.spec.flash.in_place:
            self.flash.overwrite(found)
        else:
            self.flash.write(found, self._piece(lane, kind))

    def _piece(self, lane: Lane, kind: Kind) -> float:
        """In order, the buffer puts small writes together."""
        most = self.spec.page_pages
        return most if lane.places.sequential else max(1, min(most, kind.pages))

    def work(self, lanes: list[Lane]) -> float:
        """How busy the dies are, from 0 to about 1."""
        reading_ns = self.spec.flash.read / self.spec.flash.dies
        writing_ns = self.spec.program_ns() + self.flash.copies * self.spec.copy_ns()
        return sum(
            lane.pace_per_ns
            * (lane.written_pages * writing_ns + lane.read_share * reading_ns)
            for lane in lanes
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

    def facts(self) -> dict[str, float | str]:
        """The state, and what was written in the drive's life."""
        scale = self.shape.scale * MAP_BYTES
        return {
            "state_of": f"1 in {self.shape.scale:.4g} pages",
            **self.flash.facts(),
            "host_written_bytes": round(self.flash.host_pages * scale),
            "flash_written_bytes": round(self.flash.programmed_pages * scale),
        }
