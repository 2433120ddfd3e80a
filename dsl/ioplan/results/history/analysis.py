"""A series' levels and changes, from its values as logarithms."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from math import exp, expm1, sqrt
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from ioplan.core.statistics.student_t import quantile
from ioplan.results.history.limits import log_limit
from ioplan.results.history.model import Change, Level, Point, Series, SignalEntry
from ioplan.results.history.monitor import (
    CLIP,
    FEWEST,
    NORMAL_MAD,
    THRESHOLD,
    Numbers,
    Segment,
    Signal,
    cleaned,
    signals,
)
from ioplan.results.history.visits import Visit, changed

SAME = 8
YEAR = timedelta(days=365)
NEAR = (0, -1, 1)
"""A change is placed to a session or so: what else changed is looked for there."""
LEAST = 2 * FEWEST
TOO_FEW = f"fewer than {LEAST} sessions: no change can be called"
CONFIDENCE = 0.975
MOST_CORRELATED = 0.95
"""So much is accounted for: beyond it, wandering and changes are not told apart."""
LITTLE, HEAVY = 0.3, 0.02
"""Beyond so much correlation, a share of shocks beyond CLIP deviations; 0.3 % of normal
ones are."""
LAGS, SESSIONS_A_LAG, FAR = 10, 5, 3.09
"""What is left of the noise is tested at so many lags, at 0.1 %."""


def analysed(
    about: dict[str, Any],
    visits: Sequence[Visit],
    values: Sequence[float],
    floor: float,
    more_is_better: bool,
    watched: int = 1,
    threshold: float = THRESHOLD,
) -> Series:
    """A series of these sessions, one of so many; `about` has what it is of."""
    limits = _limits(tuple([visit.at for visit in visits]), watched)
    looks, segments = signals(values, limits, threshold, floor)
    parts = _parts(values, segments)
    noise = _noise(parts, floor, threshold) if len(values) >= LEAST else None
    return Series(
        **about,
        points=tuple(_points(visits, values)),
        levels=tuple(_level(part, noise) for part in parts),
        changes=tuple(_changes(visits, parts, noise, more_is_better)),
        noise_percent=100 * expm1(noise.deviation) if noise else None,
        correlation=noise.correlation if noise else None,
        is_accounted_for=noise is None or noise.is_accounted_for,
        signals=tuple(_entries(visits, looks)),
        why=TOO_FEW if len(values) < LEAST else "",
    )


@lru_cache(SAME)
def _limits(starts: tuple[str, ...], watched: int) -> tuple[float, ...]:
    """What evidence confirms at each look: most series are of the same sessions."""
    times = [datetime.fromisoformat(at).replace(tzinfo=None) for at in starts]
    return tuple(log_limit(watched, looks) for looks in _looks(times))


def _looks(times: Sequence[datetime]) -> Iterator[int]:
    """How many sessions there were in the year up to each."""
    for place, time in enumerate(times):
        yield place + 1 - bisect_left(times, time - YEAR, hi=place)


def _entries(visits: Sequence[Visit], found: Sequence[Signal]) -> Iterator[SignalEntry]:
    for one in found:
        yield SignalEntry(
            session=visits[one.at].session,
            seen=visits[one.seen].session,
            state=one.state,
        )


def _points(visits: Sequence[Visit], values: Sequence[float]) -> Iterator[Point]:
    before = visits[0].conditions if visits else {}
    for visit, value in zip(visits, values, strict=True):
        differs = changed(before, visit.conditions)
        before = visit.conditions
        of: dict[str, Any] = {"session": visit.session, "at": visit.at}
        of["value"], of["changed"] = exp(value), differs
        yield Point.complete(of)


class _Part(Struct, frozen=True):
    """Sessions of one segment, and the level or line through them."""

    segment: Segment
    off: Numbers
    first: float
    last: float

    @property
    def count(self) -> int:
        return len(self.off)


def _parts(values: Sequence[float], segments: Sequence[Segment]) -> list[_Part]:
    ends = [*(one.start for one in segments[1:]), len(values)]
    return [
        _part(one, cleaned(np.asarray(values[one.start : end])))
        for one, end in zip(segments, ends, strict=True)
        if end > one.start
    ]


def _part(segment: Segment, values: Numbers) -> _Part:
    """By least squares; outliers are moved before."""
    at = np.arange(len(values)) - (len(values) - 1) / 2
    slope = float(at @ values / (at @ at)) if segment.drift else 0.0
    line = values.mean() + slope * at
    return _Part(segment, values - line, float(line[0]), float(line[-1]))


class _Noise(Struct, frozen=True):
    """Of the sessions around their levels."""

    deviation: float
    correlation: float
    degrees: float
    is_accounted_for: bool

    def half(self, variance: float) -> float:
        """Half of an interval for what has so much of the variance of a session."""
        t = quantile(CONFIDENCE, max(1.0, round(self.degrees, 1)))
        return t * self.deviation * sqrt(variance)

    def of_mean(self, count: int) -> float:
        """The variance of a mean of so many, beside that of one (Bartlett 1946)."""
        return _spread(count, self.correlation) / count


def _spread(count: int, share: float) -> float:
    rest = (1 - share**count) / (count * (1 - share))
    return 1 + 2 * share / (1 - share) * (1 - rest)


def _noise(parts: Sequence[_Part], floor: float, threshold: float) -> _Noise:
    """The correlation of neighbours is corrected for what it is too small by in a short
    series (Marriott and Pope, Biometrika 41, 1954)."""
    off = np.concatenate([part.off for part in parts])
    squares, count = float(off @ off), len(off)
    usual = squares > floor * count
    seen = float(off[1:] @ off[:-1]) / squares if usual else 0.0
    share = min(max(0.0, seen + (1 + 4 * seen) / count), MOST_CORRELATED)
    left = sum(part.count - _spread(part.count, share) for part in parts)
    left = max(left, 1 / count)
    worth = left * (1 - share**2) / (1 + share**2)
    fresh = off[1:] - share * off[:-1]
    deviation = sqrt(max(squares / left, floor))
    known = CLIP * deviation < threshold  # which cannot look like a change
    known = known or (share < MOST_CORRELATED and _is_white(fresh))
    known = known and not (share > LITTLE and _is_heavy(fresh))
    return _Noise(deviation, share, worth, known)


def _is_heavy(values: Numbers) -> bool:
    """Whether tails are too heavy: with correlation, a shock looks like a level."""
    off = np.abs(values)
    return bool((off > CLIP * NORMAL_MAD * np.median(off)).mean() > HEAVY)


def _is_white(values: Numbers) -> bool:
    """Whether nothing is left in it at any lag (Ljung and Box, Biometrika 65, 1978; the
    quantile of chi squared is that of Wilson and Hilferty)."""
    count = len(values)
    lags = min(LAGS, count // SESSIONS_A_LAG)
    if lags < 2:
        return True
    squares = float(values @ values)
    each = [float(values[k:] @ values[:-k]) / squares for k in range(1, lags + 1)]
    total = sum(one**2 / (count - k) for k, one in enumerate(each, 1))
    share = 2 / (9 * lags)
    return count * (count + 2) * total <= lags * (1 - share + FAR * sqrt(share)) ** 3


def _level(part: _Part, noise: _Noise | None) -> Level:
    half = noise.half(1 + noise.of_mean(part.count)) if noise else 0.0
    return Level(
        first=part.segment.start,
        last=part.segment.start + part.count - 1,
        began=exp(part.first),
        value=exp(part.last),
        low=exp(part.last - half),
        high=exp(part.last + half),
    )


def _changes(
    visits: Sequence[Visit],
    parts: Sequence[_Part],
    noise: _Noise | None,
    more_is_better: bool,
) -> Iterator[Change]:
    """Steps between levels, and drifts; where a drift ended is none."""
    for number, part in enumerate(parts):
        at, own = part.segment.start, noise.of_mean(part.count) if noise else 0.0
        if noise and part.segment.step:
            before = parts[number - 1]
            half = noise.half(own + noise.of_mean(before.count))
            yield _change(
                *("step", visits, at, part.segment.step, more_is_better),
                *(before.last, part.first, half),
            )
        if noise and part.segment.drift:
            half = noise.half(12 * own)
            yield _change(
                *("drift", visits, at, part.segment.drift, more_is_better),
                *(part.first, part.last, half),
            )


def _change(
    kind: Literal["step", "drift"],
    visits: Sequence[Visit],
    at: int,
    evidence: float,
    more_is_better: bool,
    before: float,
    after: float,
    half: float,
) -> Change:
    beside, later = _beside(visits, at) if kind == "step" else ((), 0)
    off = after - before
    return Change(
        kind=kind,
        point=at,
        session=visits[at].session,
        at=visits[at].at,
        before=exp(before),
        after=exp(after),
        ratio=exp(off),
        low=exp(off - half),
        high=exp(off + half),
        chance=exp(-evidence),
        verdict="better" if (off > 0) == more_is_better else "worse",
        with_it=beside,
        with_it_off=later,
    )


def _beside(visits: Sequence[Visit], at: int) -> tuple[tuple[str, ...], int]:
    """What else changed there, or next to it, and how many sessions off."""
    for off in NEAR:
        if 0 < at + off < len(visits):
            before, after = visits[at + off - 1], visits[at + off]
            if found := changed(before.conditions, after.conditions):
                return found, off
    return (), 0
