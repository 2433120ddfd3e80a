"""In which order the sessions of two sides ran, and what they count for.

Where all of one side ran before all of the other, whatever drifted meanwhile looks
like a change, and no number of sessions helps: a stretch of sessions of one side
counts as one. Of sides that alternate, ABAB, each session counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from ioplan.records.session import Session

MOST_SHOWN = 5


def units(base: Sequence[Session], new: Sequence[Session]) -> tuple[int, int]:
    """How many sessions of each side count."""
    starts = [(one.id, "base") for one in base]
    starts += [(one.id, "new") for one in new]
    stretches = [side for side, _ in groupby(side for _, side in sorted(starts))]
    return stretches.count("base"), stretches.count("new")


def alternating(each: int) -> str:
    """The order in which so many sessions a side are run: ABABAB."""
    return "AB" * min(each, MOST_SHOWN) + ("…" if each > MOST_SHOWN else "")
