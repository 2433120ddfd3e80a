"""What collecting costs by theory, and how far below it the model of a drive may be."""

from __future__ import annotations

from math import log

from ioplan.results.measure.spare import steady_waf
from ioplan_sim.geometry import Geometry

BLOCKS_LACKING = 2.0
"""Open blocks and those in reserve are spare, too: of few spare blocks that is much."""


def large_blocks(over: float) -> float:
    """Write amplification of greedy collection, uniform random writes, large blocks."""
    return steady_waf(100 * over)


def small_blocks(over: float, pages: int) -> float:
    """Write amplification of greedy collection, blocks of so many pages, very many.

    In the steady state, as many blocks fall from i to i - 1 valid pages as are
    written, so that x_i of them are in proportion to 1 / i down to the j valid
    pages of a victim: (pages - j) / (H(pages) - H(j)) valid pages in the mean, with
    H(n) close to ln(n + 1/2). As in P. Desnoyers, Analytic Modeling of SSD Write
    Performance, SYSTOR 2012.
    """
    low, high = 0.0, pages - 1e-6
    for _ in range(200):
        j = (low + high) / 2
        mean = (pages - j) / log((pages + 0.5) / (j + 0.5))
        low, high = (j, high) if mean < pages / (1 + over) else (low, j)
    return pages / (pages - j)


def below_theory_percent(over: float, shape: Geometry) -> float:
    """How far the model of a drive may be below the theory for large blocks: as its
    blocks have few pages, and as few of them are spare."""
    fewer_pages = small_blocks(over, shape.block_pages) / large_blocks(over)
    fewer_blocks = 1 - BLOCKS_LACKING / (shape.spare_blocks + 2)
    return 100 * (1 - fewer_pages * fewer_blocks)
