"""What is said of the cells of all metrics together: different, equal, undecided."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import comb
from statistics import fmean
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ioplan.results.compare.estimate import (
    CONFIDENCE,
    FEW_UNITS,
    Estimate,
    MetricPair,
    MetricTable,
    of_all,
    of_cell,
    pooled,
)

# Many tests at once, and at most 5 % of comparisons with a false alarm.


def holm(chances: Sequence[float]) -> list[float]:
    """Adjusted for their number, so that one below 5 % errs in 5 % of comparisons.

    Holm, Scandinavian Journal of Statistics 6 (1979). It holds however the
    tests depend on each other.
    """
    order = sorted(range(len(chances)), key=chances.__getitem__)
    adjusted, least = [1.0] * len(chances), 0.0
    for place, which in enumerate(order):
        least = max(least, min(1.0, (len(chances) - place) * chances[which]))
        adjusted[which] = least
    return adjusted


def hochberg(chances: Sequence[float]) -> list[float]:
    """Hochberg's step-up procedure; never larger than Holm's.

    Hochberg, Biometrika 75 (1988). It holds for tests that are independent or go
    together (Sarkar, Annals of Statistics 26, 1998), as metrics of one load do.
    """
    order = sorted(range(len(chances)), key=chances.__getitem__, reverse=True)
    adjusted, most = [1.0] * len(chances), 1.0
    for place, which in enumerate(order):
        most = min(most, (place + 1) * chances[which])
        adjusted[which] = most
    return adjusted


def rank_chance(base: Sequence[float], new: Sequence[float]) -> float:
    """The chance of sides as well separated, whatever the noise is like.

    Exact, of one direction (Mann and Whitney, Annals of Mathematical Statistics 18,
    1947). A single session that is far off does not make it small.
    """
    above = sum((b < n) + (b == n) / 2 for b in base for n in new)
    least = min(above, len(base) * len(new) - above)
    ways = sum(_ways(len(base), len(new), u) for u in range(int(least) + 1))
    return ways / comb(len(base) + len(new), len(base))


@lru_cache(None)
def _ways(m: int, n: int, u: int) -> int:
    """Orders of m and n values in which u pairs are the other way around."""
    if u < 0:
        return 0
    if not m or not n:
        return int(u == 0)
    return _ways(m - 1, n, u - n) + _ways(m, n - 1, u)


Word = Literal["different", "suspected", "equal", "undecided"]

LEVEL = 1 - CONFIDENCE
FOR_ALL, FOR_CELLS = 0.5, 0.3
"""Of the 5 %: for what all cells have in common, and for each by itself.

The rest is kept back: what few sessions tell of each cell's noise is itself not sure.
"""
KNOWN = 20
"""So many sessions tell that there are bad nights, and how bad: what one session is off
by is suspected before. In 19 of 20, none of a share of 14 % would be missed."""
AGREEING = 2 / 3
"""So many of the cells go the way that all are said to go."""
NOTHING_TO_LEARN_FROM = "nothing tells how much sessions differ"
TOO_LITTLE = "too few sessions tell how much they differ"
ALONE = "far off by itself, but not for one of so many rows"
ONE_SESSION = "not all sessions are apart, as if one were far off"
DISAGREE = "the cells do not go one way"
OF_ONE_CELL = "without the cell that changed most they do not differ"


class Call(Struct, frozen=True):
    """What is said of one cell, or of all; `chance` is adjusted for all of them."""

    word: Word
    estimate: Estimate | None = None
    chance: float | None = None
    why: str = ""


class Calls(Struct, frozen=True):
    """The calls of one metric: of all cells, if they are enough, and of each."""

    all: Call | None
    cells: tuple[Call, ...]


def calls(tables: Sequence[MetricTable], threshold: float) -> list[Calls]:
    """Judge all of a comparison: 5 % of those without a change have any `different`.

    Changes of at most `threshold`, a share, count as equal.
    """
    alls = [of_all(table.pairs, table.noise) for table in tables]
    cells = [[of_cell(pair, table.noise) for pair in table.pairs] for table in tables]
    chances = iter(_chances(alls, cells, threshold))
    of_alls = [
        _call_all(one, next(chances), table, threshold) if one else None
        for one, table in zip(alls, tables, strict=True)
    ]
    found = [
        tuple(
            _repeated(_call(pair, one, next(chances), threshold), [pair], table)
            if one
            else _unknown(pair, table)
            for pair, one in zip(table.pairs, row, strict=True)
        )
        for table, row in zip(tables, cells, strict=True)
    ]
    return [Calls(*both) for both in zip(of_alls, found, strict=True)]


def _chances(
    alls: Sequence[Estimate | None],
    cells: Sequence[Sequence[Estimate | None]],
    threshold: float,
) -> list[float]:
    """Adjusted: first those of all cells, then those of each."""
    shared = [one.p_value(threshold) for one in alls if one]
    each = [one.p_value(threshold) for row in cells for one in row if one]
    share = FOR_CELLS if shared else FOR_CELLS + FOR_ALL
    return [
        *(min(1.0, chance / FOR_ALL) for chance in hochberg(shared)),
        *(min(1.0, chance / share) for chance in holm(each)),
    ]


def _call_all(
    one: Estimate, chance: float, table: MetricTable, threshold: float
) -> Call:
    known = [pair.difference for pair in pooled(table.pairs, table.noise)]
    same_way = sum(d * one.difference > 0 for d in known)
    if chance <= LEVEL and same_way < AGREEING * len(known):
        return Call("undecided", one, chance, DISAGREE)
    found = _judged(one, chance, threshold)
    if found.word == "different" and _is_of_one_cell(one, known, threshold):
        return Call("undecided", one, chance, OF_ONE_CELL)
    return _repeated(found, table.pairs, table)


def _is_of_one_cell(one: Estimate, known: Sequence[float], threshold: float) -> bool:
    """Whether the others do not differ without the cell that changed most."""
    *others, _ = sorted(known, key=lambda d: d * one.difference)
    without = replace(one, difference=fmean(others))
    return without.p_value(threshold) > LEVEL


def _repeated(found: Call, pairs: Sequence[MetricPair], table: MetricTable) -> Call:
    """What one session of a side says is suspected until enough others are known."""
    alone = any(
        len(side.sessions) == 1 for pair in pairs for side in (pair.base, pair.new)
    )
    if found.word != "different" or not alone or table.noise.sessions >= KNOWN:
        return found
    known = int(table.noise.sessions)
    why = f"one session of a side; {known} tell the noise, not {KNOWN}: run again"
    return replace(found, word="suspected", why=why)


def _unknown(pair: MetricPair, table: MetricTable) -> Call:
    if pair.identical:
        return Call("equal")
    known = table.noise.guess(pair.new.key)
    return Call("undecided", why=TOO_LITTLE if known else NOTHING_TO_LEARN_FROM)


def _call(pair: MetricPair, one: Estimate, chance: float, threshold: float) -> Call:
    if pair.identical:
        return Call("equal", one, chance)
    found = _judged(one, chance, threshold)
    if found.word == "different" and not _apart(pair):
        return Call("undecided", one, chance, ONE_SESSION)
    return found


def _apart(pair: MetricPair) -> bool:
    """Whether more than one of a few sessions a side is apart."""
    sides = pair.base.figures, pair.new.figures
    return min(map(len, sides)) < FEW_UNITS or rank_chance(*sides) <= LEVEL


def _judged(one: Estimate, chance: float, threshold: float) -> Call:
    if chance <= LEVEL:
        return Call("different", one, chance)
    if one.surely_within(threshold):
        return Call("equal", one, chance)
    return Call("undecided", one, chance, ALONE if one.surely_beyond(threshold) else "")
