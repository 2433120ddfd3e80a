"""The history of a plan's cells: read, parted into series, and analysed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import chain
from math import exp, expm1, log1p, sqrt
from statistics import fmean, median
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from ioplan.core.grouping import grouped
from ioplan.core.statistics.student_t import quantile
from ioplan.language.metric import Metric
from ioplan.results.compare.noise import BUCKET, EXACT
from ioplan.results.history.model import (
    Change,
    History,
    Level,
    Point,
    Series,
    SignalEntry,
)
from ioplan.results.history.monitor import (
    CLIP,
    FEWEST,
    NORMAL_MAD,
    Numbers,
    Segment,
    cleaned,
    log_limit,
    signals,
)
from ioplan.results.history.sessions import (
    DEFAULT_BY,
    Cell,
    SessionFigures,
    changed,
    read_sessions,
    values_of,
)
from ioplan.results.measure.metrics import more_is_better
from ioplan.results.store.store import Store

NEWEST = 100
"""Of so many sessions all cells are read, to count those that share the budget."""
SUMMARY = "all cells"
FEWEST_CELLS = 3
"""A summary of fewer cells adds nothing to them."""


class Question(Struct, frozen=True):
    """Which series: the metrics, the cells, and what parts and narrows the sessions.

    Of a seek's axis, higher is better unless it is one of `lowest`.
    """

    metrics: tuple[Metric, ...] = (Metric(name="iops"),)
    by: tuple[str, ...] = DEFAULT_BY
    only: Mapping[str, str] = {}
    wanted: Callable[[Cell], bool] | None = None
    kind: str = "run"
    lowest: frozenset[str] = frozenset()
    threshold_percent: float = 1.0


def history(
    store: Store, plan: str, run_ids: Sequence[str], question: Question
) -> History:
    ids = list(dict.fromkeys(run_ids))
    names = store.ids_that_did(ids)
    metrics, kind = question.metrics, question.kind
    sessions, cells = read_sessions(store, names[-NEWEST:], ids, metrics, kind)
    chosen = [c for c in cells if not question.wanted or question.wanted(c)]
    if older := names[:-NEWEST]:
        ids = list(dict.fromkeys(cell.run_id for cell in chosen))
        sessions = [*read_sessions(store, older, ids, metrics, kind)[0], *sessions]
    return history_of(plan, sessions, chosen, len(cells), question)


def history_of(
    plan: str,
    sessions: Sequence[SessionFigures],
    cells: Sequence[Cell],
    cell_count: int,
    question: Question,
) -> History:
    """The series of these cells, out of so many that share the budget."""
    fitting = (
        session
        for session in sessions
        if all(text in session.conditions[n] for n, text in question.only.items())
    )
    groups = grouped(fitting, lambda s: tuple(s.conditions[n] for n in question.by))
    in_group = cell_count + (cell_count >= FEWEST_CELLS)
    watched = max(1, len(question.metrics) * len(groups) * in_group)
    series = (
        _series(metric, group, own, cells, watched, question)
        for metric in question.metrics
        for group, own in groups.items()
    )
    return History(
        plan=plan,
        by=question.by,
        sessions=sum(map(len, groups.values())),
        series=tuple(chain.from_iterable(series)),
        watched=watched,
        threshold_percent=question.threshold_percent,
    )


def _series(
    metric: Metric,
    group: tuple[str, ...],
    sessions: Sequence[SessionFigures],
    cells: Sequence[Cell],
    watched: int,
    question: Question,
) -> Iterator[Series]:
    """A summary, then the cells."""
    is_highest = bool(metric.sought) and str(metric) not in question.lowest
    limits = SeriesLimits(
        watched,
        threshold=log1p(question.threshold_percent / 100),
        floor=BUCKET**2 / 12 if metric.percent is not None else EXACT,
        more_is_better=is_highest or more_is_better(metric),
    )
    about: dict[str, Any] = {"group": dict(zip(question.by, group, strict=True))}
    about |= {"metric": str(metric), "unit": metric.unit}
    rows = [values_of(sessions, str(metric), cell) for cell in cells]
    if len(cells) >= FEWEST_CELLS:
        cells, rows = [Cell(None, "", SUMMARY, ()), *cells], [_summary(rows), *rows]
    for cell, pairs in zip(cells, rows, strict=True):
        if pairs:
            places, logs = zip(*pairs, strict=True)
            place = {"test": cell.test, "cell": dict(cell.cell), "run_id": cell.run_id}
            of_series = [sessions[at] for at in places]
            yield analyse({**about, **place}, of_series, logs, limits)


def _summary(
    values: Sequence[Sequence[tuple[int, float]]],
) -> list[tuple[int, float]]:
    """The mean of all cells; where a session lacks some, that of the others."""
    deviations: dict[int, list[float]] = {}
    middles = []
    for cell in filter(None, values):
        middles.append(median(value for _, value in cell))
        for place, value in cell:
            deviations.setdefault(place, []).append(value - middles[-1])
    level = fmean(middles) if middles else 0.0
    return [(place, level + fmean(deviations[place])) for place in sorted(deviations)]


# The levels and changes of a series, from its values as logarithms.

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

    watched: int
    threshold: float
    floor: float
    more_is_better: bool


def analyse(
    about: Mapping[str, Any],
    sessions: Sequence[SessionFigures],
    values: Sequence[float],
    limits: SeriesLimits,
) -> Series:
    """The series of these sessions; `about` has its names."""
    evidence_limits = _limits(tuple(own.at for own in sessions), limits.watched)
    looks, segments = signals(values, evidence_limits, limits.threshold, limits.floor)
    fits, names = _fits(values, segments), [own.session for own in sessions]
    noise = _noise(fits, limits) if len(values) >= LEAST else None
    return Series(
        **about,
        points=tuple(_points(sessions, values)),
        levels=tuple(_level(fit, noise) for fit in fits),
        changes=tuple(
            _changes(fits, noise, sessions, limits.more_is_better) if noise else ()
        ),
        noise_percent=100 * expm1(noise.deviation) if noise else None,
        correlation=noise.correlation if noise else None,
        is_accounted_for=noise is None or noise.is_modelled,
        signals=tuple(
            SignalEntry(session=names[own.at], seen=names[own.seen], state=own.state)
            for own in looks
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
    for before, session, value in zip(
        [*sessions[:1], *sessions], sessions, values, strict=False
    ):
        others = changed(before.conditions, session.conditions)
        place = {"session": session.session, "at": session.at}
        yield Point.complete({**place, "value": exp(value), "changed": others})


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
    total = sum(lag**2 / (count - k) for k, lag in enumerate(at_lags, 1))
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


def _changes(
    fits: Sequence[Fit],
    noise: Noise,
    sessions: Sequence[SessionFigures],
    more_is_better: bool,
) -> Iterator[Change]:
    """Steps between levels, and drifts; the end of a drift is no change."""
    last = None
    for fit in fits:
        segment, own = fit.segment, noise.of_mean(fit.count)
        moves: list[tuple[Literal["step", "drift"], float, float, float]] = []
        if segment.step and last:
            variance = own + noise.of_mean(last.count)
            moves.append(("step", segment.step, last.last, variance))
        if segment.drift:
            moves.append(("drift", segment.drift, fit.first, 12 * own))
        last, start = fit, sessions[segment.start]
        for kind, evidence, before, variance in moves:
            after, others, off = fit.last, tuple[str, ...](), 0
            if kind == "step":
                after, (others, off) = fit.first, _others(sessions, segment.start)
            half, change = noise.half_interval(variance), after - before
            yield Change(
                kind=kind,
                point=segment.start,
                session=start.session,
                at=start.at,
                before=exp(before),
                after=exp(after),
                ratio=exp(change),
                low=exp(change - half),
                high=exp(change + half),
                chance=exp(-evidence),
                verdict="better" if (after > before) == more_is_better else "worse",
                with_it=others,
                with_it_off=off,
            )


def _others(sessions: Sequence[SessionFigures], at: int) -> tuple[tuple[str, ...], int]:
    """What else changed at that session or next to it, and how many sessions off."""
    for off in NEAR:
        if 0 < at + off < len(sessions):
            before, after = sessions[at + off - 1 : at + off + 1]
            if others := changed(before.conditions, after.conditions):
                return others, off
    return (), 0
