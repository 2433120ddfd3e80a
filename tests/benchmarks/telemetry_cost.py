"""What does telemetry cost? CPU time of a sample, and IOPS with and without it.

    .venv/bin/python tests/benchmarks/telemetry_cost.py [--file PATH] [--size 256MiB]
        [--rounds 10] [--seconds 2] [--interval 0.1] [--meter]

Each round runs the same job with and without telemetry, in the order A B, then B A.
Printed are the medians, the ratio of each pair with its 95 % interval (bootstrap),
and the CPU time of ioplan itself. `--meter` adds a power meter, `echo 42`.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import time
from pathlib import Path
from typing import NamedTuple

from ioplan.backends import Drive, TargetFacts, TargetRequest, find
from ioplan.job import SECOND_NS, Job
from ioplan.language import Source, check
from ioplan.language.quantity import parse
from ioplan.planner import all_jobs, unfold
from ioplan.runner import Instruments, Interrupt
from ioplan.runner.execute.execute import execute
from ioplan.runner.guard import make_scratch
from ioplan.runner.telemetry.sensors import Meter

PLAN = 'test "Cost" {{ run random 4KiB 100/0, qd 16 for {seconds}s }}'
SAMPLES, DRAWS = 1000, 5000


class Measured(NamedTuple):
    """One run."""

    iops: float
    own_cpu_s: float


def job_of(facts: TargetFacts, seconds: float, interval_s: float) -> Job:
    """The job of the plan."""
    plan = check(Source("cost", PLAN.format(seconds=seconds)))
    ((_, job),) = all_jobs(unfold(plan), facts, read_only=True)
    return job.model_copy(update={"interval_ns": int(interval_s * SECOND_NS)})


def measure(drive: Drive, job: Job, instruments: Instruments | None) -> Measured:
    """A run of the engine."""
    before_s = time.process_time()
    done = execute(drive, job, Interrupt(), lambda *_: False, instruments=instruments)
    assert done.status == "ok", done.message
    return Measured(done.measurement.total.iops, time.process_time() - before_s)


def cost_of_a_sample(instruments: Instruments) -> tuple[float, float]:
    """CPU time and time of one, in microseconds."""
    meter = Meter(instruments.meter) if instruments.meter else None
    cpu_s, wall_s = time.process_time(), time.monotonic()
    for _ in range(SAMPLES):
        instruments.sensors.sample(0.0, meter)
    cpu_s, wall_s = time.process_time() - cpu_s, time.monotonic() - wall_s
    if meter:
        meter.close()
    return 1e6 * cpu_s / SAMPLES, 1e6 * wall_s / SAMPLES


def cost_of_other_programs(instruments: Instruments) -> tuple[int, float]:
    """How many there are, and the CPU time of reading all of them, in microseconds."""
    others, count = instruments.sensors.others, SAMPLES // 10
    others.times(is_start=True)
    listed = [name for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208
    cpu_s = time.process_time()
    for _ in range(count):
        others.times(is_start=True)
    cpu_s = time.process_time() - cpu_s
    return len(listed) - len(others.kernel_threads), 1e6 * cpu_s / count


def interval_95(ratios: list[float]) -> tuple[float, float]:
    """Of the median, by drawing pairs again and again."""
    draw = random.Random(1)
    medians = sorted(
        statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(DRAWS)
    )
    return medians[DRAWS // 40], medians[-DRAWS // 40]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--file", type=Path, default=Path("telemetry-cost.scratch"))
    parser.add_argument("--size", default="256MiB")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--interval", type=float, default=0.1)
    parser.add_argument("--meter", action="store_true")
    asked = parser.parse_args()
    made = not asked.file.exists()
    if made:
        make_scratch(asked.file, int(parse(asked.size).value), lambda _: None)
    try:
        compare(asked)
    finally:
        if made:
            asked.file.unlink()


def compare(asked: argparse.Namespace) -> None:
    """Both ways, round by round."""
    drive = find("io_uring").open(TargetRequest(path=str(asked.file)))
    meter = ("echo", "42") if asked.meter else ()
    instruments = Instruments(drive.facts, meter)
    cpu_us, wall_us = cost_of_a_sample(instruments)
    print(
        f"a sample: {cpu_us:.0f} us of CPU, {wall_us:.0f} us in all; {os.cpu_count()} CPUs"
    )
    programs, cpu_us = cost_of_other_programs(instruments)
    print(f"{programs} other programs: {cpu_us:.0f} us of CPU, when they are read")
    job = job_of(drive.facts, asked.seconds, asked.interval)
    pairs = [one_round(drive, job, instruments, n) for n in range(asked.rounds)]
    drive.close()
    with_it, without = ([p[i] for p in pairs] for i in (0, 1))
    ratios = [a.iops / b.iops for a, b in pairs]
    low, high = interval_95(ratios)
    for name, runs in (("with", with_it), ("without", without)):
        iops = statistics.median(one.iops for one in runs)
        own_s = statistics.median(one.own_cpu_s for one in runs)
        share = 100 * own_s / asked.seconds
        print(f"{name:>8}: {iops:,.0f} IOPS, ioplan's own CPU {share:.1f} % of one")
    print(f"   ratio: {statistics.median(ratios):.4f}, 95 % in {low:.4f} to {high:.4f}")


def one_round(
    drive: Drive, job: Job, instruments: Instruments, number: int
) -> tuple[Measured, Measured]:
    """With and without, in turns which comes first."""
    if number % 2:
        without = measure(drive, job, None)
        return measure(drive, job, instruments), without
    return measure(drive, job, instruments), measure(drive, job, None)


if __name__ == "__main__":
    main()
