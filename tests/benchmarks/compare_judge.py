"""How often does `compare` raise a false alarm, and what does it find? Written into
docs/compare.md.

    .venv/bin/python tests/benchmarks/compare_judge.py [--comparisons 1000] [--print]

Synthetic sessions of known noise go through the real judge: 12 cells with three runs,
three metrics, sessions that differ by 2 % and runs by 0.2 %. Seeds are fixed, so the same
tables come out each time.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from synthetic_comparisons import Design, World, alarms, alternating, judged  # noqa: E402

CELLS = 12
HISTORY, LONG_HISTORY = 5, 20
LOSSES = (0.01, 0.02, 0.05, 0.10, 0.20)
LOST_CELL = 5
DESIGNS = {
    "1": alternating(1),
    "1, history": alternating(1, HISTORY),
    "1, long history": alternating(1, LONG_HISTORY),
    "2": alternating(2),
    "2, history": alternating(2, HISTORY),
    "2, long history": alternating(2, LONG_HISTORY),
    "3": alternating(3),
    "3, history": alternating(3, HISTORY),
    "3 in a row": Design("AAABBB"),
    "5": alternating(5),
    "5, history": alternating(5, HISTORY),
}
WORLDS = {
    "independent": World(cells=CELLS),
    "independent, half shared": World(cells=CELLS, shared=0.5),
    "independent, cells differ 3 times": World(cells=CELLS, uneven=3.0),
    "drifting": World("drifting", cells=CELLS),
    "drifting, half shared": World("drifting", cells=CELLS, shared=0.5),
    "heavy-tailed": World("heavy-tailed", cells=CELLS),
    "heavy-tailed, half shared": World("heavy-tailed", cells=CELLS, shared=0.5),
}
POWER = [name for name in DESIGNS if name not in ("1", "1, history", "3 in a row")]
Change = Mapping[int, float]
Task = tuple[World, Design, Change, int]


def false_alarms(task: Task) -> float:
    """Percent of comparisons with any call, where nothing counts as equal."""
    world, design, _, comparisons = task
    found = (judged(world, design, seed, threshold=0.0) for seed in range(comparisons))
    return 100 * sum(map(alarms, found)) / comparisons


def found_in_all(task: Task) -> float:
    """Percent of comparisons that call the loss of IOPS over all cells."""
    world, design, change, comparisons = task
    calls = (judged(world, design, seed, change)[0].all for seed in range(comparisons))
    return (
        100
        * sum(one is not None and one.word == "different" for one in calls)
        / comparisons
    )


def found_in_one(task: Task) -> float:
    """Percent of comparisons that call the loss of IOPS in the one cell."""
    world, design, change, comparisons = task
    calls = (
        judged(world, design, seed, change)[0].cells for seed in range(comparisons)
    )
    return 100 * sum(one[LOST_CELL].word == "different" for one in calls) / comparisons


def tables(comparisons: int) -> Iterator[str]:
    fewer = max(1, comparisons // 10)
    with ProcessPoolExecutor() as pool:
        yield f"False alarms in percent of {comparisons} comparisons of equal sides, with"
        yield "`--threshold 0%`; the columns are sessions a side:"
        yield ""
        alike: list[tuple[Design, Change]] = [
            (design, {}) for design in DESIGNS.values()
        ]
        rows = _rows(pool, false_alarms, alike, comparisons)
        yield from _table(
            ("noise", *DESIGNS),
            [(name, [f"{value:.1f}" for value in values]) for name, values in rows],
        )
        yield ""
        yield f"Losses found in percent of {fewer} comparisons, in all cells / in one cell of"
        yield "twelve, where changes below 2 % count as equal:"
        yield ""
        rows_found = [row for name in POWER for row in _power(pool, name, fewer)]
        yield from _table(
            ("sessions a side", "noise", *(f"{loss:.0%}" for loss in LOSSES)),
            rows_found,
        )


def _power(
    pool: ProcessPoolExecutor, name: str, count: int
) -> list[tuple[str, list[str]]]:
    """One design, a row for each kind of noise."""

    def found(ask: Callable[[Task], float], cells: Sequence[int]) -> list[list[float]]:
        asked = [(DESIGNS[name], dict.fromkeys(cells, -loss)) for loss in LOSSES]
        return [values for _, values in _rows(pool, ask, asked, count)]

    both = zip(
        found(found_in_all, range(CELLS)), found(found_in_one, [LOST_CELL]), strict=True
    )
    shown = [
        [f"{a:.0f} / {b:.0f}" for a, b in zip(*values, strict=True)] for values in both
    ]
    return [
        (f"{name} | {noise}", row) for noise, row in zip(WORLDS, shown, strict=True)
    ]


def _rows(
    pool: ProcessPoolExecutor,
    ask: Callable[[Task], float],
    asked: Sequence[tuple[Design, Change]],
    count: int,
) -> list[tuple[str, list[float]]]:
    """For each kind of noise what comes out of each of these."""
    tasks = [
        (world, design, change, count)
        for world in WORLDS.values()
        for design, change in asked
    ]
    values, width = list(pool.map(ask, tasks)), len(asked)
    return [
        (name, values[at * width : (at + 1) * width]) for at, name in enumerate(WORLDS)
    ]


def _table(
    headings: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]
) -> Iterator[str]:
    yield f"| {' | '.join(headings)} |"
    yield f"|{'---|' * len(headings)}"
    for name, values in rows:
        yield f"| {name} | {' | '.join(values)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--comparisons", type=int, default=1000)
    parser.add_argument("--print", action="store_true", help="and write nothing")
    asked = parser.parse_args()
    text = "\n".join(tables(asked.comparisons))
    if asked.print:
        print(text)
        return
    page = ROOT / "docs" / "compare.md"
    marks = r"(<!-- compare_judge -->\n).*?(<!-- end -->)"
    page.write_text(
        re.sub(
            marks,
            lambda m: f"{m[1]}\n{text}\n\n{m[2]}",
            page.read_text(),
            flags=re.DOTALL,
        )
    )


if __name__ == "__main__":
    main()
