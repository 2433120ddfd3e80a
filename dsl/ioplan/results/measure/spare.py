"""Write amplification in steady state by the spare flash, and the spare by that.

Greedy collection under uniform random writes: a block is collected when it has kept
`k` of its pages, with (1 - k) / ln(1 / k) = 1 / (1 + spare), and each block then frees
1 - k, so that the amplification is 1 / (1 - k) (P. Desnoyers, SYSTOR 2012). Solved,
that is a / (a + W(-a e^-a)) for a = 1 + spare (L. Xiang and B. Kurkoski, An Improved
Analytic Expression for Write Amplification in NAND Flash, 2012, arXiv 1110.4245).
"""

from __future__ import annotations

from math import exp, log

from msgspec import Struct

FITS_PERCENT = 20.0
"""By so much may a drive amplify more or less than greedy collection does."""


def spare_percent_of(waf: float) -> float:
    """The flash beyond the capacity, in percent of it, by an amplification above 1."""
    return 100 * (-waf * log(1 - 1 / waf) - 1)


def steady_waf(spare_percent: float) -> float:
    """The amplification of a spare above 0; it falls as the spare grows."""
    a = 1 + spare_percent / 100
    return a / (a + lambert_w(-a * exp(-a)))


def lambert_w(x: float) -> float:
    """The upper branch of w e^w = x for -1/e < x < 0, by Newton's method."""
    w = 0.0
    for _ in range(100):
        w -= (w * exp(w) - x) / (exp(w) * (w + 1))
    return w


class StatedSpare(Struct):
    """The spare that a shaped write was told, and what its size is of later writes'.

    A drive whose map has units of the larger size writes so many times more. If it
    `is_least`, what is written before anything is collected adds to it.
    """

    percent: float
    sizes: float = 1.0
    is_least: bool = False
    has_grown: bool = False

    def uncollected(self, percent: float) -> None:
        """So much of the capacity went to erased blocks."""
        if self.is_least:
            self.percent, self.has_grown = self.percent + percent, True

    def misfit(self, waf: float) -> str:
        """Why the spare cannot be right; empty where it may be."""
        factors = dict.fromkeys((1.0, self.sizes))
        wanted = [steady_waf(self.percent) * one for one in factors]
        if any(abs(waf / one - 1) <= FITS_PERCENT / 100 for one in wanted):
            return ""
        reads = [spare_percent_of(waf / one) for one in factors if waf > one]
        told = "; it reads as " + " or ".join(f"{one:.0f} %" for one in reads)
        spare = "spare found" if self.is_least else "stated spare"
        return (
            f"the {spare} does not fit this drive: at {self.percent:.0f} % its waf "
            f"would be {' or '.join(f'{one:.2f}' for one in wanted)}, and is {waf:.2f}"
            + told
            * bool(reads)
        )
