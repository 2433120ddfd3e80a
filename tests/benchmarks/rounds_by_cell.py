"""Rounds that end cell by cell beside SNIA's rule, on simulated drives.

    python tests/benchmarks/rounds_by_cell.py [--only D1]

Each test runs three times on each drive: all 25 rounds, as the truth; until SNIA's rule
holds; and until every cell is within 3 %. Prints the hours, and how far means are off.
`tests/measure/test_decided.py --renew` makes the table of error rates on synthetic truth.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

from benchmark_row import tell

from ioplan.records.record import RunRecord
from ioplan.records.window import counted, window_of
from ioplan.store.store import Store

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
LIMIT_PERCENT = 3.0
Means = dict[tuple[tuple[str, str], ...], float]


def rules(test: str) -> dict[str, str]:
    """How rounds end: never, as SNIA has it, and cell by cell."""
    until = f"until steady {TRACKED[test]}, at most 25"
    by_cell = "until every cell within 3%, at most 25"
    return {
        "all": f"{until}, range 0.0001%, slope 0.0001%",
        "SNIA": until,
        "by cell": by_cell,
        "by cell, shaped": by_cell,
    }


def measured(test: str, name: str, drive: Path) -> tuple[float, Means]:
    """The hours of runs and preparations, and the mean of each cell."""
    rule = rules(test)[name]
    fill = SHAPED.format(SPARES[drive.stem]) if "shaped" in name else FILL
    text = f'plan "{test}"\non unsteady continue\nprecondition wipc {{ {fill} }}\n'
    text += f'test "T" {{ after wipc\n {TESTS[test]}\n rounds {rule} }}\n'
    with TemporaryDirectory() as folder:
        plan, store = Path(folder) / "plan.ioplan", Path(folder) / "results.db"
        plan.write_text(text)
        call = ("ioplan", "run", plan, "--sim", drive, "--store", store, "-q")
        subprocess.run([*map(str, call)], check=True)
        with Store.open(store) as found:
            every = list(found.records(found.session("last").id))
    runs = [one for one in every if one.asked.kind == "run"]
    return sum(one.run_s for one in every) / 3600, means(runs, rule)


def means(runs: list[RunRecord], rule: str) -> Means:
    """Of the rounds that figures are of; of all but the first third, for the truth."""
    cells: dict[tuple[tuple[str, str], ...], list[RunRecord]] = defaultdict(list)
    for one in runs:
        cells[tuple(one.asked.cell.items())].append(one)
    window = window_of(runs)
    is_truth = "0.0001%" in rule
    return {
        cell: fmean(
            r.total.iops for r in (some[8:] if is_truth else counted(some, window))
        )
        for cell, some in cells.items()
    }


def main() -> None:
    """Print a row a drive and test."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=TESTS, action="append")
    for test in parser.parse_args().only or TESTS:
        for drive in DRIVES:
            report(test, drive)


def report(test: str, drive: Path) -> None:
    """How long the rules took, and how far their means are from the truth."""
    found = {name: measured(test, name, drive) for name in rules(test)}
    whole_h, truth = found["all"]
    snia_h, told = found["SNIA"][0], []
    for name in ("SNIA", "by cell", "by cell, shaped"):
        hours, cells = found[name]
        off = [100 * abs(cells[cell] / value - 1) for cell, value in truth.items()]
        beyond = sum(one > LIMIT_PERCENT for one in off)
        time = f"{hours:.2f} h ({100 * hours / snia_h:.0f} % of SNIA's)"
        told.append(f"{name} {time}, worst {max(off):.1f} %, {beyond} beyond")
    hours, cells = found["by cell"]
    off = [abs(cells[cell] / value - 1) for cell, value in truth.items()]
    share = sum(100 * one > LIMIT_PERCENT for one in off) / len(off)
    tell(
        f"{test} on {drive.stem}, 25 rounds {whole_h:.2f} h",
        "; ".join(told),
        "by cell: at most half of 25 rounds, 95 % of means within 3 %",
        held=hours <= whole_h / 2 and share <= 0.05,
    )


if __name__ == "__main__":
    sys.exit(main())
