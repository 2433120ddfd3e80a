"""A stream whose I/Os are those of a trace: which is next, when, and where it falls."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from math import inf

import numpy as np
from msgspec.structs import asdict

from ioplan.backends import DISCARD, DTYPE, FLUSH, FUA, READ, WRITE, Direction, Ios
from ioplan_sim.flash import Pages
from ioplan_sim.io_source import DRAWS, JITTER, IoSource, read_size
from ioplan_sim.load import IoKind, StreamLoad, kind_of
from ioplan_sim.spec import MAP_BYTES
from ioplan_sim.ssd import Ssd

NAMES: dict[int, Direction] = {
    READ: "read",
    WRITE: "write",
    FLUSH: "flush",
    DISCARD: "trim",
}
FUA_BIT, KIND_BITS = 1 << 32, 33
"""A kind as one number: its size, whether it has FUA, and its direction."""


class FuaKind(IoKind, frozen=True):
    """Writes that are durable when they are acknowledged."""


class ReplayedSource(IoSource):
    """The I/Os of a trace, read in chunks; times count from the start of the run."""

    def __init__(
        self,
        load: StreamLoad,
        chunks: Iterator[Ios],
        ssd: Ssd,
        rng: np.random.Generator,
    ) -> None:
        stream, self.chunks, self.ssd = load.stream, chunks, ssd
        self.places = Places(ssd)
        self.base_ns, self.ends_ns = stream.starts_ns, stream.ends_ns or inf
        self.fast, self.speed = stream.pace == "fast", stream.speed
        self.indexes: dict[int, int] = {}
        self.rest = self.rows = np.zeros(0, DTYPE)
        self.loaded = self.settled = 0
        self.awaited = False
        self.late_ns = array("d")
        super().__init__(load, False, (1.0, 1.0), ssd.spec, rng)

    def draw(self) -> None:
        """The next I/Os of the trace, and what chance decides of them."""
        if self.number < self.loaded:
            return
        if not self.loaded:
            self.kinds, self.samples, self.reads = (), [], []
        self.settle()
        self.rows = self._next_rows()
        self._set_reads()
        self.loaded += len(self.rows)
        self.first = self.loaded - len(self.rows)
        self.choice = self._kinds_of(self.rows)
        due_ns = np.rint(self.rows["time_ns"] / self.speed)
        self.due_ns: list[float] = (self.base_ns + due_ns).tolist()
        self.first_pages = (self.rows["offset"] // self.spec.flash.page).tolist()
        self.is_stored = self.places.are_stored(self.rows).tolist()
        self.read_ns = self._read_times(self.spec, self.rng)
        spread = self.rng.uniform(1 - JITTER, 1 + JITTER, DRAWS)
        self.delays_ns = (self.spec.host.overhead * spread).tolist()

    def _set_reads(self) -> None:
        """How many pages of the dies a read takes: what was written in small pieces is
        in as many places."""
        self.piece = self.places.piece(self.rows)
        self.reads = [read_size(kind, self.piece) for kind in self.kinds]

    def _next_rows(self) -> Ios:
        """As many as are looked at together; fewer at the end of the trace only."""
        while len(self.rest) < DRAWS:
            more = next(self.chunks, None)
            if more is None:
                break
            self.rest = np.concatenate((self.rest, more)) if len(self.rest) else more
        rows, self.rest = np.split(self.rest, [DRAWS])
        return rows

    def _kinds_of(self, rows: Ios) -> list[int]:
        """The number of each one's kind; new kinds are added."""
        has_fua = (rows["flags"] & FUA > 0) | self.load.stream.fua
        fua = (rows["kind"] == WRITE) & has_fua
        keys = rows["kind"].astype(np.int64) << KIND_BITS
        keys |= rows["size"] + fua * FUA_BIT
        found, places = np.unique(keys, return_inverse=True)
        made: list[int] = np.array([*map(self._index, found.tolist())], int)[
            places
        ].tolist()
        return made

    def _index(self, key: int) -> int:
        if key not in self.indexes:
            size = key & (FUA_BIT - 1)
            kind = kind_of(
                self.load.stream,
                NAMES[key >> KIND_BITS],
                size,
                0.0,
                self.spec.flash.map,
            )
            if key & FUA_BIT:
                kind = FuaKind(**asdict(kind))
            self.indexes[key] = len(self.kinds)
            self.kinds = (*self.kinds, kind)
            self.samples.append(array("d"))
            self.reads.append(read_size(kind, self.piece))
        return self.indexes[key]

    def next_due_ns(self) -> float:
        """When the next I/O is due; never, if there is none."""
        if self.number == self.loaded:
            self.draw()
        if self.number == self.loaded:
            return inf
        due_ns = self.base_ns if self.fast else self.due_ns[self.number % DRAWS]
        return due_ns if due_ns < self.ends_ns else inf

    @property
    def is_over(self) -> bool:
        """Whether all are issued and complete."""
        return self.free == self.outstanding and self.next_due_ns() == inf

    def settle(self) -> tuple[float, float]:
        """Let what was issued change what is stored; pages written, and reads."""
        rows = self.rows[self.settled - (self.loaded - len(self.rows)) :]
        rows = rows[: self.number - self.settled]
        self.settled = self.number
        self.places.change(rows)
        size = rows["size"][rows["kind"] == WRITE]
        reads = float((rows["kind"] == READ).sum())
        return float((-(-size.astype(np.int64) // MAP_BYTES)).sum()), reads


class Places:
    """Where the I/Os of a trace are on a drive, and on its model."""

    def __init__(self, ssd: Ssd) -> None:
        self.ssd = ssd
        self.share = ssd.shape.pages / ssd.capacity_bytes
        self.carried = 0.0

    def piece(self, rows: Ios) -> float:
        """How much is stored together where they read, in pages of the host."""
        flash, most = self.ssd.flash, self.ssd.spec.page_pages
        found = self._model(rows["offset"][rows["kind"] == READ])
        pieces = flash.pieces[found[flash.where[found] >= 0]]
        return max(1.0, min(most, float(pieces.mean()))) if len(pieces) else most

    def _model(self, offsets: Pages) -> Pages:
        places = (offsets * self.share).astype(np.int64)
        return np.minimum(places, self.ssd.shape.pages - 1)

    def are_stored(self, rows: Ios) -> Pages:
        """Whether each begins where something is stored, by one before it as well."""
        order, found = np.arange(len(rows)), self._model(rows["offset"])
        written = np.full(self.ssd.shape.pages, len(rows))
        writes = rows["kind"] == WRITE
        ends = self._model((rows["offset"] + rows["size"] - 1)[writes])
        counts = ends - found[writes] + 1
        pages = each_from(found[writes], counts)
        np.minimum.at(written, pages, np.repeat(order[writes], counts))
        return np.asarray((self.ssd.flash.where[found] >= 0) | (written[found] < order))

    def change(self, rows: Ios) -> None:
        """Write and discard, in this order."""
        rows = rows[(rows["kind"] == WRITE) | (rows["kind"] == DISCARD)]
        edges = np.flatnonzero(np.diff(rows["kind"])) + 1
        for part in np.split(rows, edges) if len(rows) else ():
            if part["kind"][0] == WRITE:
                self._write(part)
            else:
                self._trim(part)

    def _write(self, rows: Ios) -> None:
        """One of so many pages of the host is a page of the model."""
        first = (rows["offset"] // MAP_BYTES).astype(np.int64)
        ends = rows["offset"] + rows["size"]
        counts = -(-ends.astype(np.int64) // MAP_BYTES) - first
        pages = each_from(first, counts)
        steps = self.carried + np.arange(1, len(pages) + 1) / self.ssd.shape.scale
        self.carried = float(steps[-1] % 1)
        before = steps - 1 / self.ssd.shape.scale
        kept = np.floor(steps) > np.floor(before)
        chosen = self._model(pages[kept] * MAP_BYTES)
        if self.ssd.spec.flash.in_place:
            self.ssd.flash.overwrite(chosen)
        else:
            pieces = np.minimum(together(first, counts), self.ssd.spec.page_pages)
            self.ssd.flash.write(chosen, np.repeat(pieces, counts)[kept])

    def _trim(self, rows: Ios) -> None:
        """Pages of the model that are discarded as a whole."""
        ends = rows["offset"] + rows["size"]
        starts = np.ceil(rows["offset"] * self.share).astype(np.int64)
        stops = (ends * self.share).astype(np.int64)
        for start, end in zip(starts, stops, strict=True):
            if start < end:
                self.ssd.flash.trim(np.arange(start, end))


def together(first: Pages, counts: Pages) -> Pages:
    """How many pages are written one after the other, by each write or by several."""
    goes_on = first[1:] == (first + counts)[:-1]
    runs = np.append(0, np.cumsum(~goes_on))
    return np.asarray(np.bincount(runs, counts)[runs])


def each_from(first: Pages, counts: Pages) -> Pages:
    """So many numbers from each first one on, one after the other."""
    before = np.repeat(np.cumsum(counts) - counts, counts)
    return np.asarray(np.repeat(first, counts) + np.arange(counts.sum()) - before)
