"""A series under nightly looks: steps and drifts are suspected, confirmed, withdrawn.

Sessions resemble the ones before: noise is an autoregression of order one whose mean,
deviation and correlation are unknown. The evidence for a step, or for a line that
begins somewhere, is its likelihood with a mixture of correlations over the *best* of a
series that does not change, whatever its correlation: an e-value for each of them
(universal inference: Wasserman, Ramdas and Balakrishnan, PNAS 117, 2020), on the
maximal invariant (Pérez-Ortiz, Lardy, de Heide and Grünwald, Annals of Statistics 52,
2024). It is summed over the places (an e-detector: Shin, Ramdas and Rinaldo, New
England Journal of Statistics in Data Science 2, 2024). A step or a line must also be
likelier than the other one: wear that is slow has no night to blame.

What a look says depends on no later session. A confirmed change begins a new level.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import log, log1p, sqrt
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ioplan.results.compare.noise import EXACT

Numbers = NDArray[np.float64]

SIZE = 3.0
"""Changes are expected to be of about so many deviations of a session."""
CORRELATIONS = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98])[:, None]
"""Of a session with the next: a row each."""
LEFT = np.sqrt(1 - CORRELATIONS**2)
THRESHOLD = log1p(0.01)
"""Smaller changes are none."""
CLIP, NORMAL_MAD = 3.0, 1.4826
NEIGHBOURS = 2
"""A value is off by more than CLIP deviations if it is off the median of so many on
each side: an outlier by itself (Hampel, Journal of the American Statistical
Association 69, 1974)."""
SMALL = 1e-9
FEWEST = 2
"""So many sessions at least are on each side of a change."""
LONG = 10
"""A drift goes on for so many sessions; what is shorter is a step."""
SUSPECTED = log(20.0)
CLEAR = log(30.0)
"""A step is as much likelier than a drift, or a session is blamed for slow wear."""
WINDOW = 256
"""So many values of a level are looked at: more hardly tell it better."""
PLACES = 64
"""A step is looked for among so many of the newest values."""
RECENT, STRIDE = 730, 8
"""Of what is older than so many sessions, one in so many is a look."""
GLANCE = 3.5
"""Deviations, as if neighbours were independent: without so many, a look ends."""

# How much evidence confirms a change, so that false alarms keep within a budget.

NIGHTS = 365
"""A year has at least so many looks."""
YEARLY = 0.05
"""Of series that do not change, so many may have a false alarm in a year of looks."""
SPARE = 3.0
"""The bound is kept with so much evidence to spare, as a change has to be likelier than
the best series without one: docs/history.md has the false alarms that were counted, for
correlations up to 0.95 and for heavy tails."""


def budget(series: int) -> float:
    """False alarms of one series in a year: all have one together."""
    return min(YEARLY, 1 / max(1, series))


@lru_cache(4096)
def log_limit(series: int, looks: float = NIGHTS) -> float:
    """What the sum of the evidence for all places of a change must reach.

    A sum of e-processes begun at each look is expected to be the number of looks (an
    e-detector: Shin, Ramdas and Rinaldo, New England Journal of Statistics in Data
    Science 2, 2024), so that it reaches looks / budget within them with a chance of the
    budget at most (Markov).
    """
    return log(max(looks, NIGHTS) / budget(series)) - SPARE


State = Literal["suspected", "confirmed", "withdrawn"]
Kind = Literal["step", "drift", "end"]
"""The end is that of a drift, where the series goes on otherwise."""


class Signal(Struct, frozen=True):
    """The state that a change at `at` got when the value at `seen` was the newest."""

    at: int
    seen: int
    state: State
    kind: Kind = "step"
    evidence: float = 0.0


class Segment(NamedTuple):
    """Sessions from one on, at a level or on a line; with the evidence for the step
    that it begins with, and for the drift, if there are any."""

    start: int
    step: float = 0.0
    drift: float = 0.0


def evidence(
    values: Numbers, drifts: bool, threshold: float, floor: float
) -> tuple[Numbers, Numbers]:
    """Logarithms, for all places, of a step there and of a line that begins there.

    They are against a series without: a level, or a line where it `drifts`. The null
    hypothesis has changes of up to the threshold (Murphy and Myors, Journal of Applied
    Psychology 84, 1999), and for a step a single shock at its place, so that where the
    sessions after it stay counts, and not the jump (an innovation outlier: Fox, Journal
    of the Royal Statistical Society B 34, 1972).
    """
    count = len(values)
    columns = [np.ones(count), *([np.arange(count) / count] if drifts else [])]
    log_weight = -(count - 1) * np.log(LEFT)
    units: list[Numbers] = []
    for column in columns:
        row, length = _residual(_white(column), units)
        units.append(row / length)
        log_weight = log_weight - np.log(length)
    residual, length = _residual(_white(values), units)
    squares, degrees = length**2, count - len(units)
    later = np.maximum(np.arange(count)[::-1], 1)
    (steps, lines), *explained = map(_inner, (residual, *units))
    jump = (1 + (1 - CORRELATIONS) ** 2 * later) / LEFT**2
    step = jump - sum(of_step**2 for of_step, _ in explained)
    line = _line_squares(later) - sum(of_line**2 for _, of_line in explained)
    # of a step, what a shock at its place does not explain
    own = 1 - sum(unit**2 for unit in units)
    common = 1 / LEFT - sum(
        unit * of_step for unit, (of_step, _) in zip(units, explained, strict=True)
    )
    shocked = squares - residual**2 / own, log_weight - np.log(own) / 2 + np.log(LEFT)
    step = step - common**2 / own
    steps = steps - common * residual / own
    least = threshold, floor
    return (
        _log_evidence(steps, step, *shocked, degrees - 1, *least),
        _log_evidence(lines, line, squares, log_weight, degrees, *least),
    )


def _line_squares(later: Numbers) -> Numbers:
    """Of a whitened line that ends at 1 after so many values."""
    share = 1 - CORRELATIONS
    squares: Numbers = (
        share**2 * (later + 1) * (2 * later + 1) / 6
        + CORRELATIONS * share * (later + 1)
        + CORRELATIONS**2
    ) / (LEFT**2 * later)
    return squares


def _white(values: Numbers) -> Numbers:
    """Without its correlation: a row for each, in deviations of a value."""
    rows = np.empty((len(CORRELATIONS), len(values)))
    rows[:, 0] = values[0]
    rows[:, 1:] = (values[1:] - CORRELATIONS * values[:-1]) / LEFT
    return rows


def _residual(row: Numbers, units: Sequence[Numbers]) -> tuple[Numbers, Numbers]:
    """Rows without their projections on the units, and their lengths."""
    for unit in units:
        row = row - unit * (row * unit).sum(-1, keepdims=True)
    return row, np.sqrt((row * row).sum(-1, keepdims=True))


def _inner(rows: Numbers) -> tuple[Numbers, Numbers]:
    """Products of rows with a whitened step, and with a line that ends at 1."""
    after = rows[:, ::-1].cumsum(-1)[:, ::-1] - rows
    sums = after[:, ::-1].cumsum(-1)[:, ::-1]
    later = np.maximum(np.arange(rows.shape[-1])[::-1], 1)
    step = (rows + (1 - CORRELATIONS) * after) / LEFT
    line = ((1 - CORRELATIONS) * sums + CORRELATIONS * after) / (LEFT * later)
    return step, line


def _log_evidence(
    product: Numbers,
    size: Numbers,
    squares: Numbers,
    log_weight: Numbers,
    degrees: int,
    threshold: float,
    floor: float,
) -> Numbers:
    """From a whitened change's product with the residual, and its sum of squares."""
    size = np.maximum(size, SMALL)
    within = np.maximum(squares - product**2 / size, floor * degrees)
    between = np.maximum(np.abs(product) - threshold * size, 0.0) ** 2 / size
    spread = 1 + SIZE**2 * size
    null = log_weight - degrees / 2 * np.log(within + between)
    changed = (
        log_weight - (np.log(spread) + degrees * np.log(within + between / spread)) / 2
    )
    highest = changed.max(0)
    mixed: Numbers = highest + np.log(np.exp(changed - highest).mean(0)) - null.max(0)
    return mixed


def cleaned(values: Numbers) -> Numbers:
    """With each outlier moved to CLIP deviations.

    The deviation is that of neighbours' differences, which few steps and no drift
    change.
    """
    if len(values) < 2 * FEWEST:
        return values
    spread = NORMAL_MAD * _median(np.abs(values[1:] - values[:-1])) / sqrt(2)
    middle = _running_median(values)
    far = max(CLIP * spread, THRESHOLD)
    moved: Numbers = np.minimum(np.maximum(values, middle - far), middle + far)
    return moved


def _median(values: Numbers) -> float:
    """That of numpy, in a fifth of the time for so few values."""
    ordered, half = np.sort(values), len(values) // 2
    middle = (
        ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2
    )
    return float(middle)


def _running_median(values: Numbers) -> Numbers:
    """Of each value and its neighbours, of which the first and the last have fewer."""
    count = len(values)
    around = np.full((count, 2 * NEIGHBOURS + 1), np.nan)  # NaN is sorted last
    for off in range(-NEIGHBOURS, NEIGHBOURS + 1):
        first, end = max(0, -off), count - max(0, off)
        around[first:end, off] = values[first + off : end + off]
    around.sort(-1)
    at = np.arange(count)
    present = 1 + np.minimum(at, NEIGHBOURS) + np.minimum(at[::-1], NEIGHBOURS)
    middle: Numbers = (around[at, (present - 1) // 2] + around[at, present // 2]) / 2
    return middle


def signals(
    values: Sequence[float],
    limits: Sequence[float] | None = None,
    threshold: float = THRESHOLD,
    floor: float = EXACT,
) -> tuple[list[Signal], list[Segment]]:
    """All of a series, in the order of the looks, and the segments that stand.

    `limits` has the logarithm of the evidence that confirms at each look; by default,
    that of a single series. No variance is taken to be below `floor`.
    """
    limits = limits or [log_limit(1)] * len(values)
    watch = Watch(np.asarray(values, float), limits, threshold, max(floor, EXACT))
    return list(watch.signals()), watch.segments


def nights_until_sure(values: Sequence[float], start: int, limit: float) -> int | None:
    """Looks from the value at `start` on until one confirms a change, or None."""
    row = np.asarray(values, float)
    watch = Watch(row, [limit] * len(row), THRESHOLD, EXACT)
    for newest in range(start, len(row)):
        finding = watch.look(Segment(0), newest)
        if finding and finding.is_sure:
            return newest + 1 - start
    return None


class Finding(NamedTuple):
    at: int
    kind: Kind
    evidence: float
    is_sure: bool


class Watch(Struct):
    """Looks at a series after each of its values, and keeps the segments."""

    values: Numbers
    limits: Sequence[float]
    threshold: float
    floor: float
    segments: list[Segment] = []

    def signals(self) -> Iterator[Signal]:
        """Look after look."""
        self.segments, suspected = [Segment(0)], None
        for newest in range(2 * FEWEST - 1, len(self.values)):
            if newest % STRIDE and newest < len(self.values) - RECENT:
                continue
            if self._is_gone(newest):
                yield Signal(self.segments.pop().start, newest, "withdrawn")
                suspected = None
            finding = self.look(self.segments[-1], newest)
            if finding and (finding.is_sure or suspected is None):
                at, kind, evident, is_sure = finding
                state: State = "confirmed" if is_sure else "suspected"
                yield Signal(at, newest, state, kind, evident)
                suspected = None if is_sure else at
                if is_sure:
                    self._add(finding)
            elif finding is None and suspected is not None:
                yield Signal(suspected, newest, "withdrawn")
                suspected = None

    def _add(self, finding: Finding) -> None:
        """A drift that begins with its segment is that segment's."""
        at, kind, evident, _ = finding
        last = self.segments[-1]
        if kind != "drift":
            self.segments.append(Segment(at, evident if kind == "step" else 0.0))
        elif at - last.start < LONG:
            self.segments[-1] = last._replace(drift=evident)
        else:
            self.segments.append(Segment(at, 0.0, evident))

    def look(self, segment: Segment, newest: int) -> Finding | None:
        """The change in the values from a segment's start to the newest, if any."""
        first = max(segment.start, newest + 1 - WINDOW)
        if newest + 1 - first < 2 * FEWEST:
            return None
        values = self.values[first : newest + 1]
        part = cleaned(values)
        if not segment.drift and self._glance(part) < GLANCE:
            return None
        count = len(part)
        steps, lines = evidence(part, bool(segment.drift), self.threshold, self.floor)
        steps[: max(FEWEST, count - PLACES)] = steps[-1] = -np.inf
        lines[max(0, count - LONG) :] = -np.inf
        if segment.drift:
            lines[:FEWEST] = -np.inf
        step, line = float(steps.max()), float(lines.max())
        if max(step, line) < SUSPECTED:
            return None
        is_line = line > step
        at = int(lines.argmax()) if is_line else _edge(part, int(steps.argmax()))
        total = float(np.logaddexp.reduce(lines if is_line else steps))
        kind: Kind = ("end" if segment.drift else "drift") if is_line else "step"
        is_ahead = abs(step - line) >= (SUSPECTED if is_line else CLEAR)
        is_sure = total >= self.limits[newest] and is_ahead
        if is_sure and not is_line:
            is_sure = _step_evidence(values, part, at) >= self.limits[newest] + SPARE
        return Finding(first + at, kind, total if is_sure else max(step, line), is_sure)

    def _glance(self, part: Numbers) -> float:
        """The deviations of the best step, as if neighbours were independent."""
        count = len(part)
        residual = part - part.sum() / count
        places = np.arange(max(FEWEST, count - PLACES), count)
        after = residual[::-1].cumsum()[::-1][places]
        squares = float(residual @ residual)
        between = float((after**2 * count / (places * (count - places))).max())
        within = max(squares - between, self.floor * count)
        return sqrt(between / within * (count - 2))

    def _is_gone(self, newest: int) -> bool:
        *_, before, last = (Segment(0, drift=1.0), *self.segments)
        if before.drift or last.drift:
            return False
        old = np.median(self.values[before.start : last.start])
        new = np.median(self.values[last.start : newest + 1])
        return abs(float(new - old)) < self.threshold


def _edge(values: Numbers, at: int) -> int:
    """Where a step begins: the value at its place, a shock, may be of the level before
    it."""
    before, after = values[:at].mean(), values[at + 1 :].mean()
    return at + int(abs(values[at] - before) < abs(values[at] - after))


def _step_evidence(values: Numbers, part: Numbers, at: int) -> float:
    """How unlikely it is that so many sessions are beyond half of a step, minus the
    logarithm, if they are at the rate of those before (by Laplace's rule of succession;
    Chernoff, Annals of Mathematical Statistics 23, 1952). Bad nights are no level."""
    before, after = part[:at].mean(), part[at:].mean()
    beyond = (values - before) * np.sign(after - before) > abs(after - before) / 2
    usual = (1 + int(beyond[:at].sum())) / (2 + at)
    share, count = float(beyond[at:].mean()), len(values) - at
    if share <= usual:
        return 0.0
    low = (1 - share) * log((1 - share) / (1 - usual)) if share < 1 else 0.0
    return count * (share * log(share / usual) + low)
