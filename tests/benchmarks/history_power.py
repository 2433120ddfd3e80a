"""How often `history` errs in a year of nightly looks, and how soon it finds a change.

    python tests/benchmarks/history_power.py [SERIES]

Of series that do not change, after 30 nights of history, how many have a change confirmed
by any look of the 365 that follow; and by which night half of the changes are confirmed,
and how many within 30. The seed is fixed: the table of docs/history.md is the same again.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from statistics import median

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from synthetic_history import KINDS, NOISE, Values, noise, with_step

from ioplan.results.history import log_limit, signals
from ioplan.results.history.limits import NIGHTS

BEFORE, WITHIN = 30, 30
STEPS = (0.03, 0.05, 0.1)
CASES = (1, 300)
"""Series watched."""
HEAD = "| series watched | noise | series | false alarms a year |"


def main(series: int) -> None:
    """Print the table."""
    print(HEAD, *(f" {100 * step:g} % |" for step in STEPS), sep="")
    print("|---" * (HEAD.count("|") - 1 + len(STEPS)) + "|")
    asked = [(case, kind, series) for case, kind in product(CASES, KINDS)]
    with ProcessPoolExecutor(2) as pool:
        for text in pool.map(row, asked):
            print(text, flush=True)


def row(asked: tuple[int, str, int]) -> str:
    """Unchanged series for a year, then a change of each size."""
    watched, kind, series = asked
    rng = np.random.default_rng((len(kind), watched))
    values = NOISE * noise(rng, kind, series, BEFORE + NIGHTS)
    false = sum(night(one, watched) is not None for one in values)
    found = [power(rng, asked, step) for step in STEPS]
    share = f"{100 * false / series:.1f} %"
    return f"| {watched} | {kind} | {series} | {share} | {' | '.join(found)} |"


def power(rng: np.random.Generator, asked: tuple[int, str, int], step: float) -> str:
    """`5 nights, 98 %`: the median, and how many within WITHIN."""
    watched, kind, series = asked
    values = NOISE * noise(rng, kind, max(20, series // 3), BEFORE + WITHIN)
    looks = [night(with_step(one[None], step, WITHIN)[0], watched) for one in values]
    nights = [look or WITHIN + 1 for look in looks]
    middle = median(nights)
    text = f"over {WITHIN} nights" if middle > WITHIN else f"{middle:g} nights"
    return f"{text}, {100 * sum(n <= WITHIN for n in nights) / len(nights):.0f} %"


def night(values: Values, watched: int) -> int | None:
    """The first after BEFORE that has a change confirmed."""
    limits = [log_limit(watched)] * len(values)
    for one in signals(list(values), limits)[0]:
        if one.state == "confirmed" and one.seen >= BEFORE:
            return one.seen - BEFORE + 1
    return None


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
