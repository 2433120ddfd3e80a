"""What does counting by phases cost? CPU time per I/O of the engine, with and without.

    .venv/bin/python tests/benchmarks/phases.py [--pairs 60] [--seconds 0.5]

Two phases, one within the other, on random reads of /dev/zero, which take the least time
of all, on one CPU. Runs with and without them take turns, and which of a pair comes first
alternates; what is told is the median of the pairs' ratios, the middle half of them, and
the instructions outside the kernel, by callgrind, which vary by nothing.
"""

from __future__ import annotations

import argparse
from statistics import median, quantiles
from typing import Any

from benchmark_row import tell
from engine_cells import Cell, Setting
from engine_programs import Engine

CELL = Cell("phases", "/dev/zero", 16, {})
MS_NS = 1_000_000
PHASES = [
    {
        "name": "burst",
        "start_ns": 0,
        "length_ns": 5 * MS_NS,
        "every_ns": 20 * MS_NS,
    },
    {"name": "stretch", "start_ns": 100 * MS_NS, "length_ns": 700 * MS_NS},
]
MOST = 1.03


class Phased(Engine, frozen=True):
    """The engine with the two phases."""

    def job(self, cell: Cell, setting: Setting, **limits: Any) -> str:
        """The cell as the engine reads it."""
        return Engine.job(self, cell, setting, phases=PHASES, **limits)


BOTH = (Engine(), Phased())


def pairs(setting: Setting, count: int) -> list[tuple[float, float]]:
    """CPU time per I/O, without and with."""
    idle_s = [one.start_up_s(CELL, setting) for one in BOTH]
    found = []
    for number in range(count):
        costs_ns = [0.0, 0.0]
        for at in (0, 1) if number % 2 else (1, 0):
            costs_ns[at] = BOTH[at].run(CELL, setting).less(idle_s[at]).cpu_ns
        found.append((costs_ns[0], costs_ns[1]))
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=0.5)
    asked = parser.parse_args()
    setting = Setting({"/dev/zero": "/dev/zero"}, asked.seconds, None)
    found = pairs(setting, asked.pairs)
    ratios = [with_ns / without_ns for without_ns, with_ns in found]
    low, _, high = quantiles(ratios, n=4)
    more_ns = median(with_ns - without_ns for without_ns, with_ns in found)
    tell(
        "two phases, /dev/zero, QD 16: CPU time per I/O of the engine, over that without",
        f"{median(ratios):.3f} (middle half {low:.3f} to {high:.3f}), {more_ns:+.1f} ns "
        f"of {median(without_ns for without_ns, _ in found):.0f}",
        f"at most {MOST}",
        held=median(ratios) <= MOST,
    )
    without, more = (one.instructions_per_io(CELL, setting) for one in BOTH)
    assert without and more
    tell(
        "two phases, /dev/zero, QD 16: more instructions per I/O outside the kernel",
        f"{more - without:.1f} of {without:.0f}",
        "at most 60",
        held=more - without <= 60,
    )


if __name__ == "__main__":
    main()
