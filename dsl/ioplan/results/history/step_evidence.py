"""Evidence for a step in rows of values: one row for each look, all of one length.

Windows of many looks are told at once; arrays have the shape rows × values, and their
evidence rows × places.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from ioplan.core.statistics.shared_variance import Variance
from ioplan.results.compare.evidence import SIZE, Numbers, log_evidence

Places = NDArray[np.int64]
CLIP, NORMAL_MAD = 3.0, 1.4826
"""Outliers beyond so many deviations are moved there: two of them are no level."""
MARGIN = 0.5
"""So many standard errors (Bartlett 1946) are added to neighbours' correlation."""
MOST_CORRELATED = 0.8
MOST_SPREAD = (1 + MOST_CORRELATED) / (1 - MOST_CORRELATED)


def step_evidence(
    rows: Numbers,
    places: Places,
    known: Variance,
    floor: float,
    least: float = -np.inf,
) -> Numbers:
    """The logarithm, for each row and a step at each place; `known` is the variance of
    a value that others have shown, and none is taken to be below `floor`.

    Rows that reach `least` nowhere have minus infinity: most can be told at a glance.
    """
    count = rows.shape[-1]
    rows = clipped(rows, sqrt(known.value))
    off = rows - np.add.reduce(rows, -1, keepdims=True) / count  # `mean` takes longer
    after = off[:, places[0] :][:, ::-1].cumsum(-1)[:, ::-1][:, places - places[0]]
    size = (count - places) * places / count
    between = after**2 / size
    squares = np.einsum("ij,ij->i", off, off)[:, None]
    within = np.maximum(squares - between, 0.0)
    degrees = count - 1 + known.degrees
    rest = np.maximum(within + known.value * known.degrees, floor * degrees)
    found = np.full(between.shape, -np.inf)
    some = _highest(between / rest, size, degrees) >= least
    if not some.any():
        return found
    rows, between, within, rest = (one[some] for one in (rows, between, within, rest))
    best = places[(between / np.maximum(within, floor)).argmax(-1)]
    spread = _spread(count - places, correlation(rows, best))
    found[some] = log_evidence(between / spread, rest, size / spread, degrees)
    return found


def _highest(ratios: Numbers, sizes: Numbers, degrees: float) -> Numbers:
    """No evidence of a row is higher: as if neighbours were independent for the sum of
    squares, and resembled each other most (a spread of 9) for its worth."""
    worth = np.log1p(SIZE**2 / MOST_SPREAD * sizes.min()) / 2
    bound: Numbers = degrees / 2 * np.log1p(ratios.max(-1)) - worth
    return bound


def _spread(sizes: Places, shares: Numbers) -> Numbers:
    """The variance of a mean of so many values that resemble the one before, beside
    that of independent ones (an autoregression of order one)."""
    share = shares[:, None]
    rest = (1 - share**sizes) / (sizes * (1 - share))
    spread: Numbers = 1 + 2 * share / (1 - share) * (1 - rest)
    return spread


def correlation(rows: Numbers, steps: Places) -> Numbers:
    """The correlation of neighbours, with the levels before and after a row's step."""
    count, step = rows.shape[-1], steps[:, None]
    before = np.arange(count) < step
    whole = rows.sum(-1, keepdims=True)
    first = np.where(before, rows, 0.0).sum(-1, keepdims=True)
    rest = rows - np.where(before, first / step, (whole - first) / (count - step))
    squares = np.einsum("ij,ij->i", rest, rest)
    next_to = np.einsum("ij,ij->i", rest[:, 1:], rest[:, :-1])
    seen = np.divide(next_to, squares, out=np.zeros_like(squares), where=squares > 0)
    found: Numbers = np.clip(seen + MARGIN / sqrt(count), 0.0, MOST_CORRELATED)
    return found


def clipped(rows: Numbers, least: float = 0.0) -> Numbers:
    """Rows with their outliers at CLIP deviations, which are `least` at least."""
    middle = _median(rows)
    off = np.abs(rows - middle)
    if off.max() <= CLIP * least:
        return rows
    spread = NORMAL_MAD * _median(off)
    far = np.where(spread > 0, CLIP * np.maximum(spread, least), np.inf)
    return np.minimum(np.maximum(rows, middle - far), middle + far)


def _median(rows: Numbers) -> Numbers:
    """Of each row, in a column. NumPy's own looks for NaN, axes and kinds first, which
    takes longer than the rest, and parts a row slower than it sorts one."""
    count = rows.shape[-1]
    low, high = (count - 1) // 2, count // 2
    ordered = np.sort(rows, -1)
    found: Numbers = (ordered[..., low, None] + ordered[..., high, None]) / 2
    return found
