"""The I/Os of a trace that a replay means: a part of it, some kinds, other places."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ioplan.trace.facts import Only
from ioplan.trace.prepared import READ, WRITE, Ios, Prepared, numbers_at


class Selection(Struct, frozen=True):
    """Which I/Os: from one time of the trace to another, and of which kinds."""

    from_ns: int = 0
    to_ns: int | None = None
    only: Only = "all"
    writes_as_reads: bool = False

    @property
    def kinds(self) -> tuple[int, ...] | None:
        """The kinds that are left; None for all."""
        if self.only != "all":
            return (READ if self.only == "reads" else WRITE,)
        return (READ, WRITE) if self.writes_as_reads else None

    def numbers(self, trace: Prepared) -> tuple[int, int]:
        """The first I/O of the part, and the first one after it. Raises OSError."""
        to_ns = trace.header.span_ns + 1 if self.to_ns is None else self.to_ns
        first, last = numbers_at(trace.path, trace.header.count, (self.from_ns, to_ns))
        return first, last

    def chunks(self, trace: Prepared) -> Iterator[Ios]:
        """What is meant, its times since the first I/O of the part; none is empty."""
        first, last = self.numbers(trace)
        begin_ns = trace.ios["time_ns"][first : first + 1].copy()
        for _, ios in trace.chunks(first, last):
            kept = ios if self.kinds is None else ios[np.isin(ios["kind"], self.kinds)]
            kept["time_ns"] -= begin_ns
            if self.writes_as_reads:
                kept["kind"], kept["flags"] = READ, 0
            if len(kept):
                yield kept


Offsets = npt.NDArray[np.uint64]


class Placement(Struct, frozen=True):
    """Where offsets are in a region that begins at `base_bytes`: as recorded, wrapped
    or scaled, in steps of a grid; `here` and `there` are how many places the region and
    the recorded device have.

    Like the engine's `pattern/trace.rs`.
    """

    how: str
    grid_bytes: int
    here: int
    there: int
    base_bytes: int

    @classmethod
    def of(
        cls,
        how: str,
        grid_bytes: int,
        largest: int,
        end_bytes: int,
        region: tuple[int, int],
    ) -> Placement:
        """For I/Os up to the `largest`, that end at `end_bytes`."""
        end_bytes = -(-end_bytes // grid_bytes) * grid_bytes + largest
        here, there = (
            max(0, room - largest) // grid_bytes + 1
            for room in (region[1] - region[0], end_bytes)
        )
        return cls(how, grid_bytes, here, there, region[0])

    def moved(self, offsets: Offsets) -> Offsets:
        """In bytes."""
        units = offsets // self.grid_bytes
        if self.how == "wrapped":
            return units % self.here * self.grid_bytes + self.base_bytes
        if self.how == "scaled":
            scaled = units.astype(float) * (self.here / self.there)
            return scaled.astype(offsets.dtype) * self.grid_bytes + self.base_bytes
        return offsets + self.base_bytes
