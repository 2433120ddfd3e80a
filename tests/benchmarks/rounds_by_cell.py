"""Faster ways to the figures of D1, D2 and D8 beside SNIA's rule, on simulated drives.

    python tests/benchmarks/rounds_by_cell.py [--only D1] [--drive client] [--truth]

Each test runs on each drive until SNIA's rule holds, and in each faster way. Prints the
hours with preconditioning, whether it became steady, and how many means are more than
3 % from those of SNIA's window. `--truth` adds all 25 rounds. `tests/measure/test_decided.py
--renew` makes the table of error rates on synthetic truth.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmark_row import tell

from ioplan.records import RunRecord
from ioplan.records.window import counted, window_of
from ioplan.results.store import Store

DRIVES = sorted((Path(__file__).parents[2] / "examples/sim").glob("*.toml"))
FILL = "purge write sequential 128KiB, qd 32, 2 passes"
SHAPED = (
    "purge write random 4KiB shaped, spare {}%, qd 32 "
    "write random 4KiB, qd 32, until steady waf every 1%, at most 1 pass"
)
SPARES = {"client": 9, "crosspoint": 5, "datacentre": 28}
TESTS = {
    "D1": """run random, threads 2, qd 16 each for 1min
      vary read in 100%, 95%, 65%, 50%, 35%, 5%, 0%
      vary size in 1MiB, 128KiB, 64KiB, 32KiB, 16KiB, 8KiB, 4KiB, 512B""",
    "D2": """run sequential 128KiB, qd 32 for 1min
      vary read in 100%, 0%""",
    "D8": """run random 8KiB 65/35, qd 1 each for 1min
      vary threads in 32, 16, 8, 6, 4, 2, 1
      vary qd in 32, 16, 8, 6, 4, 2, 1""",
}
TRACKED = {
    "D1": "iops when size == 4KiB and read == 0%",
    "D2": "bandwidth when read == 0%",
    "D8": "iops when threads == 32 and qd == 32",
}
LIMIT_PERCENT, HALF_PERCENT = 3.0, 50.0
Place = tuple[tuple[str, str], ...]


class Found(NamedTuple):
    """The hours of runs and preparations, and the rounds that each cell's mean is of."""

    hours: float
    is_steady: bool
    cells: dict[Place, list[float]]

    def beyond(self, other: Found) -> int:
        """How many means are more than the limit from those of another."""
        pairs = [(fmean(self.cells[c]), fmean(some)) for c, some in other.cells.items()]
        return sum(100 * abs(one / it - 1) > LIMIT_PERCENT for one, it in pairs)


def rules(test: str) -> dict[str, str]:
    """How rounds end: as SNIA has it, and sooner."""
    until = f"until steady {TRACKED[test]}, at most 25"
    by_cell = "until every cell within 3%, at most 25"
    return {
        "SNIA": until,
        "by cell": by_cell,
        "by cell, shaped": by_cell,
        "steady, within": f"{until}, within 3%",
        "steady, within, shaped": f"{until}, within 3%",
        "25 rounds": f"{until}, range 0.0001%, slope 0.0001%",
    }


def text_of(test: str, name: str, drive: Path) -> str:
    """The plan of a test in one way."""
    fill = SHAPED.format(SPARES[drive.stem]) if "shaped" in name else FILL
    text = f'plan "{test}"\non unsteady continue\nprecondition wipc {{ {fill} }}\n'
    rule = rules(test)[name]
    return text + f'test "T" {{ after wipc\n {TESTS[test]}\n rounds {rule} }}\n'


def measured(test: str, name: str, drive: Path) -> Found:
    """A test on a drive in one way."""
    with TemporaryDirectory() as folder:
        plan, store = Path(folder) / "plan.ioplan", Path(folder) / "results.db"
        plan.write_text(text_of(test, name, drive))
        call = [sys.executable, "-m", "ioplan.cli", "run", plan, "--sim", drive]
        subprocess.run([*map(str, call), "--store", store, "-q"], check=True)
        with Store.open(store) as found:
            every = list(found.records(found.session("last").id))
    runs = [one for one in every if one.asked.kind == "run"]
    window = window_of(runs)
    assert window
    cells: dict[Place, list[RunRecord]] = defaultdict(list)
    for one in runs:
        cells[tuple(one.asked.cell.items())].append(one)
    is_truth = name == "25 rounds"
    return Found(
        sum(one.run_s for one in every) / 3600,
        window.steady or bool(window.own),
        {
            cell: [
                r.total.iops for r in (some[8:] if is_truth else counted(some, window))
            ]
            for cell, some in cells.items()
        },
    )


def main() -> None:
    """Print a row a drive and test."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=TESTS, action="append")
    parser.add_argument("--drive", choices=SPARES, action="append")
    parser.add_argument("--way", action="append", help="such as 'steady, within'")
    parser.add_argument("--truth", action="store_true")
    asked = parser.parse_args()
    for test in asked.only or TESTS:
        every = [one for one in rules(test) if asked.truth or one != "25 rounds"]
        ways = ["SNIA", *(one for one in every if one in (asked.way or every[1:]))]
        for drive in DRIVES:
            if drive.stem in (asked.drive or SPARES):
                report(test, drive, ways)


def report(test: str, drive: Path, ways: list[str]) -> None:
    """How long each way took, and how far its means are from SNIA's."""
    snia = measured(test, ways[0], drive)
    told, fast = [], []
    for way in ways[1:]:
        found = measured(test, way, drive)
        percent, beyond = 100 * found.hours / snia.hours, found.beyond(snia)
        told.append(f"{way} {percent:.0f} %, {beyond} of {len(snia.cells)} beyond")
        same = found.is_steady == snia.is_steady
        fast += [way] * (percent <= HALF_PERCENT and not beyond and same)
    tell(
        f"{test} on {drive.stem}, SNIA {snia.hours:.2f} h, steady: {snia.is_steady}",
        "; ".join(told),
        "a way in at most half of the time with the same means",
        held=bool(fast),
    )


if __name__ == "__main__":
    sys.exit(main())
