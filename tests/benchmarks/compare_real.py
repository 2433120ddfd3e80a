"""A drive beside itself: how often does `compare` call a difference, on a real file?

    .venv/bin/python tests/benchmarks/compare_real.py [--file PATH] [--size 256MiB]
        [--sessions 36] [--store PATH]

The same plan runs again and again; then every session is compared with every
other. Printed are how much sessions differ beside their runs, as a multiple of the
runs' variance, and the share of comparisons with a false alarm: of sessions with
three repeats, of sessions with single runs, and of three sessions a side. A store
that has the sessions already is not filled again.
"""

from __future__ import annotations

import argparse
import itertools
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from math import log
from pathlib import Path
from statistics import fmean, median, variance

from ioplan.records import Session
from ioplan.results.compare import Question, compare, side_of
from ioplan.results.compare.judge import DEFAULT_METRICS
from ioplan.results.compare.side import CellRuns, Side
from ioplan.results.report import Reader
from ioplan.results.store import Store

IOPLAN = Path(sys.executable).parent / "ioplan"
PLAN = """plan "The same again"

test "Reads" {
  repeat 3 { run random 4KiB 100/0 for 500ms, warmup 100ms }
  vary qd in 1, 4, 16
  vary size in 4KiB, 16KiB
}

test "Writes" {
  repeat 3 { run random 4KiB 0/100 for 500ms, warmup 100ms }
  vary qd in 1, 8
}
"""
MOST_PAIRS = 630


def collect(store: Path, file: Path, size: str, sessions: int, folder: Path) -> None:
    """Run the plan so many times; a session that failed is not counted."""
    plan = folder / "again.ioplan"
    plan.write_text(PLAN)
    command = [IOPLAN, "run", plan, "--target", file, "--create", size, "--quiet"]
    for _ in range(sessions):
        subprocess.run([*command, "--store", store], check=False)


def single(side: Side) -> Side:
    """Only the first run of each cell."""
    cells = [CellRuns(c.run_id, c.occurrence, c.runs[:1]) for c in side.cells]
    return Side(side.sessions, tuple(cells))


def excess(reader: Reader, sides: Sequence[Side]) -> Iterable[float]:
    """What sessions differ by beside their runs, over the runs' variance."""
    for number in range(len(sides[0].cells)):
        for metric in DEFAULT_METRICS:
            logs = [
                [
                    log(reader.figure(metric, [r]).value or 1)
                    for r in s.cells[number].runs
                ]
                for s in sides
            ]
            within = fmean(map(variance, logs))
            between = variance(map(fmean, logs))
            yield (between - within / len(logs[0])) / within


def alarms(reader: Reader, pairs: Sequence[tuple[Side, Side]]) -> str:
    """Comparisons that call anything better or worse."""
    found = [compare(reader, base, new, Question()) for base, new in pairs]
    wrong = sum(bool(one.count("better") + one.count("worse")) for one in found)
    return f"{wrong} of {len(pairs)} ({100 * wrong / len(pairs):.1f} %)"


def judged(store: Store, sessions: list[Session]) -> None:
    """Print all of it."""
    reader, rng = Reader(store), random.Random(1)
    sides = [side_of(store, [session]) for session in sessions]
    found = sorted(excess(reader, sides))
    print(
        f"variance between sessions / between runs: median {median(found):.1f}, "
        f"from {found[0]:.1f} to {found[-1]:.1f}"
    )
    pairs = list(itertools.combinations(sides, 2))
    pairs = rng.sample(pairs, min(MOST_PAIRS, len(pairs)))
    print("false alarms, three repeats:", alarms(reader, pairs))
    lone = [(single(a), single(b)) for a, b in pairs]
    print("false alarms, single runs:", alarms(reader, lone))
    groups = [rng.sample(sessions, 6) for _ in range(len(pairs) // 4)]
    joined = [(side_of(store, g[:3]), side_of(store, g[3:])) for g in groups]
    print("false alarms, three sessions a side:", alarms(reader, joined))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--file", type=Path)
    parser.add_argument("--size", default="256MiB")
    parser.add_argument("--sessions", type=int, default=36)
    parser.add_argument("--store", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = asked.store or folder / "results.db"
        if not path.exists():
            file = asked.file or folder / "scratch.bin"
            collect(path, file, asked.size, asked.sessions, folder)
        with Store.open(path) as store:
            judged(store, [s for s in store.sessions() if s.status == "ok"])


if __name__ == "__main__":
    main()
