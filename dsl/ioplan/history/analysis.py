"""A series' levels and changes, from its values as logarithms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from math import exp, expm1, sqrt
from statistics import fmean
from typing import Any

from ioplan.core.shared_variance import Variance
from ioplan.core.student_t import quantile
from ioplan.history.change_points import ChangePoint, change_points
from ioplan.history.conditions import changed
from ioplan.history.cuts import GUARD
from ioplan.history.model import Change, Level, Point, Series
from ioplan.history.visits import Visit

CONFIDENCE = 0.95
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
) -> Series:
    """A series of these sessions; `about` has what it is of."""
    found = change_points(values, prior, floor)
    ends = [0, *(one.at for one in found), len(values)]
    noise = _noise(values, ends, prior, floor)
    levels = tuple(_level(values, *edge, noise) for edge in pairwise(ends))
    return Series(
        **about,
        points=tuple(_points(visits, values)),
        levels=levels,
        changes=tuple(_changes(visits, values, ends, found, noise, more_is_better)),
        noise_percent=100 * expm1(sqrt(noise.value)) if noise else None,
        outside=_outside(values, levels, noise),
        why=TOO_FEW if len(values) < FEWEST else "",
    )


def _points(visits: Sequence[Visit], values: Sequence[float]) -> Iterator[Point]:
    before = visits[0].conditions if visits else {}
    for visit, value in zip(visits, values, strict=True):
        differs = changed(before, visit.conditions)
        before = visit.conditions
        yield Point(
            session=visit.session, at=visit.at, value=exp(value), changed=differs
        )


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
    return _student(round(noise.degrees, 1)) * sqrt(noise.value * share)


@lru_cache(4096)
def _student(degrees: float) -> float:
    """It is found by bisection, and asked for in every series again."""
    return quantile((1 + CONFIDENCE) / 2, degrees)


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
    found: Sequence[ChangePoint],
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
            chance=one.chance,
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


def _outside(
    values: Sequence[float], levels: Sequence[Level], noise: Variance | None
) -> int:
    """Of the newest values, which the level does not cover yet, those beyond it."""
    if noise is None or not levels:
        return 0
    known = values[levels[-1].first :]
    for count in range(GUARD, 0, -1):
        before, newest = known[:-count], known[-count:]
        if len(before) >= GUARD:
            half = _half(noise, 1 + 1 / len(before))
            off = [value - fmean(before) for value in newest]
            if all(one > half for one in off) or all(one < -half for one in off):
                return count
    return 0
