"""A series' levels and changes, from its values as logarithms."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from math import exp, expm1, sqrt
from statistics import fmean
from typing import Any

from ioplan.core.statistics.shared_variance import Variance
from ioplan.results.compare.evidence import log_limit
from ioplan.results.history.model import Change, Level, Point, Series, SignalEntry
from ioplan.results.history.monitor import GUARD, Signal, confirmed, signals, student
from ioplan.results.history.visits import Visit, changed

SAME = 8
YEAR = timedelta(days=365)
FEWEST = 2 * GUARD
NEAR = (0, -1, 1)
"""A change is placed to a session or so: what else changed is looked for there."""
TOO_FEW = f"fewer than {FEWEST} sessions: no change can be called"


def analysed(
    about: dict[str, Any],
    visits: Sequence[Visit],
    values: Sequence[float],
    prior: Variance | None,
    floor: float,
    more_is_better: bool,
    watched: int = 1,
) -> Series:
    """A series of these sessions, one of so many; `about` has what it is of."""
    limits = _limits(tuple([visit.at for visit in visits]), watched)
    seen = signals(values, prior, floor, limits)
    found = confirmed(seen)
    ends = [0, *(one.at for one in found), len(values)]
    noise = _noise(values, ends, prior, floor)
    levels = tuple(_level(values, *edge, noise) for edge in pairwise(ends))
    return Series(
        **about,
        points=tuple(_points(visits, values)),
        levels=levels,
        changes=tuple(_changes(visits, values, ends, found, noise, more_is_better)),
        noise_percent=100 * expm1(sqrt(noise.value)) if noise else None,
        signals=tuple(_entries(visits, seen)),
        why=TOO_FEW if len(values) < FEWEST else "",
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


def _noise(
    values: Sequence[float], ends: Sequence[int], prior: Variance | None, floor: float
) -> Variance | None:
    """Within the levels, together with what others have shown."""
    squares = degrees = 0.0
    for first, last in pairwise(ends):
        mean = fmean(values[first:last]) if last > first else 0.0
        squares += sum((value - mean) ** 2 for value in values[first:last])
        degrees += max(0, last - first - 1)
    if prior:
        squares, degrees = (
            squares + prior.value * prior.degrees,
            degrees + prior.degrees,
        )
    return Variance(max(squares / degrees, floor), degrees) if degrees else None


def _half(noise: Variance, share: float) -> float:
    """Half of an interval for what has so much of the variance of a session."""
    return student(round(noise.degrees, 1)) * sqrt(noise.value * share)


def _level(
    values: Sequence[float], first: int, last: int, noise: Variance | None
) -> Level:
    part = values[first:last]
    mean = fmean(part)
    half = _half(noise, 1 + 1 / len(part)) if noise else 0.0
    return Level(
        first=first,
        last=last - 1,
        value=exp(mean),
        low=exp(mean - half),
        high=exp(mean + half),
    )


def _changes(
    visits: Sequence[Visit],
    values: Sequence[float],
    ends: Sequence[int],
    found: Sequence[Signal],
    noise: Variance | None,
    more_is_better: bool,
) -> Iterator[Change]:
    for one, (first, at, last) in zip(found, _triples(ends), strict=True):
        before, after = fmean(values[first:at]), fmean(values[at:last])
        half = _half(noise, 1 / (at - first) + 1 / (last - at)) if noise else 0.0
        with_it, off = _beside(visits, at)
        yield Change(
            point=at,
            session=visits[at].session,
            at=visits[at].at,
            before=exp(before),
            after=exp(after),
            ratio=exp(after - before),
            low=exp(after - before - half),
            high=exp(after - before + half),
            chance=exp(-one.evidence),
            verdict="better" if (after > before) == more_is_better else "worse",
            with_it=with_it,
            with_it_off=off,
        )


def _triples(ends: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    for (first, at), (_, last) in pairwise(pairwise(ends)):
        yield first, at, last


def _beside(visits: Sequence[Visit], at: int) -> tuple[tuple[str, ...], int]:
    """What else changed there, or next to it, and how many sessions off."""
    for off in NEAR:
        if 0 < at + off < len(visits):
            before, after = visits[at + off - 1], visits[at + off]
            if found := changed(before.conditions, after.conditions):
                return found, off
    return (), 0
