"""What planning knows of a trace, and what is wrong with one."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

Only = Literal["all", "reads", "writes"]


class TraceError(ValueError):
    """A trace that cannot be replayed; the message says where it is broken."""


class KindFacts(Struct, frozen=True):
    """The I/Os of one kind: the largest end of one, how many have each size.

    `bits` has each bit that an offset or a size of them has, `quiet_ns` is the longest
    time without one, `fua` the number of those with FUA.
    """

    ios: int = 0
    end_bytes: int = 0
    bits: int = 0
    moved_bytes: int = 0
    sizes: dict[int, int] = {}
    quiet_ns: int = 0
    fua: int = 0

    def __add__(self, other: KindFacts) -> KindFacts:
        return KindFacts(
            self.ios + other.ios,
            max(self.end_bytes, other.end_bytes),
            self.bits | other.bits,
            self.moved_bytes + other.moved_bytes,
            dict(Counter(self.sizes) + Counter(other.sizes)),
            min((one.quiet_ns for one in (self, other) if one.ios), default=0),
            self.fua + other.fua,
        )


NONE = KindFacts()


class TraceFacts(Struct, frozen=True):
    """What planning knows of a trace, or of the part of it from `from_ns` to `to_ns`.

    `digest` is SHA-256 of the whole file, and `span_ns` the time from the first I/O to
    the last one, whatever their kind. Of `answered` I/Os it is known how long they
    took.
    """

    digest: str
    span_ns: int
    reads: KindFacts
    writes: KindFacts
    discards: KindFacts
    flushes: int
    from_ns: int = 0
    to_ns: int | None = None
    answered: int = 0

    @property
    def moving(self) -> KindFacts:
        """All that have a place."""
        return self.reads + self.writes + self.discards

    @property
    def ios(self) -> int:
        """The number of I/Os of all kinds."""
        return self.moving.ios + self.flushes

    @property
    def grid_bytes(self) -> int:
        """All offsets and sizes are multiples of it, a power of two; 0 of flushes."""
        bits = self.moving.bits
        return bits & -bits

    def selected(self, only: Only, writes_as_reads: bool) -> TraceFacts:
        """What is left of it: I/Os of one kind, or none that changes the target."""
        if only == "all" and not writes_as_reads:
            return self
        reads = NONE if only == "writes" else self.reads
        writes = NONE if only == "reads" else self.writes
        if writes_as_reads:
            reads, writes = replace(reads + writes, fua=0), NONE
        return replace(self, reads=reads, writes=writes, discards=NONE, flushes=0)
