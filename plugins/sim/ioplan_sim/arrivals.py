"""Arrivals with gamma gaps: how many come in a time, without drawing each of them."""

from __future__ import annotations

import numpy as np


class GammaArrivals:
    """Times are in mean gaps: in a time of n come n arrivals, in the mean.

    The sum of m gaps of shape k is a gamma variate of shape m k, and the share of its
    first half a beta variate: the count takes few draws, and its law is exact.
    """

    def __init__(self, gap_variation: float, rng: np.random.Generator) -> None:
        self.shape, self.rng = gap_variation**-2, rng
        self.left = self._sum(1)

    def _sum(self, gaps: int) -> float:
        return float(self.rng.gamma(gaps * self.shape)) / self.shape

    def count(self, time: float) -> int:
        """How many arrive in the next so many mean gaps."""
        if self.left > time:
            self.left -= time
            return 0
        time, found, gaps = time - self.left, 1, 1 << max(0, int(time).bit_length() - 4)
        while (total := self._sum(gaps)) <= time:
            time, found = time - total, found + gaps
        while gaps > 1:  # the next arrival is one of these
            gaps //= 2
            first = total * float(self.rng.beta(gaps * self.shape, gaps * self.shape))
            if first <= time:
                time, found, total = time - first, found + gaps, total - first
            else:
                total = first
        self.left = total - time
        return found
