"""Many tests at once, and at most 5 % of comparisons with a false alarm."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import comb


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
