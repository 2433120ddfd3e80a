"""What was written: zeros, noise, what compresses or repeats; what was verified."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ioplan.witness.log import Entries
from ioplan.witness.sighting import READ, WRITE, Clause, StreamSighting

NOISE_BITS = {512: 7.4, 4096: 7.9}
"""Random bytes have so many bits each, at least, in a sample of that size."""
SAMPLES = 64
COMPRESSED_SLACK = 0.12
DEDUP_SLACK = 0.05


def data_clauses(seen: StreamSighting, disk: Path) -> Iterator[Clause]:
    """All that is asked of data; `disk` still has what was written."""
    writes = seen.of(WRITE)
    if len(writes):
        yield _kind(seen, writes, disk)
        yield _repeats(seen, writes)
    if seen.stream.verify:
        yield _verified(seen)


def _kind(seen: StreamSighting, writes: Entries, disk: Path) -> Clause:
    asked = seen.stream.data
    zeros = float((writes["zeros"] == 65535).mean())
    bits = float(np.median(writes["entropy"])) / 256
    shown = f"{zeros:.0%} all zeros, {bits:.2f} bits a byte"
    if asked.kind == "zeros":
        return seen.clause("data", "zeros", "", shown, zeros == 1)
    if asked.kind == "compressible":
        left = _compressed(writes, disk)
        text, wanted = f"compressible {asked.percent:g} %", 1 - asked.percent / 100
        fits = abs(left - wanted) <= COMPRESSED_SLACK
        return seen.clause("data", text, "", f"{left:.0%} left by zlib", fits)
    least = NOISE_BITS[512 if int(writes["size"].min()) < 4096 else 4096]
    stamped = 0.5 * seen.stream.verify  # what is verified has numbers in it
    return seen.clause(
        "data", "random", "", shown, not zeros and bits >= least - stamped
    )


def _compressed(writes: Entries, disk: Path) -> float:
    """The size that is left of some blocks."""
    some = writes[-SAMPLES:]
    file = os.open(disk, os.O_RDONLY)
    try:
        blocks = [os.pread(file, int(e["size"]), int(e["offset"])) for e in some]
    finally:
        os.close(file)
    return sum(len(zlib.compress(one)) for one in blocks) / sum(map(len, blocks))


def _repeats(seen: StreamSighting, writes: Entries) -> Clause:
    """Writes whose data is that of an earlier one; of zeros all are."""
    share = 1 - len(np.unique(writes["digest"])) / len(writes)
    asked = seen.stream.dedup_percent / 100
    slack = DEDUP_SLACK * (asked > 0) + 5 / np.sqrt(len(writes)) * (asked > 0)
    fits = None if seen.stream.data.kind == "zeros" else abs(share - asked) <= slack
    if not asked and fits is False:
        fits = share < 0.01
    return seen.clause("dedup", f"{asked:.0%}", "", f"{share:.0%} repeat", fits)


def _verified(seen: StreamSighting) -> Clause:
    """What is verified has been read; that it was compared, a wrong bit shows."""
    reads = int(seen.of(READ)["size"].astype(np.int64).sum())
    told = seen.told.verified_bytes
    fits = 0 < told <= reads
    return seen.clause("verify", "yes", f"{told} B", f"{reads} B read", fits)
