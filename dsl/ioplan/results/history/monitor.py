"""A series under nightly looks: signals are suspected, confirmed, withdrawn.

The evidence for a step is summed over the places where it may be (an e-detector of
Shiryaev-Roberts' kind, see `compare/evidence.py`), of values whose outliers are
clipped. What a look says depends on no later session. A confirmed step begins a new
level; if later sessions speak against it, it is withdrawn, and the level before goes
on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import inf, log, sqrt
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ioplan.core.statistics.shared_variance import Variance
from ioplan.core.statistics.student_t import quantile
from ioplan.results.compare.evidence import SIZE, Numbers, log_evidence, log_limit

# Evidence for a step in rows of values: one row for each look, all of one length.
#
# Windows of many looks are told at once; arrays have the shape rows × values, and
# their evidence rows × places.

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


State = Literal["suspected", "confirmed", "withdrawn"]

GUARD = 2
"""So many values are needed on each side of a confirmed step, and beyond the band."""
SUSPECTED = log(20.0)
WINDOW = 256
"""So many values of a level are looked at: more hardly tell it better."""
PLACES = 64
"""A step is looked for among so many of the newest values."""
LOOKS = 32
"""The evidence of so many looks at whole windows is computed at once: arrays of more
than 128 KiB are asked of the kernel each time, which takes as long as the rest."""
NEWEST = np.arange(WINDOW - PLACES, WINDOW)
"""Those places in a whole window."""
EXACT = 1e-12
"""The least variance, a millionth squared: figures are rounded somewhere."""
BAND = 0.975


class Signal(Struct, frozen=True):
    """What one look changed: a step at `at` has got a state by the value `seen`."""

    at: int
    seen: int
    state: State
    evidence: float = 0.0


def signals(
    values: Sequence[float],
    prior: Variance | None = None,
    floor: float = EXACT,
    limits: Sequence[float] | None = None,
) -> list[Signal]:
    """All of a series, in the order of the looks.

    `prior` is the variance of a value that others have shown; no variance is taken to
    be below `floor`. `limits` has the logarithm of what evidence confirms at each look;
    by default, that of one series.
    """
    limits = limits or [log_limit(1)] * len(values)
    series = np.asarray(values, float)
    whole = sliding_window_view(series, WINDOW) if len(series) >= WINDOW else None
    watch = _Watch(series, whole, prior, max(floor, EXACT), limits)
    return list(watch.signals())


def confirmed(found: Sequence[Signal]) -> list[Signal]:
    """The steps that stand: confirmed, and not withdrawn since, by their places."""
    standing: dict[int, Signal] = {}
    for one in found:
        if one.state == "confirmed":
            standing[one.at] = one
        elif one.state == "withdrawn":
            standing.pop(one.at, None)
    return [standing[at] for at in sorted(standing)]


class _Watch(Struct, frozen=True):
    values: Numbers
    whole: Numbers | None
    """All windows of the length WINDOW."""
    prior: Variance | None
    floor: float
    limits: Sequence[float]
    blocks: dict[int, tuple[Numbers, list[float]]] = {}

    def signals(self) -> Iterator[Signal]:
        """Each look in turn; `starts` are where the levels begin."""
        starts, suspected = [0], None
        for seen in range(len(self.values)):
            if len(starts) > 1 and self._is_gone(starts[-2], starts[-1], seen):
                yield Signal(starts.pop(), seen, "withdrawn")
                suspected = None
            look = self._look(starts[-1], seen)
            if look and look.state == "confirmed":
                yield look
                starts.append(look.at)
                suspected = None
            elif look and suspected is None:
                yield look
                suspected = look.at
            elif look is None and suspected is not None:
                yield Signal(suspected, seen, "withdrawn")
                suspected = None

    def _look(self, start: int, seen: int) -> Signal | None:
        """What the values from a level's start to the newest say by themselves."""
        first = max(start, seen + 1 - WINDOW)
        if seen + 1 - first <= GUARD:
            return None
        evidence, places, highest = self._evidence(first, seen)
        if highest < SUSPECTED:
            return None
        part = self.values[first : seen + 1]
        best = int(places[evidence.argmax()])
        total = float(np.logaddexp.reduce(evidence))
        sure = total >= self.limits[seen] and self._beyond(part, best) >= GUARD
        state: State = "confirmed" if sure else "suspected"
        return Signal(first + best, seen, state, total if sure else highest)

    def _is_gone(self, before: int, at: int, seen: int) -> bool:
        """Whether a confirmed step is less likely than none, and most values since are
        as before it: a level that was left again was one."""
        first = max(before, seen + 1 - WINDOW)
        if at - first < GUARD:
            return False
        part = self.values[first : seen + 1]
        mean, noise = self._level(part[: at - first])
        if abs(float(np.median(self.values[at : seen + 1])) - mean) >= sqrt(noise):
            return False
        evidence = self._of_rows(part[None], np.array([at - first]))
        return bool(evidence[0, 0] < 0)

    def _evidence(self, first: int, seen: int) -> tuple[Numbers, Places, float]:
        """For a step at each of the newest places, with the highest; at none where
        nothing can be suspected. That of whole windows is kept."""
        count = seen + 1 - first
        if count < WINDOW or self.whole is None:
            places = np.arange(max(GUARD, count - PLACES), count)
            part = self.values[None, first : seen + 1]
            found = self._of_rows(part, places, SUSPECTED)[0]
            return found, places, float(found.max())
        block, at = divmod(first, LOOKS)
        if block not in self.blocks:
            some = self.whole[block * LOOKS : (block + 1) * LOOKS]
            rows = self._of_rows(some, NEWEST, SUSPECTED)
            self.blocks.clear()
            self.blocks[block] = rows, rows.max(-1).tolist()
        rows, highest = self.blocks[block]
        return rows[at], NEWEST, highest[at]

    def _of_rows(self, rows: Numbers, places: Places, least: float = -inf) -> Numbers:
        return step_evidence(rows, places, self._known, self.floor, least)

    def _beyond(self, part: Numbers, best: int) -> int:
        """How many values after a step are beyond the band of the ones before, on
        the step's side."""
        before, after = part[:best], part[best:]
        mean, noise = self._level(before)
        degrees = best - 1 + self._known.degrees
        half = student(round(degrees, 1)) * sqrt(noise * (1 + 1 / best))
        off = after - mean
        far = np.sign(off.mean()) * off > half
        return int(far.sum())

    def _level(self, part: Numbers) -> tuple[float, float]:
        """The mean of some values, and the variance of one."""
        row = clipped(part, sqrt(self._known.value))
        degrees = len(part) - 1 + self._known.degrees
        squares = float(((row - row.mean()) ** 2).sum())
        squares += self._known.value * self._known.degrees
        return float(row.mean()), max(squares / degrees, self.floor)

    @property
    def _known(self) -> Variance:
        return self.prior or Variance(0.0, 0.0)


@lru_cache(4096)
def student(degrees: float) -> float:
    """Half of the band in deviations; it is found by bisection, and asked for again."""
    return quantile(BAND, degrees)
