"""What do the counts of each interval cost? Their size and CPU time.

    .venv/bin/python tests/benchmarks/interval_counts.py [--seconds 60]

Two streams run on a scratch file, in intervals of 1 s. Their events are then taken with
and without the counts, in turn; what the counts take is compared with the CPU time that
the load itself used. An hour is as many intervals, each of them one of the run of which
every count is drawn anew, so that no interval comes twice.
"""

import argparse
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
from benchmark_row import tell
from used import in_turn

from ioplan.backends import StreamCountsBuilder, TargetRequest, bucket_ranges, find
from ioplan.job import Event, Progress, Result
from ioplan.language import Source, check
from ioplan.planner import all_jobs, unfold
from ioplan.results.measure import (
    CountsBuilder,
    Histogram,
    IntervalCounts,
    Measurement,
)
from ioplan.results.measure.interval_counts import IntervalPacker
from ioplan.runner.guard import make_scratch

PLAN = """workload two {{
  reader = random 8KiB 100/0, qd 16
  writer = random 8KiB 0/100, qd 4, rate 2_000 iops poisson
}}
test "Two streams" {{ run two for {seconds}s }}"""
ROUNDS, HOUR, SECOND_NS = 5, 3600, 10**9
SIZE_BYTES = 256 << 20


class NoCounts(IntervalPacker):
    """Takes no interval."""

    def add(self, *_: object) -> None:
        """Nothing."""


def events(folder: Path, seconds: int) -> list[Event]:
    """Those of a run of the engine."""
    file = folder / "scratch.bin"
    make_scratch(file, SIZE_BYTES, lambda _: None)
    drive = find("io_uring").open(TargetRequest(path=str(file), writes=True))
    plan = check(Source("two", PLAN.format(seconds=seconds)))
    ((_, job),) = all_jobs(unfold(plan), drive.facts, read_only=False)
    with drive.start(job) as execution:
        return list(execution)


def taken_s(found: list[Event], packer: type[IntervalPacker]) -> tuple[float, bytes]:
    """CPU time of taking the events, with what is kept of the intervals."""
    made = Measurement()
    made._packer = packer()
    begin_s = time.process_time()
    for event in found:
        made.add(event)
    packed = made.detail.intervals
    return time.process_time() - begin_s, packed


def cost(found: list[Event]) -> None:
    """Two rows."""
    packers = (partial(taken_s, found, one) for one in (IntervalPacker, NoCounts))
    pairs = in_turn(ROUNDS, *packers)
    more_s = statistics.median(a[0] - b[0] for a, b in pairs)
    packed, (result,) = pairs[0][0][1], [e for e in found if isinstance(e, Result)]
    assert result.cpu
    load_s = (result.cpu.user_ns + result.cpu.system_ns) / 1e9
    ios = sum(part.ios for s in result.streams for part in s.directions.values())
    share, per_io_ns = 100 * more_s / load_s, 1e9 * more_s / ios
    tell(
        "counts of each interval, two streams: CPU time over that of the load",
        f"{share:.3f} %, {per_io_ns:.2f} ns per I/O",
        "at most 3 %",
        held=share <= 3,
    )
    intervals = sum(isinstance(event, Progress) for event in found)
    hour = hour_like(packed)
    real_mb = HOUR * len(packed) / len(IntervalCounts(packed)) / 1e6
    tell(
        "counts of each interval, two streams: an hour in intervals of 1 s",
        f"{len(hour) / 1e6:.2f} MB ({ios / intervals:,.0f} I/Os an interval; the run's "
        f"own {intervals} s: {real_mb:.2f} MB an hour)",
        "at most 2 MB",
        held=len(hour) <= 2e6,
    )


def hour_like(packed: bytes) -> bytes:
    """An hour of intervals like these, with counts of their own."""
    generator, packer = np.random.default_rng(1), IntervalPacker()
    slices = list(IntervalCounts(packed))[1:]  # the first lacks its begin
    for second in range(1, HOUR + 1):
        one = slices[generator.integers(len(slices))]
        streams: dict[str, StreamCountsBuilder] = {}
        for (name, direction), cell in one.cells.items():
            stream = streams.setdefault(name, StreamCountsBuilder(name))
            stream.directions[direction] = drawn(cell, generator)
        time = {"t_ns": second * SECOND_NS, "interval_ns": SECOND_NS}
        packer.add(Progress(**time, streams=()), list(streams.values()))
    return packer.packed()


def drawn(counts: CountsBuilder, generator: np.random.Generator) -> CountsBuilder:
    """Each count of a bucket by Poisson, and what follows from them."""
    histogram = Histogram.of_dense(generator.poisson(dense(counts.histogram())))
    middles = sum(bucket_ranges())[histogram.index] / 2
    return CountsBuilder(
        histogram,
        ios=histogram.total,
        bytes=counts.bytes // counts.ios * histogram.total,
        sum_ns=int((middles * histogram.count).sum()),
        sum_sq_ns2=float((middles**2 * histogram.count).sum()),
        min_ns=int(middles[0]),
        max_ns=int(middles[-1]),
    )


def dense(histogram: Histogram) -> np.ndarray:
    """The counts of all buckets."""
    found = np.zeros(int(histogram.index[-1]) + 1)
    found[histogram.index] = histogram.count
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=60)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cost(events(Path(folder), asked.seconds))


if __name__ == "__main__":
    main()
