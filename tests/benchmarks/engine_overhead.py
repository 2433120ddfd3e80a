"""What a run takes beside its I/O, what a second thread brings, and how fast data is made.

    .venv/bin/python tests/benchmarks/engine_overhead.py [--rounds 7]

Start and end: wall time of a run of 200 ms less 200 ms, for the engine and for fio
(io_uring, a thread), in turn. Threads: I/Os of two threads at queue depth 32 on
/dev/zero, a CPU each, over those of one, in turn.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmark_row import tell

from ioplan_io_uring import engine_path

GIB, MS, RUN_MS = 1 << 30, 1_000_000, 200
FIO = (
    "fio --name=r --filename=/dev/zero --size=1g --rw=randread --bs=4k --iodepth=32 "
    f"--ioengine=io_uring --thread --time_based --runtime={RUN_MS}ms "
    "--output-format=json"
).split()


def engine(threads: int, run_ms: int) -> dict[str, Any]:
    """The result of a run on /dev/zero."""
    sizes = [{"size_bytes": 4096, "percent": 100.0}]
    stream = {
        "name": "main", "pattern": "random", "read_percent": 100.0, "qd": 32,
        "read_sizes": sizes, "write_sizes": sizes, "region_start_bytes": 0,
        "region_end_bytes": GIB, "threads": threads,
    }  # fmt: skip
    job = {
        "target": "/dev/zero", "capacity_bytes": GIB, "block_bytes": 512,
        "streams": [stream], "run_ns": run_ms * MS, "interval_ns": 1000 * MS,
    }  # fmt: skip
    done = subprocess.run(
        [engine_path(), "run", "-"],
        input=json.dumps(job), capture_output=True, text=True, check=True,
    )  # fmt: skip
    last: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return last


class Done(NamedTuple):
    """A run of a second."""

    iops: float
    cpu_ns: float
    """CPU time per I/O of the whole process."""


def done(threads: int) -> Done:
    """What so many threads do."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = engine(threads, 1000)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    ios = result["streams"][0]["directions"]["read"]["ios"]
    return Done(ios / result["run_ns"] * 1e9, cpu_s / ios * 1e9)


def beside_ms(run: Callable[[], object]) -> float:
    """What a run takes beside its own time."""
    began_s = time.perf_counter()
    run()
    return (time.perf_counter() - began_s) * 1000 - RUN_MS


def main() -> None:
    """Measure in turn, print medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = range(parser.parse_args().rounds)
    pairs = [(done(1), done(2)) for _ in rounds]
    costs = sorted(two.cpu_ns / one.cpu_ns for one, two in pairs)
    cost = statistics.median(costs)
    tell(
        "two threads of the engine, QD 32 on /dev/zero: CPU time per I/O over one's",
        f"{cost:.2f} ({costs[0]:.2f} to {costs[-1]:.2f})",
        "at most 1.05",
        held=cost <= 1.05,
    )
    ratios = sorted(two.iops / one.iops for one, two in pairs)
    two = statistics.median(ratios)
    tell(
        "two threads of the engine, QD 32 on /dev/zero: IOPS over those of one",
        f"{two:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})",
        "at least 1.95",
        held=two >= 1.95,
    )
    own, fios = [], []
    for _ in rounds:
        own.append(beside_ms(lambda: engine(1, RUN_MS)))
        fios.append(
            beside_ms(lambda: subprocess.run(FIO, capture_output=True, check=True))
        )
    print(f"start and end: engine {statistics.median(own):.0f} ms", end="")
    print(f", fio {statistics.median(fios):.0f} ms")


if __name__ == "__main__":
    main()
