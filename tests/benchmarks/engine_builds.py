"""Whether another build of the engine costs the same: the static one of the wheels.

    .venv/bin/python tests/benchmarks/engine_builds.py BASE OTHER [--rounds 9]

Both run each cell in turn on the same CPU, and swap who goes first. Of each cell: CPU
time per I/O of OTHER over BASE, the median of the rounds' ratios with its range, and the
same of instructions outside the kernel, which callgrind counts (repeatable on a busy
machine). `start` is the CPU time of a run of one I/O.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

from engine_cells import CELLS, Cell, Setting
from engine_programs import Engine

TARGETS = {"/dev/zero": "/dev/zero"}
SECONDS = 1.0


def ratios(
    base: Engine, other: Engine, cell: Cell, setting: Setting, rounds: int
) -> list[float]:
    """OTHER over BASE in CPU time per I/O, one of each round, in order of size."""
    found = []
    for number in range(rounds):
        pair = [base, other] if number % 2 else [other, base]
        cpu_ns = {engine: engine.run(cell, setting).cpu_ns for engine in pair}
        found.append(cpu_ns[other] / cpu_ns[base])
    return sorted(found)


def counted_ratio(base: Engine, other: Engine, cell: Cell, setting: Setting) -> float:
    """OTHER over BASE in instructions per I/O outside the kernel."""
    counts = [engine.instructions_per_io(cell, setting) for engine in (other, base)]
    assert counts[0] and counts[1]
    return counts[0] / counts[1]


def start_ratio(base: Engine, other: Engine, setting: Setting) -> float:
    """OTHER over BASE in CPU time of starting and ending."""
    cell = CELLS[0]
    return other.start_up_s(cell, setting) / base.start_up_s(cell, setting)


def main() -> None:
    """Measure in turn, print a row of each cell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", type=Path)
    parser.add_argument("other", type=Path)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--no-count", action="store_true", help="without callgrind")
    asked = parser.parse_args()
    base, other = Engine(asked.base.resolve()), Engine(asked.other.resolve())
    setting = Setting(dict(TARGETS), SECONDS, None)
    print("| cell | CPU time | rounds | instructions |\n|---|---|---|---|")
    for cell in CELLS:
        if cell.target not in TARGETS:
            continue
        found = ratios(base, other, cell, setting, asked.rounds)
        count = (
            "" if asked.no_count else f"{counted_ratio(base, other, cell, setting):.3f}"
        )
        print(
            f"| {cell.name} | {statistics.median(found):.3f} "
            f"| {found[0]:.2f} to {found[-1]:.2f} | {count} |",
            flush=True,
        )
    print(f"| start | {start_ratio(base, other, setting):.2f} | | |")


if __name__ == "__main__":
    main()
