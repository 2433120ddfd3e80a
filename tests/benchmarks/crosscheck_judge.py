"""How often `crosscheck` errs, on synthetic cells whose truth is known.

    python tests/benchmarks/crosscheck_judge.py [TABLES]

Of tables of alike backends, how many have any false
"differ", and how often a true difference in one cell is found.
"""

from __future__ import annotations

import random
import sys
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from synthetic_crosscheck import verdicts

NOISES = ((0.03, 0.06), (0.01, 0.01), (0.01, 0.1))
TRUE_PERCENT = 12


def main(tables: int) -> None:
    rng = random.Random(1)
    print(
        f"| cells | rounds | noise of a run | false alarms | {TRUE_PERCENT} % found |"
    )
    print("|---|---|---|---|---|")
    for cells, rounds, noises in product((2, 10, 24), (5, 10), NOISES):
        runs = [
            verdicts(rng, cells, rounds, noises, TRUE_PERCENT) for _ in range(tables)
        ]
        false = sum(any("differ" in one for one in run[:-1]) for run in runs)
        found = sum("differ" in run[-1] for run in runs)
        low, high = (f"{100 * one:g}" for one in noises)
        noise = low if low == high else f"{low} to {high}"
        print(
            f"| {cells} | {rounds} | {noise} % | {100 * false / tables:.1f} % "
            f"| {100 * found / tables:.0f} % |",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
