"""A trace of 100 million I/Os on the simulated drive: memory, and its first I/O.

    .venv/bin/python tests/benchmarks/replay_large.py [MILLIONS] [SECONDS]

The trace is generated: reads and writes at 100,000 IOPS. It is replayed on the drive as
the backend is called, for so many seconds of virtual time, and read as a whole once. The
memory is what the process has at most beyond what it had before.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

import numpy as np

from ioplan import JobStream
from ioplan.backends import TargetRequest
from ioplan.job import Job, Progress
from ioplan.language.replayed import TRACE, with_trace
from ioplan.trace import DTYPE, Ios, Prepared, known_survey, write
from ioplan.trace.selected import Selection
from ioplan_sim import SimBackend

GAP_NS, CHUNK, CAPACITY = 10_000, 1 << 20, 64 << 30
EACH = 1_000_000
"""So many I/Os, and the memory is printed."""


def drawn(ios: int) -> Iterator[Ios]:
    random = np.random.default_rng(1)
    for first in range(0, ios, CHUNK):
        count = min(CHUNK, ios - first)
        made = np.zeros(count, DTYPE)
        made["time_ns"] = (first + np.arange(count)) * GAP_NS
        made["kind"], made["size"] = random.integers(0, 2, count), 4096
        made["offset"] = random.integers(0, CAPACITY >> 12, count) << 12
        yield made


def memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def job_of(path: Path, seconds: float) -> Job:
    said = with_trace({TRACE: known_survey(path)})
    del said[TRACE]
    stream = JobStream(**said, qd=256, region_start_bytes=0, region_end_bytes=CAPACITY)
    return Job(
        target="sim",
        capacity_bytes=CAPACITY,
        block_bytes=512,
        streams=(stream,),
        run_ns=round(seconds * 1e9),
        read_only=False,
        interval_ns=100_000_000,
    )


def main(millions: int, seconds: float) -> None:
    with TemporaryDirectory() as name:
        path = Path(name) / "large.iotrace"
        write(path, drawn(millions * 1_000_000))
        began = monotonic()
        job = job_of(path, seconds)
        print(f"surveyed in {monotonic() - began:.2f} s")
        before_mb = memory_mb()
        request = TargetRequest(path="sim", create_bytes=CAPACITY, writes=True)
        drive, began, ios = SimBackend().open(request), monotonic(), 0
        for event in drive.start(job):
            if isinstance(event, Progress):
                more = sum(
                    part.ios
                    for one in event.streams
                    for part in one.directions.values()
                )
                if more and not ios:
                    print(f"first I/Os counted after {monotonic() - began:.2f} s")
                if (ios + more) // EACH > ios // EACH:
                    print(f"{ios + more} I/Os, {memory_mb():.0f} MB", flush=True)
                ios += more
        took = monotonic() - began
        print(
            f"{ios} I/Os in {took:.1f} s of real time: {took / ios * 1e6:.1f} us each"
        )
        began, count = monotonic(), 0
        for part in Selection().chunks(Prepared.open(path)):
            count += len(part)
        print(f"all {count} I/Os read in {monotonic() - began:.1f} s")
        print(
            f"{memory_mb():.0f} MB of memory, {memory_mb() - before_mb:.0f} of it since"
        )


if __name__ == "__main__":
    given = [float(word) for word in sys.argv[1:]]
    main(int(given[0]) if given else 100, given[1] if len(given) > 1 else 10.0)
