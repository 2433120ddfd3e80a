"""What does counting by phases cost? CPU time per I/O of the engine, with and without.

    .venv/bin/python tests/benchmarks/phases.py [--pairs 40]

Two phases, one within the other, on random reads of a scratch file. Runs of a second
with and without them take turns, and which of a pair comes first alternates; what is
told is the median of the pairs' ratios, and the middle half of them.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from statistics import median, quantiles

from benchmark_row import tell

from ioplan.backends import Drive, TargetRequest, find
from ioplan.job import Job, Result
from ioplan.language.check.check import check
from ioplan.language.syntax.source import Source
from ioplan.planner.jobs import all_jobs
from ioplan.planner.unfold import unfold
from ioplan.runner.guard.target import make_scratch
from ioplan.workload import Phase

PLAN = 'test "T" { run random 4KiB 100/0, qd 16 for 1s }'
SIZE_BYTES = 64 << 20
MS_NS = 1_000_000
PHASES = (
    Phase(name="burst", start_ns=0, length_ns=5 * MS_NS, every_ns=20 * MS_NS),
    Phase(name="stretch", start_ns=100 * MS_NS, length_ns=700 * MS_NS),
)


def cost_ns(drive: Drive, job: Job) -> float:
    """CPU time per I/O, with the kernel's: how it is split, ticks tell too coarsely."""
    with drive.start(job) as execution:
        (found,) = [event for event in execution if isinstance(event, Result)]
    assert found.cpu and len(found.phases) == len(job.phases)
    ios = sum(part.ios for s in found.streams for part in s.directions.values())
    return (found.cpu.user_ns + found.cpu.system_ns) / ios


def pairs(drive: Drive, job: Job, count: int) -> list[tuple[float, float]]:
    """Without and with."""
    phased, found = job.model_copy(update={"phases": PHASES}), []
    for number in range(count):
        first, second = (job, phased) if number % 2 else (phased, job)
        one, other = cost_ns(drive, first), cost_ns(drive, second)
        found.append((one, other) if number % 2 else (other, one))
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=40)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "scratch.bin"
        make_scratch(file, SIZE_BYTES, lambda _: None)
        drive = find("io_uring").open(TargetRequest(path=str(file), writes=True))
        plan = check(Source("phases", PLAN))
        ((_, job),) = all_jobs(unfold(plan), drive.facts, read_only=False)
        found = pairs(drive, job, asked.pairs)
    ratios = [with_ns / without_ns for without_ns, with_ns in found]
    low, _, high = quantiles(ratios, n=4)
    more_ns = median(with_ns - without_ns for without_ns, with_ns in found)
    tell(
        "two phases: CPU time per I/O of the engine, over that without",
        f"{median(ratios):.3f} (middle half {low:.3f} to {high:.3f}), {more_ns:+.0f} ns "
        f"of {median(without_ns for without_ns, _ in found):.0f}",
        "at most 1.03",
        held=median(ratios) <= 1.03,
    )


if __name__ == "__main__":
    main()
