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
from math import log, log1p, sqrt
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ioplan.results.history.limits import SPARE, log_limit

Numbers = NDArray[np.float64]

SIZE = 3.0
"""Changes are expected to be of about so many deviations of a session."""
CORRELATIONS = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98])[:, None]
"""Of a session with the next: a row each."""
LEFT = np.sqrt(1 - CORRELATIONS**2)
THRESHOLD = log1p(0.01)
"""Smaller changes are none."""
EXACT = 1e-12
"""The least variance, a millionth squared: figures are rounded somewhere."""
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

State = Literal["suspected", "confirmed", "withdrawn"]
Kind = Literal["step", "drift", "end"]
"""The end is that of a drift, where the series goes on otherwise."""


class Signal(Struct, frozen=True):
    """What one look changed: a change at `at` has got a state by the value `seen`."""

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
    """Logarithms, for each place, of a step there and of a line that begins there.

    Beside a series without: a level, or a line where it `drifts`. The null hypothesis
    has changes of up to the threshold (Murphy and Myors, Journal of Applied Psychology
    84, 1999), and for a step a single shock at its place, so that what counts is where
    the sessions after it stay, and not the jump (an innovation outlier: Fox, Journal of
    the Royal Statistical Society B 34, 1972).
    """
    count = len(values)
    columns = [np.ones(count), *([np.arange(count) / count] if drifts else [])]
    worth = -(count - 1) * np.log(LEFT)
    units: list[Numbers] = []
    for column in columns:
        row, length = _without(_white(column), units)
        units.append(row / length)
        worth = worth - np.log(length)
    off, length = _without(_white(values), units)
    squares, degrees = length**2, count - len(units)
    later = np.maximum(np.arange(count)[::-1], 1)
    (steps, lines), *others = map(_inner, (off, *units))
    jump = (1 + (1 - CORRELATIONS) ** 2 * later) / LEFT**2
    step = jump - sum(one**2 for one, _ in others)
    line = _line_squares(later) - sum(one**2 for _, one in others)
    # of a step, what a shock at its place does not explain
    own = 1 - sum(unit**2 for unit in units)
    beside = 1 / LEFT - sum(u * one for u, (one, _) in zip(units, others, strict=True))
    shocked = squares - off**2 / own, worth - np.log(own) / 2 + np.log(LEFT)
    step = step - beside**2 / own
    steps = steps - beside * off / own
    least = threshold, floor
    return (
        _log_evidence(steps, step, *shocked, degrees - 1, *least),
        _log_evidence(lines, line, squares, worth, degrees, *least),
    )


def _line_squares(later: Numbers) -> Numbers:
    """Of a whitened line that ends at 1 after so many values."""
    share = 1 - CORRELATIONS
    found: Numbers = (
        share**2 * (later + 1) * (2 * later + 1) / 6
        + CORRELATIONS * share * (later + 1)
        + CORRELATIONS**2
    ) / (LEFT**2 * later)
    return found


def _white(values: Numbers) -> Numbers:
    """Without its correlation: a row for each, in deviations of a value."""
    found = np.empty((len(CORRELATIONS), len(values)))
    found[:, 0] = values[0]
    found[:, 1:] = (values[1:] - CORRELATIONS * values[:-1]) / LEFT
    return found


def _without(row: Numbers, units: Sequence[Numbers]) -> tuple[Numbers, Numbers]:
    """What is left of rows beside the units, and its length."""
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
    worth: Numbers,
    degrees: int,
    threshold: float,
    floor: float,
) -> Numbers:
    """From a whitened change's product with what is left, and its sum of squares."""
    size = np.maximum(size, SMALL)
    within = np.maximum(squares - product**2 / size, floor * degrees)
    between = np.maximum(np.abs(product) - threshold * size, 0.0) ** 2 / size
    spread = 1 + SIZE**2 * size
    none = worth - degrees / 2 * np.log(within + between)
    some = worth - (np.log(spread) + degrees * np.log(within + between / spread)) / 2
    most = some.max(0)
    mixed: Numbers = most + np.log(np.exp(some - most).mean(0)) - none.max(0)
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

    `limits` has the logarithm of what evidence confirms at each look; by default, that
    of one series. No variance is taken to be below `floor`.
    """
    limits = limits or [log_limit(1)] * len(values)
    watch = _Watch(np.asarray(values, float), limits, threshold, max(floor, EXACT))
    return list(watch.signals()), watch.segments


def _edge(values: Numbers, at: int) -> int:
    """Where a step begins: the value at its place, a shock, may be of the level before
    it."""
    before, after = values[:at].mean(), values[at + 1 :].mean()
    return at + int(abs(values[at] - before) < abs(values[at] - after))


def nights_until_sure(
    values: Sequence[float], start: int, limit: float, threshold: float = THRESHOLD
) -> int | None:
    """Looks from the value at `start` on until one confirms a change, or None."""
    each = np.asarray(values, float)
    watch = _Watch(each, [limit] * len(each), threshold, EXACT)
    for seen in range(start, len(each)):
        look = watch.look(Segment(0), seen)
        if look and look.sure:
            return seen + 1 - start
    return None


def _shown(values: Numbers, part: Numbers, at: int) -> float:
    """How unlikely it is that so many sessions are beyond half of a step, minus the
    logarithm, if they are at the rate of those before (by Laplace's rule of succession;
    Chernoff, Annals of Mathematical Statistics 23, 1952). Bad nights are no level."""
    before, after = part[:at].mean(), part[at:].mean()
    beyond = (values - before) * np.sign(after - before) > abs(after - before) / 2
    usual = (1 + int(beyond[:at].sum())) / (2 + at)
    share, count = float(beyond[at:].mean()), len(values) - at
    if share <= usual:
        return 0.0
    off = (1 - share) * log((1 - share) / (1 - usual)) if share < 1 else 0.0
    return count * (share * log(share / usual) + off)


class _Look(NamedTuple):
    at: int
    kind: Kind
    evidence: float
    sure: bool


class _Watch(Struct):
    values: Numbers
    limits: Sequence[float]
    threshold: float
    floor: float
    segments: list[Segment] = []

    def signals(self) -> Iterator[Signal]:
        """Each look in turn."""
        self.segments, suspected = [Segment(0)], None
        for seen in range(2 * FEWEST - 1, len(self.values)):
            if seen % STRIDE and seen < len(self.values) - RECENT:
                continue
            if self._is_gone(seen):
                yield Signal(self.segments.pop().start, seen, "withdrawn")
                suspected = None
            look = self.look(self.segments[-1], seen)
            if look and look.sure:
                yield Signal(look.at, seen, "confirmed", look.kind, look.evidence)
                self._add(look)
                suspected = None
            elif look and suspected is None:
                yield Signal(look.at, seen, "suspected", look.kind, look.evidence)
                suspected = look.at
            elif look is None and suspected is not None:
                yield Signal(suspected, seen, "withdrawn")
                suspected = None

    def _add(self, look: _Look) -> None:
        """A drift that begins with its segment is that segment's."""
        last = self.segments[-1]
        if look.kind != "drift":
            step = look.evidence if look.kind == "step" else 0.0
            self.segments.append(Segment(look.at, step))
        elif look.at - last.start < LONG:
            self.segments[-1] = last._replace(drift=look.evidence)
        else:
            self.segments.append(Segment(look.at, 0.0, look.evidence))

    def look(self, segment: Segment, seen: int) -> _Look | None:
        """What the values from a segment's start to the newest say by themselves."""
        first = max(segment.start, seen + 1 - WINDOW)
        if seen + 1 - first < 2 * FEWEST:
            return None
        values = self.values[first : seen + 1]
        part = cleaned(values)
        if not segment.drift and self._at_a_glance(part) < GLANCE:
            return None
        count = len(part)
        steps, lines = evidence(part, bool(segment.drift), self.threshold, self.floor)
        steps[: max(FEWEST, count - PLACES)] = steps[-1] = -np.inf
        lines[max(0, count - LONG) :] = -np.inf
        if segment.drift:
            lines[:FEWEST] = -np.inf
        best = int(steps.argmax()), int(lines.argmax())
        both = float(steps[best[0]]), float(lines[best[1]])
        if max(both) < SUSPECTED:
            return None
        drifts = both[1] > both[0]
        at = best[1] if drifts else _edge(part, best[0])
        total = float(np.logaddexp.reduce((steps, lines)[drifts]))
        kind: Kind = ("end" if segment.drift else "drift") if drifts else "step"
        ahead = abs(both[0] - both[1]) >= (SUSPECTED if drifts else CLEAR)
        sure = total >= self.limits[seen] and ahead
        if sure and not drifts:
            sure = _shown(values, part, at) >= self.limits[seen] + SPARE
        return _Look(first + at, kind, total if sure else max(both), sure)

    def _at_a_glance(self, part: Numbers) -> float:
        """Of the best step, as if neighbours were independent."""
        count = len(part)
        off = part - part.sum() / count
        places = np.arange(max(FEWEST, count - PLACES), count)
        after = off[::-1].cumsum()[::-1][places]
        squares = float(off @ off)
        between = float((after**2 * count / (places * (count - places))).max())
        rest = max(squares - between, self.floor * count)
        return sqrt(between / rest * (count - 2))

    def _is_gone(self, seen: int) -> bool:
        """Whether the newest step is less than the threshold by now."""
        if len(self.segments) < 2 or self.segments[-1].drift:
            return False
        before, last = self.segments[-2:]
        if before.drift:
            return False
        old, new = (
            self.values[before.start : last.start],
            self.values[last.start : seen + 1],
        )
        return abs(float(np.median(new) - np.median(old))) < self.threshold
