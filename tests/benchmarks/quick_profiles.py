"""The `quick` profiles of the PTS suites beside the full ones, on simulated drives.

    python tests/benchmarks/quick_profiles.py [--only D1] [--drive client] [--times 3]

Each is run until its rule holds, each time on a drive with other noise. Prints the time of
the quick one in percent of the full one's, with preconditioning, whether both became steady,
and in how many cells the means of the quick one are more than 3 % from the full one's. The
yardstick is in how many cells the full one itself is, from one time to the next.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmark_row import tell

from ioplan.records.window import counted, window_of
from ioplan.results.store.store import Store

FOLDER = Path(__file__).parents[2]
DRIVES = {one.stem: one for one in sorted((FOLDER / "examples/sim").glob("*.toml"))}
TESTS = {
    "D1": ("pts/pts_iops", "D1 IOPS"),
    "D8": ("pts/pts_demand_intensity", "D8 demand intensity"),
}
"""Suite and test."""
LIMIT_PERCENT, HALF_PERCENT = 3.0, 50.0


class Found(NamedTuple):
    """What a profile took, how it ended, and the mean IOPS of each cell."""

    hours: float
    rounds: int
    is_steady: bool
    cells: dict[tuple[tuple[str, str], ...], float]

    def beyond(self, other: Found) -> int:
        """How many means are more than the limit from those of another."""
        off = (100 * abs(self.cells[c] / one - 1) for c, one in other.cells.items())
        return sum(percent > LIMIT_PERCENT for percent in off)


def measured(test: str, profile: str, drive: Path, time: int) -> Found:
    """A test on a drive. Its clock is the seed of its noise, and a fill sets that."""
    suite, title = TESTS[test]
    fill = f"pre.wipc_fill={2 + time / 1000:.3f}passes"
    with TemporaryDirectory() as folder:
        store = Path(folder) / "results.db"
        call = [sys.executable, "-m", "ioplan.cli", "run", suite, "--test", title]
        call += ["--profile", profile, "--set", fill, "--sim", str(drive), "-q"]
        done = subprocess.run([*call, "--store", str(store)], check=False)
        assert done.returncode in (0, 1), done.returncode  # 1: not steady
        with Store.open(store) as found:
            every = list(found.records(found.session("last").id))
    runs = [one for one in every if one.asked.kind == "run"]
    window, values = window_of(runs), defaultdict(list)
    assert window
    for one in counted(runs, window):
        values[tuple(one.asked.cell.items())].append(one.total.iops)
    return Found(
        sum(one.run_s for one in every) / 3600,
        window.last,
        window.steady,
        {cell: fmean(some) for cell, some in values.items()},
    )


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
    beyond = [a.beyond(b) for a, b in pairs]
    own = [a.beyond(b) for a, b in pairwise(full)]
    same = all(a.is_steady == b.is_steady for a, b in pairs)
    rounds = ", ".join(f"{a.rounds} of {b.rounds}" for a, b in pairs)
    tell(
        f"{test} on {drive}, quick beside full, {times} times",
        f"{hours[0]}: {max(percents):.0f} %, rounds {rounds}, the same verdict: {same}; "
        f"{beyond} of {len(full[0].cells)} means beyond {LIMIT_PERCENT:g} %; "
        f"full beside full {own}",
        "half of the time, the same verdict, as many means as full beside full",
        held=max(percents) <= HALF_PERCENT and same and max(beyond) <= max([*own, 0]),
    )


if __name__ == "__main__":
    sys.exit(main())
