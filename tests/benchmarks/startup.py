"""How soon `ioplan` answers, in starts of a bare Python.

    .venv/bin/python tests/benchmarks/startup.py [ROUNDS]

Each call is a process of its own, in turn with a bare Python; a ratio is the median over
the pairs, of CPU time (what else the machine does is not asked) and, for information, of
real time.
"""

import statistics
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmark_row import tell
from used import IOPLAN, in_turn, used

ROUNDS = 15
DEMO = str(Path(__file__).parents[2] / "examples/demo.ioplan")
TWO_CELLS = 'test "T" { run random 4KiB 100/0 for 1s vary qd in 1, 4 }'
COMPLETE = {"_IOPLAN_COMPLETE": "complete_bash", "COMP_WORDS": "ioplan run --s"}


class Case(NamedTuple):
    """A call, and how many starts of Python it may take."""

    words: tuple[str, ...]
    aim: float
    env: dict[str, str] = {}


def cases(folder: Path) -> dict[str, Case]:
    """The calls of which an aim is known."""
    two = folder / "two.ioplan"
    two.write_text(TWO_CELLS)
    sim = ("--backend", "sim", "--create", "64MiB", "--store", str(folder / "s.db"))
    return {
        "ioplan --help": Case(("--help",), 4),
        "ioplan, completion": Case((), 4, COMPLETE),
        "ioplan check": Case(("check", DEMO), 12),
        "ioplan fmt --check": Case(("fmt", "--check", DEMO), 12),
        # two fifths of it import numpy, by which the simulated drive draws, and pydantic,
        # of which records are made
        "ioplan run, two cells on sim": Case(("run", str(two), *sim), 15),
    }


def main() -> int:
    """Print a row for each call; 1 if an aim is missed."""
    rounds = int(sys.argv[1]) if sys.argv[1:] else ROUNDS
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, case in cases(Path(folder)).items():
            cpu, real = ratios(case, rounds)
            missed += cpu > case.aim
            tell(
                f"`{name}`, CPU time",
                f"{cpu:.1f} starts of Python (real time: {real:.1f})",
                f"at most {case.aim:g}",
                held=cpu <= case.aim,
            )
    return bool(missed)


def ratios(case: Case, rounds: int) -> tuple[float, float]:
    """CPU time and real time of a call over those of a bare Python."""
    call = partial(used, IOPLAN, *case.words, **case.env)
    call()  # compiles
    pairs = in_turn(rounds, call, partial(used, sys.executable, "-c", "pass"))
    cpu = statistics.median(one.cpu_s / bare.cpu_s for one, bare in pairs)
    return cpu, statistics.median(one.real_s / bare.real_s for one, bare in pairs)


if __name__ == "__main__":
    sys.exit(main())
