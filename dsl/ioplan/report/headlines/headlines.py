"""Which figures of a test are its headlines: the shape of its matrix decides.

| what the cells differ in | headlines |
|---|---|
| nothing | throughput and its spread over time, worst second, p99, p99.99 |
| the load: queue depth, threads | highest throughput, latency at the lowest load |
| the kind: reads, writes, a mix | the same of each kind, those of one direction first |
| sizes on both sides of 64 KiB | highest IOPS and highest throughput |
| something else | the best and the worst cell |
| the rate | latency at the highest and at the lowest |
| a seek's axis | what was found, and what was measured there |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, islice

from msgspec.structs import replace

from ioplan.backends import BackendError, find
from ioplan.language.metric import HOST
from ioplan.language.plan import Test
from ioplan.report.headlines.figures import Figures
from ioplan.report.headlines.headline import MOST, Headline
from ioplan.report.headlines.places import (
    access,
    is_rated,
    last_alike,
    load,
    purity,
    rates_of,
)
from ioplan.report.points import Point
from ioplan.report.reader import Reader

TAIL, FURTHER = "p99", ("p99.99", "p99.9")
"""Of what lies further out only the one that enough I/Os lie beyond."""
MOST_HOST = 2
"""Figures of the host: of CPU time and power."""
Lines = Iterator[Headline]


def headlines(
    points: Sequence[Point], reader: Reader, test: Test | None = None
) -> tuple[Headline, ...]:
    """The headlines of one test in one session, the most important first.

    Cells that failed or were not measured have none. What the plan's charts show of the
    host is known with the `test` only. Raises StoreError.
    """
    shown = last_alike([one for one in points if one.runs and not one.failed])
    lost = [one for one in points if one.failed]
    found = islice(_headlines(Figures(shown, reader, [*shown, *lost]), test), MOST)
    simulated = any(_is_virtual(run.backend.name) for p in shown for run in p.runs)
    return tuple(replace(one, is_simulated=simulated) for one in found)


@cache
def _is_virtual(backend: str) -> bool:
    """Whether a backend simulates; one that is not installed here does not."""
    try:
        return find(backend).virtual_time
    except BackendError:
        return False


def _headlines(figures: Figures, test: Test | None) -> Lines:
    points = figures.points
    if any(point.runs[-1].found for point in points):
        yield from _sought(figures)
    elif points and all(map(is_rated, points)):
        yield from _rated(figures)
    elif len(points) == 1:
        yield from _single(figures, points[0], test)
    elif points:
        yield from _swept(figures)


def _sought(figures: Figures) -> Lines:
    """What was found, and what was measured there."""
    if best := figures.best_found():
        yield figures.found(best)
        yield from figures.each_at(best, rates_of([best])[0])
        yield from _tails(figures, best)


def _rated(figures: Figures) -> Lines:
    """Of a load that the plan sets, latency is what is asked."""
    points = figures.points
    most = figures.best("iops", points, max)
    least = figures.best("iops", points, min)
    if most:
        yield from figures.each_at(most, "mean")
        yield from _tails(figures, most)
    if least and least is not most:
        yield from figures.each_at(least, "p99")


def _single(figures: Figures, point: Point, test: Test | None) -> Lines:
    """One cell: what it does over time, and what the plan's charts ask of the host."""
    over_time = figures.over_time(rates_of([point])[0], point)
    yield from islice(over_time, 1)
    yield from islice(figures.each_at(point, *_charted(test)), MOST_HOST)
    if load(point) == 1:
        yield from figures.each_at(point, "mean")
    else:
        yield from over_time
    yield from _tails(figures, point)


def _charted(test: Test | None) -> list[str]:
    """What the charts of a plan show of the host."""
    charts = test.charts if test else ()
    named = (metric.name for chart in charts for metric in chart.metrics)
    return [name for name in dict.fromkeys(named) if name in HOST]


def _swept(figures: Figures) -> Lines:
    """Several cells, of one kind or of several; of these two have room."""
    kinds: dict[str, list[Point]] = {}
    for point in figures.points:
        kinds.setdefault(access(point), []).append(point)
    if len(kinds) > 1:
        pure_first = sorted(kinds, key=purity)
        yield from _kinds(figures, [kinds[kind] for kind in pure_first])
    elif len(set(map(load, figures.points))) > 1:
        yield from _over_load(figures)
    else:
        yield from _over_something(figures)


def _kinds(figures: Figures, groups: Sequence[list[Point]]) -> Lines:
    """Throughput of two kinds and their latency at QD 1; then what else has room."""
    first, others = groups[:2], groups[2:]
    rates = [figures.extreme(rates_of(group)[0], group) for group in first]
    quiet = [figures.extreme("mean", _alone(group), min) for group in first]
    only_alone = len(_alone(figures.points)) == len(figures.points)
    yield from chain(*quiet, *rates) if only_alone else chain(*rates, *quiet)
    for group in first:
        for rate in rates_of(group)[1:]:
            yield from figures.extreme(rate, group)
    for group in others:
        yield from figures.extreme(rates_of(group)[0], group)


def _alone(points: Sequence[Point]) -> list[Point]:
    """Those with one I/O at a time: their latency is the drive's own."""
    return [point for point in points if load(point) == 1]


def _over_load(figures: Figures) -> Lines:
    """How much it takes, and how fast it is with little to do."""
    least = min(map(load, figures.points))
    quiet = [point for point in figures.points if load(point) == least]
    for rate in rates_of(figures.points):
        yield from figures.extreme(rate, figures.points)
    yield from figures.extreme("mean", quiet, min)
    yield from _tails(figures, figures.best("mean", quiet, min))


def _over_something(figures: Figures) -> Lines:
    """The best cell and the worst; of small and large sizes neither is any worse."""
    points, rates = figures.points, rates_of(figures.points)
    if len(rates) > 1:
        for rate in rates:
            yield from figures.extreme(rate, points)
        yield from figures.extreme("mean", points, min)
        yield from _tails(figures, figures.best("mean", points, min))
        return
    name, good, bad = (rates[0], max, min)
    if len(_alone(points)) == len(points):
        name, good, bad = ("mean", min, max)
    yield from figures.extreme(name, points, good)
    yield from figures.extreme(name, points, bad)
    yield from _tails(figures, figures.best(name, points, bad))


def _tails(figures: Figures, point: Point | None) -> Lines:
    if point:
        yield from figures.each_at(point, TAIL)
        yield from islice(figures.each_at(point, *FURTHER), 1)
