"""The levels and changes of a series, from its values as logarithms."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from math import exp, expm1, sqrt
from typing import Any, Literal, NamedTuple

import numpy as np
from msgspec import Struct

from ioplan.core.statistics.student_t import quantile
from ioplan.results.history.model import Change, Level, Point, Series, SignalEntry
from ioplan.results.history.monitor import (
    CLIP,
    EXACT,
    FEWEST,
    NORMAL_MAD,
    THRESHOLD,
    Numbers,
    Segment,
    cleaned,
    log_limit,
    signals,
)
from ioplan.results.history.sessions import SessionFigures, changed

YEAR = timedelta(days=365)
NEAR = (0, -1, 1)
"""A change is placed to a session or so: other changes are looked for there."""
LEAST = 2 * FEWEST
TOO_FEW = f"fewer than {LEAST} sessions: no change can be called"
CONFIDENCE = 0.975
MOST_CORRELATED = 0.95
"""The highest correlation that is modelled: beyond it, wandering looks like changes."""
LITTLE, HEAVY = 0.3, 0.02
"""Beyond LITTLE correlation, a HEAVY share of shocks beyond CLIP deviations is not
modelled; 0.3 % of normal ones are."""
LAGS, SESSIONS_A_LAG, FAR = 10, 5, 3.09
"""Residuals are tested at so many lags, at 0.1 %."""


class SeriesLimits(Struct, frozen=True):
    """Out of how many series one is, and what counts as a change in it."""

    watched: int = 1
    threshold: float = THRESHOLD
    floor: float = EXACT
    more_is_better: bool = True


def analyse(
    about: Mapping[str, Any],
    sessions: Sequence[SessionFigures],
    values: Sequence[float],
    limits: SeriesLimits,
) -> Series:
    """The series of these sessions; `about` has its names."""
    evidence_limits = _limits(tuple(one.at for one in sessions), limits.watched)
    looks, segments = signals(values, evidence_limits, limits.threshold, limits.floor)
    fits = _fits(values, segments)
    noise = _noise(fits, limits) if len(values) >= LEAST else None
    return Series(
        **about,
        points=tuple(_points(sessions, values)),
        levels=tuple(_level(fit, noise) for fit in fits),
        changes=tuple(
            _change(move, sessions, limits.more_is_better)
            for move in (_moves(fits, noise) if noise else ())
        ),
        noise_percent=100 * expm1(noise.deviation) if noise else None,
        correlation=noise.correlation if noise else None,
        is_accounted_for=noise is None or noise.is_modelled,
        signals=tuple(
            SignalEntry(
                session=sessions[look.at].session,
                seen=sessions[look.seen].session,
                state=look.state,
            )
            for look in looks
        ),
        why="" if noise else TOO_FEW,
    )


@lru_cache(8)
def _limits(starts: tuple[str, ...], watched: int) -> tuple[float, ...]:
    """The evidence that confirms a change at each look, by the looks of a year.

    Most series are of the same sessions.
    """
    times = [datetime.fromisoformat(at).replace(tzinfo=None) for at in starts]
    looks = (
        place + 1 - bisect_left(times, time - YEAR, hi=place)
        for place, time in enumerate(times)
    )
    return tuple(log_limit(watched, count) for count in looks)


def _points(
    sessions: Sequence[SessionFigures], values: Sequence[float]
) -> Iterator[Point]:
    before = sessions[0].conditions if sessions else {}
    for session, value in zip(sessions, values, strict=True):
        fields: dict[str, Any] = {"session": session.session, "at": session.at}
        fields["value"] = exp(value)
        fields["changed"] = changed(before, session.conditions)
        before = session.conditions
        yield Point.complete(fields)


class Fit(Struct, frozen=True):
    """The level or line through the sessions of a segment, and the residuals."""

    segment: Segment
    residuals: Numbers
    first: float
    last: float

    @property
    def count(self) -> int:
        return len(self.residuals)


def _fits(values: Sequence[float], segments: Sequence[Segment]) -> list[Fit]:
    ends = [*(segment.start for segment in segments[1:]), len(values)]
    return [
        _fit(segment, cleaned(np.asarray(values[segment.start : end])))
        for segment, end in zip(segments, ends, strict=True)
        if end > segment.start
    ]


def _fit(segment: Segment, values: Numbers) -> Fit:
    at = np.arange(len(values)) - (len(values) - 1) / 2
    slope = float(at @ values / (at @ at)) if segment.drift else 0.0
    line = values.mean() + slope * at
    return Fit(segment, values - line, float(line[0]), float(line[-1]))


class Noise(Struct, frozen=True):
    """Of sessions around their levels; `is_modelled` if false alarms are bounded."""

    deviation: float
    correlation: float
    degrees: float
    is_modelled: bool

    def half_interval(self, variance: float) -> float:
        """Of an estimate with so many variances of a session."""
        t = quantile(CONFIDENCE, max(1.0, round(self.degrees, 1)))
        return t * self.deviation * sqrt(variance)

    def of_mean(self, count: int) -> float:
        """The variance of a mean, in variances of a session (Bartlett 1946)."""
        return _inflation(count, self.correlation) / count


def _inflation(count: int, correlation: float) -> float:
    missing = (1 - correlation**count) / (count * (1 - correlation))
    return 1 + 2 * correlation / (1 - correlation) * (1 - missing)


def _noise(fits: Sequence[Fit], limits: SeriesLimits) -> Noise:
    """The correlation of neighbours is corrected for its bias in a short series
    (Marriott and Pope, Biometrika 41, 1954)."""
    residuals = np.concatenate([fit.residuals for fit in fits])
    squares, count = float(residuals @ residuals), len(residuals)
    observed = 0.0
    if squares > limits.floor * count:
        observed = float(residuals[1:] @ residuals[:-1]) / squares
    correlation = min(max(0.0, observed + (1 + 4 * observed) / count), MOST_CORRELATED)
    left = sum(fit.count - _inflation(fit.count, correlation) for fit in fits)
    left = max(left, 1 / count)
    degrees = left * (1 - correlation**2) / (1 + correlation**2)
    shocks = residuals[1:] - correlation * residuals[:-1]
    deviation = sqrt(max(squares / left, limits.floor))
    is_small = CLIP * deviation < limits.threshold  # which cannot look like a change
    is_modelled = is_small or (correlation < MOST_CORRELATED and _is_white(shocks))
    is_heavy = correlation > LITTLE and _has_heavy_tails(shocks)
    return Noise(deviation, correlation, degrees, is_modelled and not is_heavy)


def _has_heavy_tails(values: Numbers) -> bool:
    sizes = np.abs(values)
    return bool((sizes > CLIP * NORMAL_MAD * np.median(sizes)).mean() > HEAVY)


def _is_white(values: Numbers) -> bool:
    """Whether there is no correlation at any lag (Ljung and Box, Biometrika 65, 1978;
    the quantile of chi squared is that of Wilson and Hilferty)."""
    count = len(values)
    lags = min(LAGS, count // SESSIONS_A_LAG)
    if lags < 2:
        return True
    squares = float(values @ values)
    at_lags = [float(values[k:] @ values[:-k]) / squares for k in range(1, lags + 1)]
    total = sum(one**2 / (count - k) for k, one in enumerate(at_lags, 1))
    share = 2 / (9 * lags)
    return count * (count + 2) * total <= lags * (1 - share + FAR * sqrt(share)) ** 3


def _level(fit: Fit, noise: Noise | None) -> Level:
    half = noise.half_interval(1 + noise.of_mean(fit.count)) if noise else 0.0
    return Level(
        first=fit.segment.start,
        last=fit.segment.start + fit.count - 1,
        began=exp(fit.first),
        value=exp(fit.last),
        low=exp(fit.last - half),
        high=exp(fit.last + half),
    )


class Move(NamedTuple):
    kind: Literal["step", "drift"]
    at: int
    evidence: float
    before: float
    after: float
    half: float


def _moves(fits: Sequence[Fit], noise: Noise) -> Iterator[Move]:
    """Steps between levels, and drifts; the end of a drift is no change."""
    for number, fit in enumerate(fits):
        segment, own = fit.segment, noise.of_mean(fit.count)
        if segment.step:
            last = fits[number - 1]
            half = noise.half_interval(own + noise.of_mean(last.count))
            at, evidence = segment.start, segment.step
            yield Move("step", at, evidence, last.last, fit.first, half)
        if segment.drift:
            half = noise.half_interval(12 * own)
            at, evidence = segment.start, segment.drift
            yield Move("drift", at, evidence, fit.first, fit.last, half)


def _change(
    move: Move, sessions: Sequence[SessionFigures], more_is_better: bool
) -> Change:
    is_step = move.kind == "step"
    others, sessions_off = _other_changes(sessions, move.at) if is_step else ((), 0)
    difference = move.after - move.before
    return Change(
        kind=move.kind,
        point=move.at,
        session=sessions[move.at].session,
        at=sessions[move.at].at,
        before=exp(move.before),
        after=exp(move.after),
        ratio=exp(difference),
        low=exp(difference - move.half),
        high=exp(difference + move.half),
        chance=exp(-move.evidence),
        verdict="better" if (difference > 0) == more_is_better else "worse",
        with_it=others,
        with_it_off=sessions_off,
    )


def _other_changes(
    sessions: Sequence[SessionFigures], at: int
) -> tuple[tuple[str, ...], int]:
    """What else changed at that session or next to it, and how many sessions off."""
    for off in NEAR:
        if 0 < at + off < len(sessions):
            before, after = sessions[at + off - 1 : at + off + 1]
            if others := changed(before.conditions, after.conditions):
                return others, off
    return (), 0
