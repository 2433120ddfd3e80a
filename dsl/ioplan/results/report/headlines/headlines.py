"""Which figures of a test are its headlines: those that its plan names, or else a rule.

| the cells | headlines |
|---|---|
| of a seek | what was found, throughput and p99 there |
| of one kind of I/O | mean latency at the lowest load, throughput at the highest, the worst second there, p99 at the lowest load |
| of several kinds | the first two of each of two kinds; those of one direction first |

Load is what is outstanding, or the rate that the plan sets. Of block sizes the smallest
tells latency and IOPS, the largest throughput in bytes; of what else differs the worst.
The latency of what flushes is its commit's; on backends without, its flush's.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from ioplan.core.grouping import grouped
from ioplan.language.plan import Test
from ioplan.results.report.headlines.doubts import NO_DOUBTS, Doubts
from ioplan.results.report.headlines.figures import TestFigures
from ioplan.results.report.headlines.headline import MOST, WORST, Headline
from ioplan.results.report.headlines.places import (
    access,
    does_more,
    flushes,
    is_rated,
    last_alike,
    load,
    mean_bytes,
    purity,
    rate,
    rates_of,
)
from ioplan.results.report.point import Point, is_of, meeting
from ioplan.results.report.reader import Reader

TAIL = "p99"
KINDS = 2
Headlines = Iterator[Headline]
Choice = Callable[[Iterable[Any]], Any]
"""`min` or `max`."""


def headlines(
    points: Sequence[Point],
    reader: Reader,
    test: Test | None = None,
    doubts: Doubts = NO_DOUBTS,
) -> tuple[Headline, ...]:
    """The headlines of one test in one session, the most important first.

    None where no cell has run. `doubts` are those of the session. Raises StoreError.
    """
    measured = last_alike([point for point in points if point.runs])
    if all(point.failed for point in measured):
        return ()
    limits = {line.text: line.metric for line in (test.expectations if test else ())}
    last_steps = [*measured, *(point for point in points if not point.runs)]
    figures = TestFigures(last_steps, reader, doubts, limits=limits)
    if test and test.headlines:
        of_steps = TestFigures([*points], reader, doubts, limits=limits)
        return tuple(_named(figures, of_steps, test))
    return tuple(islice(_by_rule(figures, measured), MOST))


def _named(figures: TestFigures, of_steps: TestFigures, test: Test) -> Headlines:
    """The headlines that the plan names; a named step may be any of a cell's."""
    for line in test.headlines:
        chosen = of_steps if line.metric.step else figures
        points = meeting(chosen.points, line.when, test)
        points = [point for point in points if is_of(line.metric.step, point)]
        if line.metric.sought:
            yield chosen.search()
        else:
            yield from chosen.worst(chosen.scoped(line.metric, points), points)


def _by_rule(figures: TestFigures, points: Sequence[Point]) -> Headlines:
    if any(point.runs[-1].found for point in points):
        yield from _of_search(figures)
        return
    kinds = grouped(points, key=access)
    first = [kinds[kind] for kind in sorted(kinds, key=purity)][:KINDS]
    for group in first:
        yield from _at_lowest_load(figures, group, "mean")
        yield from _at_highest_load(figures, group)
    if len(first) == 1:
        busiest = _loaded(first[0], max)
        yield from figures.worst_interval(rates_of(busiest)[0], busiest)
        yield from _at_lowest_load(figures, first[0], TAIL)


def _of_search(figures: TestFigures) -> Headlines:
    """The result of the search, and what was measured there."""
    result = figures.search()
    yield result
    if result.value is None:
        return
    cell = result.cell.items()
    points = [point for point in figures.points if point.dimensions.items() >= cell]
    yield from figures.worst(figures.metric(rates_of(points)[0], points), points)
    yield from _latency(figures, points, TAIL)


def _at_lowest_load(
    figures: TestFigures, points: Sequence[Point], latency: str
) -> Headlines:
    """A latency at the lowest load, of the smallest blocks."""
    yield from _latency(figures, _of_size(_loaded(points, min), min), latency)


def _latency(figures: TestFigures, points: Sequence[Point], name: str) -> Headlines:
    """The commit's latency where streams flush, and that of what does not wait for it.

    Only some points may flush, so each is asked.
    """
    flushing = [point for point in points if flushes(point)]
    yield from figures.worst(figures.durable(name, flushing), flushing)
    others = [point for point in points if not flushes(point) or does_more(point)]
    yield from figures.worst(figures.metric(name, others), others)


def _at_highest_load(figures: TestFigures, points: Sequence[Point]) -> Headlines:
    """Throughput at the highest load: of small blocks in I/Os, of large in bytes.

    Where the plan sets the rate, the latency at the highest rate.
    """
    busy = _loaded(points, max)
    if all(map(is_rated, busy)) and busy != _loaded(points, min):
        yield from _latency(figures, busy, "mean")
        return
    for name in rates_of(busy):
        sized = _of_size(busy, min if name == "iops" else max)
        yield from figures.worst(figures.metric(name, sized), sized)


def _loaded(points: Sequence[Point], choose: Choice) -> list[Point]:
    loads = [(rate(point), load(point)) for point in points]
    end = choose(loads)
    return [p for p, its_load in zip(points, loads, strict=True) if its_load == end]


def _of_size(points: Sequence[Point], choose: Choice) -> list[Point]:
    end = choose(map(mean_bytes, points))
    return [point for point in points if mean_bytes(point) == end]


BEST: dict[tuple[str, ...], Callable[..., Headline]] = {
    ("iops",): max,
    ("bandwidth",): max,
    ("mean", "commit.mean", "flush.mean"): min,
}
"""Metrics of a summary, of each group the first that any test has, and its best."""


def best_of(headlines: Iterable[Headline]) -> Headlines:
    """The highest IOPS, the highest throughput, the lowest mean latency."""
    valued = [h for h in headlines if h.value is not None]
    usual = [h for h in valued if not h.name.startswith(WORST)]
    for metrics, choose in BEST.items():
        by_metric = ([h for h in usual if h.metric == name] for name in metrics)
        if few := next(filter(None, by_metric), []):
            yield choose(few, key=lambda headline: headline.value or 0.0)
