"""The `quick` profiles beside the full ones, on simulated drives.

    python tests/benchmarks/quick_profiles.py [--only D1] [--drive client] [--times 3]

Each is run until its rule holds, each time on a drive with other noise. Prints the time of
the quick one in percent of the full one's, with preconditioning, whether the same became
steady and seeks found the same, and in how many cells the means of the quick one are more
than 3 % from the full one's: of a suite of several tests, also of which. The yardstick is
in how many cells the full one itself is, from one time to the next.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmark_row import tell

from ioplan.records import RunRecord
from ioplan.records.assessed import assessment, last_assessed
from ioplan.records.window import counted, window_of
from ioplan.results.store import Store

FOLDER = Path(__file__).parents[2]
DRIVES = {one.stem: one for one in sorted((FOLDER / "examples/sim").glob("*.toml"))}
TESTS = {
    "D1": ("pts/pts_iops", "D1 IOPS"),
    "D8": ("pts/pts_demand_intensity", "D8 demand intensity"),
    "p3700": ("reviews/p3700", ""),
    "p4800x": ("reviews/p4800x", ""),
    "m9100": ("reviews/m9100", ""),
}
"""Suite and test; all tests of a review."""
NUDGED = {
    "D1": ("pre.wipc_fill", 2),
    "D8": ("pre.wipc_fill", 2),
    "p3700": ("pre.fill", 1),
    "p4800x": ("stir", 2),
    "p4800x quick": ("stir", 1),
    "m9100": ("pre.wipc_fill", 2),
    "m9100 quick": ("pre.fill", 1),
}
"""A param that changes the noise, and its value."""
LIMIT_PERCENT, HALF_PERCENT = 3.0, 50.0


Cell = tuple[str, int, tuple[tuple[str, str], ...]]
"""A test, its step, and the values of its axes."""


class Found(NamedTuple):
    """What a profile took, how it ended, and the mean IOPS of each cell.

    `verdicts` are those of its tests and preconditions, and what its seeks found.
    """

    hours: float
    rounds: int
    verdicts: dict[str, str]
    cells: dict[Cell, float]

    def beyond(self, other: Found) -> list[str]:
        """The tests of the means that are more than the limit from those of another."""
        off = ((c[0], abs(self.cells[c] / one - 1)) for c, one in other.cells.items())
        return [test for test, share in off if 100 * share > LIMIT_PERCENT]


def measured(test: str, profile: str, drive: Path, time: int) -> Found:
    """A test on a drive. Its clock is the seed of its noise, and a fill sets that."""
    suite, title = TESTS[test]
    with TemporaryDirectory() as folder:
        store = Path(folder) / "results.db"
        call = [sys.executable, "-m", "ioplan.cli", "run", suite, "--sim", str(drive)]
        call += ["--profile", profile, *(("--test", title) if title else ())]
        call += ["--set", nudged(test, profile, time)]
        done = subprocess.run([*call, "-q", "--store", str(store)], check=False)
        assert done.returncode in (0, 1), done.returncode  # 1: not steady
        return read(store)


def nudged(test: str, profile: str, time: int) -> str:
    """A fill that is a little longer each time."""
    name, passes = NUDGED.get(f"{test} {profile}") or NUDGED[test]
    return f"{name}={passes + time / 1000:.3f}passes"


def read(path: Path) -> Found:
    """What is found in a store of one session."""
    with Store.open(path) as store:
        every = list(store.records(store.session("last").id))
    runs = [one for one in every if one.asked.kind == "run" and not one.found]
    window, values = window_of(runs), defaultdict(list)
    for one in counted(runs, window) if window else runs:
        cell = tuple(one.asked.cell.items())
        values[one.asked.test, one.asked.step, cell].append(one.total.iops)
    return Found(
        sum(one.run_s for one in every if not one.found) / 3600,
        window.last if window else 0,
        verdicts(every),
        {cell: fmean(some) for cell, some in values.items()},
    )


def verdicts(every: list[RunRecord]) -> dict[str, str]:
    """What each test came to, in a word."""
    steady = {
        f"{one.asked.test}, {one.asked.kind}": str(said.reached)
        for one in last_assessed(every)
        if (said := assessment(one))
    }
    sought = {r.asked.test: str(r.found.value) for r in every if r.found}
    return steady | sought


def main() -> None:
    """Print a row a test and drive."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=TESTS, action="append")
    parser.add_argument("--drive", choices=DRIVES, action="append")
    parser.add_argument("--times", type=int, default=3)
    asked = parser.parse_args()
    for test in asked.only or TESTS:
        for drive in asked.drive or DRIVES:
            report(test, drive, asked.times)


def report(test: str, drive: str, times: int) -> None:
    """The quick profile beside the full one, and the full one beside itself."""
    full, quick = (
        [measured(test, profile, DRIVES[drive], time) for time in range(times)]
        for profile in ("full", "quick")
    )
    pairs = list(zip(quick, full, strict=True))
    hours = [f"{a.hours:.2f} h of {b.hours:.2f} h" for a, b in pairs]
    percents = [100 * a.hours / b.hours for a, b in pairs]
    beyond = [len(a.beyond(b)) for a, b in pairs]
    own = [len(a.beyond(b)) for a, b in pairwise(full)]
    rounds = ", ".join(f"{a.rounds} of {b.rounds}" for a, b in pairs if b.rounds)
    where = Counter(name for a, b in pairs for name in a.beyond(b))
    others = sorted({one for a, b in pairs for one in unlike(a, b)})
    tell(
        f"{test} on {drive}, quick beside full, {times} times",
        f"{hours[0]}: {max(percents):.0f} %, {rounds and f'rounds {rounds}, '}"
        f"other verdicts: {others or 'none'}; "
        f"{beyond} of {len(full[0].cells)} means beyond {LIMIT_PERCENT:g} % "
        f"({', '.join(f'{name}: {count}' for name, count in where.items())}); "
        f"full beside full {own}",
        "half of the time, the same verdicts, as many means as full beside full",
        held=max(percents) <= HALF_PERCENT
        and not others
        and max(beyond) <= max([*own, 0]),
    )


def unlike(one: Found, other: Found) -> list[str]:
    """The verdicts in which two differ."""
    names = dict.fromkeys((*one.verdicts, *other.verdicts))
    pairs = ((name, one.verdicts.get(name), other.verdicts.get(name)) for name in names)
    return [f"{name}: {a}, not {b}" for name, a, b in pairs if a != b]


if __name__ == "__main__":
    sys.exit(main())
