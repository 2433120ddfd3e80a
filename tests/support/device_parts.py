"""What a run did to a scripted device, by its log: each stream and direction.

Each stream has MiB of its own, so that an I/O's place tells whose it is.
"""

import numpy as np
import pytest
from msgspec import Struct

from ioplan.backends import bucket_ranges
from ioplan_witness import KINDS

Times = "npt.NDArray[np.int64]"
MIB = 1 << 20
LEAST_IOS = 20
"""Of a thread of the engine."""


class Part(Struct, frozen=True):
    """I/Os of a stream and direction as the device saw them; times in ns."""

    done_ns: Times
    took_ns: Times
    size: Times

    def where(self, chosen):
        return Part(self.done_ns[chosen], self.took_ns[chosen], self.size[chosen])

    @property
    def started_ns(self):
        return self.done_ns - self.took_ns

    def longer(self, limit_ns):
        return int((self.took_ns >= limit_ns).sum())

    def shorter(self, limit_ns):
        return len(self.took_ns) - self.longer(limit_ns)


def part_of(entries):
    """In the order in which they were done."""
    found = entries[np.argsort(entries["done_ns"], kind="stable")]
    took_ns = found["done_ns"] - found["arrived_ns"]
    return Part(
        *(x.astype(np.int64) for x in (found["done_ns"], took_ns, found["size"]))
    )


def commits_of(entries):
    """One I/O at a time: each flush since the first write after the flush before it."""
    rows, first_ns = [], None
    for one in entries:
        if one["kind"] == KINDS.index("flush"):
            if first_ns is not None:
                rows.append((int(one["done_ns"]), int(one["done_ns"]) - first_ns, 0))
            first_ns = None
        elif first_ns is None:
            first_ns = int(one["arrived_ns"])
    return Part(*np.array(rows, np.int64).reshape(-1, 3).T)


def histogram_longer(histogram, limit_ns):
    """Latencies that may be so long."""
    ends_ns = sum(bucket_ranges())[histogram.index]
    return int(histogram.count[ends_ns > limit_ns].sum())


class Case(Struct, frozen=True):
    """Streams by name, each in MiB of its own; how many I/Os are under way."""

    streams: dict[str, str]
    depth: int
    in_order: bool = False
    blocking: bool = False


def plan_of(case, more=""):
    streams = "".join(
        f"  {name} = {text}, region {16 * at + 8}MiB..{16 * at + 16}MiB\n"
        for at, (name, text) in enumerate(case.streams.items())
    )
    return f'workload load {{\n{streams}}}\ntest "T" {{ run load for 2s{more} }}\n'


def short_first(cases, short):
    """Each takes seconds; what the others show beyond these is in `make test-long`."""
    long = pytest.mark.long
    return [one if one in short else pytest.param(one, marks=long) for one in cases]


def parts_of(case, log):
    """By stream and direction; only a log flushes.

    ioplan reads the device before and after the run, in threads that read it all, or
    little of it.
    """
    flushes = log["kind"] == KINDS.index("flush")
    inside = flushes | ((log["offset"].astype(np.int64) // MIB - 8) % 16 < 8)
    _, numbers, ios = np.unique(log["thread"], return_inverse=True, return_counts=True)
    ours = np.bincount(numbers, weights=~inside) == 0
    log = log[(ours & (ios >= LEAST_IOS))[numbers]]
    found = {}
    for at, name in enumerate(case.streams):
        inside = (log["offset"].astype(np.int64) // MIB - 8) // 16 == at
        for kind in ("read", "write", "discard"):
            direction = "trim" if kind == "discard" else kind
            own = log[inside & (log["kind"] == KINDS.index(kind))]
            found[name, direction] = part_of(own)
    flushes = log["kind"] == KINDS.index("flush")
    if flushes.any():
        found["log", "flush"] = part_of(log[flushes])
        writes = log["kind"] == KINDS.index("write")
        found["log", "commit"] = commits_of(log[writes | flushes])
    return {key: part for key, part in found.items() if len(part.done_ns)}
