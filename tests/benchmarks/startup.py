"""How soon `ioplan` answers, in starts of a bare Python.

    .venv/bin/python tests/benchmarks/startup.py [ROUNDS]

Each call is a process of its own, run in turn with the yardstick beside it; a ratio is
the median over the pairs, of CPU time (what else the machine does is not asked) and, for
information, of real time. Bytecode is compiled before, as an installer does.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benchmark_row import tell

ROOT = Path(__file__).parents[2]
ROUNDS = 15
DEMO = str(ROOT / "examples/demo.ioplan")
TWO_CELLS = 'test "T" { run random 4KiB 100/0 for 1s vary qd in 1, 4 }'
MATRIX = """test "Matrix" {
  run random 4KiB for 1s
  vary size in 4KiB..40KiB step 4KiB
  vary read in 0%..99% step 1%
  vary qd in 1..100 step 1
}"""
BARE = "pass"
ADDITIONS = "total = 0\nfor number in range(10_000_000):\n    total += number\n"


class Case(NamedTuple):
    """A call, and how often the time of the yardstick it may take."""

    words: tuple[str, ...]
    aim: float
    yardstick: str = BARE
    env: dict[str, str] = {}


class Spent(NamedTuple):
    """What a process took."""

    cpu_s: float
    real_s: float


def cases(folder: Path) -> dict[str, Case]:
    """The calls of which an aim is known."""
    two, matrix = folder / "two.ioplan", folder / "matrix.ioplan"
    two.write_text(TWO_CELLS)
    matrix.write_text(MATRIX)
    sim = ("--backend", "sim", "--create", "64MiB", "--store", str(folder / "s.db"))
    asked = {"_IOPLAN_COMPLETE": "complete_bash", "COMP_WORDS": "ioplan run --s"}
    return {
        "ioplan --help": Case(("--help",), 4),
        "ioplan run --help": Case(("run", "--help"), 4),
        "ioplan, completion": Case((), 4, env=asked),
        "ioplan check": Case(("check", DEMO), 12),
        "ioplan fmt --check": Case(("fmt", "--check", DEMO), 12),
        # two fifths of it import numpy, by which the simulated drive draws, and pydantic,
        # of which records are made
        "ioplan run, two cells on sim": Case(("run", str(two), *sim), 15),
        "ioplan plan, 100,000 runs": Case(("plan", str(matrix)), 3, ADDITIONS),
    }


def main() -> int:
    """Print a row for each call; 1 if an aim is missed."""
    rounds = int(sys.argv[1]) if sys.argv[1:] else ROUNDS
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, case in cases(Path(folder)).items():
            cpu, real = ratios(case, rounds)
            missed += cpu > case.aim
            of = (
                "starts of Python" if case.yardstick == BARE else "times 10 M additions"
            )
            tell(
                f"`{name}`, CPU time",
                f"{cpu:.1f} {of} (real time: {real:.1f})",
                f"at most {case.aim:g}",
                held=cpu <= case.aim,
            )
    return bool(missed)


def ratios(case: Case, rounds: int) -> tuple[float, float]:
    """CPU time and real time of a call over those of its yardstick."""
    program = [str(Path(sys.executable).with_name("ioplan")), *case.words]
    yardstick = [sys.executable, "-c", case.yardstick]
    env = os.environ | case.env
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    spent(program, env), spent(yardstick, env)
    pairs = [(spent(program, env), spent(yardstick, env)) for _ in range(rounds)]
    cpu = statistics.median(one.cpu_s / other.cpu_s for one, other in pairs)
    return cpu, statistics.median(one.real_s / other.real_s for one, other in pairs)


def spent(words: list[str], env: dict[str, str]) -> Spent:
    """Run a program to its end, its output thrown away."""
    nowhere = [(os.POSIX_SPAWN_OPEN, n, os.devnull, os.O_RDWR, 0) for n in range(3)]
    start_s = time.monotonic()
    pid = os.posix_spawn(words[0], words, env, file_actions=nowhere)
    _, status, usage = os.wait4(pid, 0)
    assert status == 0, words
    return Spent(usage.ru_utime + usage.ru_stime, time.monotonic() - start_s)


if __name__ == "__main__":
    sys.exit(main())
