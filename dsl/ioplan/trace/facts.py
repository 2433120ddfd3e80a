"""What planning knows of a trace, and what is wrong with one."""

from __future__ import annotations

from msgspec import Struct


class TraceError(ValueError):
    """A trace that cannot be replayed; the message says where it is broken."""


class TraceFacts(Struct, frozen=True):
    """What planning knows of a trace; of its sizes, how many I/Os have each.

    All its offsets and sizes are multiples of `grid_bytes`, a power of two, or 0 where
    there are only flushes. `digest` is SHA-256 of the file.
    """

    digest: str
    span_ns: int
    end_bytes: int
    grid_bytes: int
    largest_bytes: int
    reads: int
    writes: int
    flushes: int
    discards: int
    moved_bytes: int = 0
    read_sizes: dict[int, int] = {}
    write_sizes: dict[int, int] = {}

    @property
    def ios(self) -> int:
        """Of all kinds."""
        return self.reads + self.writes + self.flushes + self.discards
