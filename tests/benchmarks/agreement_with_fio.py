"""Does ioplan measure what fio measures? Same file, same options, interleaved.

    .venv/bin/python tests/benchmarks/agreement_with_fio.py [--file PATH]
        [--size 1GiB] [--rounds 5] [--seconds 3]

Each round runs both on each cell, in the order A B, then B A. Printed are the
medians, their spread (half the interquartile range) and the ratios. The cells
are random 4 KiB reads and a 70/30 mix at several queue depths.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

IOPLAN = Path(sys.executable).parent / "ioplan"
CELLS = [(read, qd) for read in (100, 70) for qd in (1, 4, 32)]


class Measured(NamedTuple):
    """What both report of a cell."""

    iops: float
    mean_us: float


def by_fio(path: Path, read: int, qd: int, seconds: float) -> Measured:
    """fio as users run it: io_uring, direct, one job; on the engine's CPU.

    At queue depth 1 a fifth of the IOPS hangs on which CPU the disk interrupts.
    """
    command = [
        "fio", "--name=cell", f"--filename={path}", "--ioengine=io_uring",
        "--direct=1", "--bs=4k", f"--iodepth={qd}", "--time_based",
        f"--runtime={seconds}", "--output-format=json", "--norandommap",
        f"--cpus_allowed={max(os.sched_getaffinity(0))}",
        *(["--rw=randread"] if read == 100 else ["--rw=randrw", f"--rwmixread={read}"]),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    job = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]
    parts = [job[name] for name in ("read", "write") if job[name]["total_ios"]]
    ios = sum(part["total_ios"] for part in parts)
    total_ns = sum(part["lat_ns"]["mean"] * part["total_ios"] for part in parts)
    return Measured(sum(part["iops"] for part in parts), total_ns / ios / 1000)


def by_ioplan(path: Path, read: int, qd: int, seconds: float) -> Measured:
    """The same cell as a plan."""
    text = (
        f'test "cell" {{ run random 4KiB {read}/{100 - read}, qd {qd} for {seconds}s }}'
    )
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "cell.ioplan"
        plan.write_text(text)
        store = Path(folder) / "results.db"
        command = [IOPLAN, "run", plan, "--target", path, "--store", store, "--json"]
        command += ["--overwrite", path]  # fio wrote to it
        done = subprocess.run(command, capture_output=True, check=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    (record,) = (line["record"] for line in lines if line["type"] == "record")
    total = record["total"]
    return Measured(total["iops"], total["latency"]["mean_ns"] / 1000)


def spread(values: list[float]) -> float:
    """Half the interquartile range, relative to the median, in percent."""
    low, _, high = statistics.quantiles(values, n=4)
    return (high - low) / 2 / statistics.median(values) * 100


def main() -> int:
    """Print the table; 1 if a median differs by more than both spreads and 5 %."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--size", default="1GiB")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = options.file or Path(folder) / "scratch.bin"
        make(path, options.size, Path(folder))
        found = measure(path, options.rounds, options.seconds)
    return report(found)


def make(path: Path, size: str, folder: Path) -> None:
    """A scratch file that ioplan may write."""
    plan = folder / "make.ioplan"
    plan.write_text('test "t" { run random 4KiB 100/0 for 100ms }')
    command = [IOPLAN, "run", plan, "--target", path, "--create", size]
    subprocess.run([*command, "--store", folder / "r.db", "--quiet"], check=True)


Found = dict[tuple[int, int], dict[str, list[Measured]]]


def measure(path: Path, rounds: int, seconds: float) -> Found:
    """All rounds, the order turned round every time."""
    found: Found = {cell: defaultdict(list) for cell in CELLS}
    for number in range(rounds):
        for cell in CELLS:
            pair = [("fio", by_fio), ("ioplan", by_ioplan)]
            for name, run in pair if number % 2 == 0 else reversed(pair):
                found[cell][name].append(run(path, *cell, seconds))
    return found


def report(found: Found) -> int:
    """The table; how many figures do not agree."""
    apart = 0
    print("cell          figure      fio  ±%    ioplan  ±%   ioplan/fio")
    for (read, qd), by_name in found.items():
        for figure in Measured._fields:
            fio, ours = (
                [getattr(one, figure) for one in by_name[name]]
                for name in ("fio", "ioplan")
            )
            ratio = statistics.median(ours) / statistics.median(fio)
            noise = spread(fio) + spread(ours)
            agrees = abs(ratio - 1) * 100 <= max(noise, 5)
            apart += not agrees
            print(
                f"{read}/{100 - read:<2} qd {qd:<4} {figure:<8}"
                f"{statistics.median(fio):9.1f} {spread(fio):4.1f}"
                f" {statistics.median(ours):9.1f} {spread(ours):4.1f}"
                f"   {ratio:.3f}{'' if agrees else '  apart'}"
            )
    return apart


if __name__ == "__main__":
    sys.exit(min(1, main()))
