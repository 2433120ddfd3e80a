"""How often `history` errs, and what it finds, on series whose truth is known.

    python tests/benchmarks/history_power.py [SERIES]

Of series that do not change, how many have any change; and how often a change of one cell
is called when two or three sessions of it are there. Of 12 cells, the others tell what
noise to expect. The seed is fixed: the table of docs/history.md is the same again.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from synthetic_history import KINDS, is_found, plan_values, series_of, with_step

SESSIONS = (8, 13, 23, 43, 103)
CELLS = (1, 12)
STEPS = (0.03, 0.05, 0.1)
NEW = 3
LONG = 2000
HEAD = "| sessions | cells | noise | series | false alarms |"


def main(series: int) -> None:
    """Print the table."""
    print(HEAD, *(f" {100 * step:g} % found |" for step in STEPS), sep="")
    print("|---" * (HEAD.count("|") - 1 + len(STEPS)) + "|")
    for kind, cells, sessions in product(KINDS, CELLS, SESSIONS):
        print(row(kind, cells, sessions, series), flush=True)
    print(row("independent", 1, LONG, series), flush=True)


def row(kind: str, cells: int, sessions: int, series: int) -> str:
    """Stationary series, then the same with a step."""
    rng = np.random.default_rng((len(kind), cells, sessions))
    plans = max(20, series // cells)
    false = sum(
        bool(one.changes)
        for _ in range(plans)
        for one in series_of(plan_values(rng, kind, cells, sessions))
    )
    found = [power(rng, kind, cells, sessions, step, series // 3) for step in STEPS]
    texts = [f"{100 * share:.0f} %" for share in found]
    share = f"{100 * false / (plans * cells):.1f} %"
    return f"| {sessions:_} | {cells} | {kind} | {plans * cells:_} | {share} | " + (
        " | ".join(texts) + " |"
    )


def power(
    rng: np.random.Generator,
    kind: str,
    cells: int,
    sessions: int,
    step: float,
    times: int,
) -> float:
    """How often it is called after two or three sessions, where it happened."""
    found = 0
    for _ in range(times):
        values = with_step(plan_values(rng, kind, cells, sessions), step, NEW)
        found += is_found(values, sessions - NEW, (sessions - 1, sessions))
    return found / times


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
