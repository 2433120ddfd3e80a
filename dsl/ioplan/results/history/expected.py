"""The noise that a series is expected to have, learned from all of its cells.

The newest sessions are left out, as they may be the first of a new level; sessions are
taken together only while nothing is known to have changed, and no more than BLOCK in a
row, so that a change of unknown cause spoils one block and not all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from ioplan.core.statistics.shared_variance import Variance
from ioplan.results.compare.noise import Group, MetricNoise, learned
from ioplan.results.history.conditions import PEERS
from ioplan.results.history.visits import Cell, Visit

RECENT = 4
LEARNED = 48
"""So many sessions of each series are learned from, the newest but RECENT."""
BLOCK = 12
ANY_CELL = ("any cell", 0)
"""A cell that nothing is known of: what is expected of it is what others show."""


def expected(
    visits: Sequence[Visit],
    metric: str,
    cells: Sequence[Cell],
    floor: float,
) -> Variance | None:
    """A figure's variance from one session to the next; None if nothing tells it.

    The sessions are those of one drive, or of what series are parted by.
    """
    groups = list(_groups(visits, metric))
    keys = [*(cell.key for cell in cells), ANY_CELL]
    noise: MetricNoise = learned(groups, keys, floor)
    return noise.session(ANY_CELL)


def _groups(visits: Sequence[Visit], metric: str) -> Iterator[Group]:
    known = list(visits[:-RECENT])[-LEARNED:]
    for _, same in groupby(known, key=_peers):
        block = list(same)
        for first in range(0, len(block), BLOCK):
            some = block[first : first + BLOCK]
            yield Group(
                drive=some[0].conditions["drive"],
                model=some[0].model,
                sessions=tuple(visit.figures[metric] for visit in some),
            )


def _peers(visit: Visit) -> tuple[str, ...]:
    return tuple(visit.conditions[name] for name in PEERS)
