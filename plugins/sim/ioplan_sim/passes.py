"""The I/Os of passes over a region, as the engine's `pattern/walk.rs` has them."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from ioplan.backends import JobStream


class Passes(Struct, frozen=True):
    """I/Os of one size: `ios` in all passes, `pass_ios` in each.

    In order, the last one of a pass is cut to fit: `cut_bytes` are cut in all, and
    `pass_cut_bytes` in each pass.
    """

    ios: int
    cut_bytes: int
    pass_ios: int
    pass_cut_bytes: int

    def cut_until(self, ios: int) -> int:
        """How many bytes are cut in the first I/Os."""
        if ios >= self.ios:
            return self.cut_bytes
        return ios // self.pass_ios * self.pass_cut_bytes


def passes_of(stream: JobStream, passes: float, block_bytes: int) -> Passes | None:
    """None where the number of bytes decides: of several sizes, or places that are
    drawn independently."""
    if len(stream.sizes_bytes) > 1:
        return None
    (size_bytes,) = stream.sizes_bytes
    if stream.permuted and stream.can_permute:
        places = stream.region_bytes // size_bytes
        return Passes(int(places * passes + 0.5), 0, places, 0)
    if stream.pattern != "sequential":
        return None
    ios = cut = pass_ios = pass_cut = 0
    for length in _parts(stream, size_bytes):
        todo = int(length // block_bytes * passes + 0.5) * block_bytes
        each, last = -(-length // size_bytes), -(-(todo % length) // size_bytes)
        times = todo // length
        ios += times * each + last
        cut += (times * each + last) * size_bytes - todo
        pass_ios += each
        pass_cut += each * size_bytes - length
    return Passes(ios, cut, pass_ios, pass_cut)


def _parts(stream: JobStream, size_bytes: int) -> Iterator[int]:
    """The bytes of each thread's part of the region, cut at whole I/Os."""
    places, threads = stream.region_bytes // size_bytes, stream.threads
    edges = [places * n // threads * size_bytes for n in range(threads)]
    ends = [*edges[1:], stream.region_bytes]
    return (end - start for start, end in zip(edges, ends, strict=True))
