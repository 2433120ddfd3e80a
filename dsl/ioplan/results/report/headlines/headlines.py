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
from itertools import chain, islice
from typing import Any

from ioplan.language.plan import FULL, CheckedPlan, Test
from ioplan.records.current import current_records
from ioplan.records.record import RunRecord
from ioplan.results.report.headlines.doubts import NOTHING_KNOWN, Doubts, doubts
from ioplan.results.report.headlines.figures import WORST, Figures
from ioplan.results.report.headlines.headline import MOST, Headline
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
from ioplan.results.report.point import Point, is_of, meeting, points
from ioplan.results.report.reader import Reader
from ioplan.results.store.store import Store

TAIL = "p99"
KINDS = 2
Lines = Iterator[Headline]
Choice = Callable[[Iterable[Any]], Any]


def headlines(
    points: Sequence[Point],
    reader: Reader,
    test: Test | None = None,
    known: Doubts = NOTHING_KNOWN,
) -> tuple[Headline, ...]:
    """The headlines of one test in one session, the most important first.

    None where no cell has a figure. What is `known` of the session speaks against
    figures. Raises StoreError.
    """
    run = last_alike([one for one in points if one.runs])
    if all(one.failed for one in run):
        return ()
    every = [*run, *(one for one in points if not one.runs)]
    expected = test.expectations if test else ()
    limits = {one.text: one.metric for one in expected}
    figures = Figures(every, reader, known, limits=limits)
    if test and test.headlines:
        whole = Figures([*points], reader, known, limits=limits)
        return tuple(_named(figures, whole, test))
    return tuple(islice(_by_rule(figures, run), MOST))


def _named(usual: Figures, every: Figures, test: Test) -> Lines:
    """The headlines that the plan names; a named step may be any of a cell's."""
    for line in test.headlines:
        figures = every if line.metric.step else usual
        points = meeting(figures.points, line.when, test)
        points = [one for one in points if is_of(line.metric.step, one)]
        if line.metric.sought:
            yield from islice(figures.found(), 1)
        elif points:
            yield from figures.worst(figures.scoped(line.metric, points), points)


def _by_rule(figures: Figures, points: Sequence[Point]) -> Lines:
    if any(point.runs[-1].found for point in points):
        yield from _sought(figures)
        return
    kinds: dict[str, list[Point]] = {}
    for point in points:
        kinds.setdefault(access(point), []).append(point)
    first = [kinds[kind] for kind in sorted(kinds, key=purity)][:KINDS]
    for group in first:
        yield from _quiet(figures, group, "mean")
        yield from chain(*_busy(figures, group))
    if len(first) == 1:
        busiest = _loaded(first[0], max)
        yield from figures.worst_interval(rates_of(busiest)[0], busiest)
        yield from _quiet(figures, first[0], TAIL)


def _sought(figures: Figures) -> Lines:
    """What was found, and what was measured there."""
    for told in figures.found():
        yield told
        if told.value is None:
            return
        at = [
            one for one in figures.points if one.dimensions.items() >= told.cell.items()
        ]
        rate_name = rates_of(at)[0]
        yield from figures.worst(figures.metric(rate_name, at), at)
        yield from _latency(figures, at, TAIL)


def _quiet(figures: Figures, points: Sequence[Point], name: str) -> Lines:
    """A latency at the lowest load, of the smallest blocks."""
    yield from _latency(figures, _of_size(_loaded(points, min), min), name)


def _latency(figures: Figures, points: Sequence[Point], name: str) -> Lines:
    """The commit's latency where streams flush, and that of what does not wait for it.

    Points are told apart, as only some may flush.
    """
    flushing = [one for one in points if flushes(one)]
    if flushing:
        yield from figures.worst(figures.durable(name, flushing), flushing)
    others = [one for one in points if not flushes(one) or does_more(one)]
    if others:
        yield from figures.worst(figures.metric(name, others), others)


def _busy(figures: Figures, points: Sequence[Point]) -> Iterator[Lines]:
    """Throughput at the highest load: of small blocks in I/Os, of large in bytes."""
    busy = _loaded(points, max)
    if all(map(is_rated, busy)) and busy != _loaded(points, min):
        yield _latency(figures, busy, "mean")
        return
    for name in rates_of(busy):
        sized = _of_size(busy, min if name == "iops" else max)
        yield figures.worst(figures.metric(name, sized), sized)


def _loaded(points: Sequence[Point], choose: Choice) -> list[Point]:
    """The points of the lowest or the highest load."""
    loads = [(rate(one), load(one)) for one in points]
    end = choose(loads)
    return [one for one, found in zip(points, loads, strict=True) if found == end]


def _of_size(points: Sequence[Point], choose: Choice) -> list[Point]:
    """The points of the smallest or the largest blocks."""
    end = choose(mean_bytes(one) for one in points)
    return [one for one in points if mean_bytes(one) == end]


# A whole session in a few words.

BEST: dict[tuple[str, ...], Callable[..., Headline]] = {
    ("iops",): max,
    ("bandwidth",): max,
    ("mean", "commit.mean", "flush.mean"): min,
}
"""What is looked for in all tests, the first that any has, and which is the best."""


def summary(found: Iterable[Headline]) -> list[Headline]:
    """The highest IOPS, the highest throughput, the lowest mean latency."""
    told = (one for one in found if one.value is not None)
    best = [one for one in told if not one.name.startswith(WORST)]
    return list(_best(best))


def _best(found: list[Headline]) -> Iterator[Headline]:
    for metrics, choose in BEST.items():
        each = ([one for one in found if one.metric == name] for name in metrics)
        if some := next(filter(None, each), []):
            yield choose(some, key=lambda one: one.value or 0.0)


def summary_text(store: Store, session: str) -> str:
    """`451k IOPS, 11.3 us, profile smoke`; empty without figures. Raises StoreError."""
    records = current_records(list(store.records(session)))
    each = by_test(store, records).values()
    found = summary(one for some in each for one in some)
    texts = [f"{one.figure}{' IOPS' * (one.unit == '1/s')}" for one in found]
    profiles = dict.fromkeys(r.asked.profile for r in records)
    named = (f"profile {one}" for one in profiles if texts and one != FULL)
    return ", ".join((*texts, *named))


def by_test(
    store: Store, records: Sequence[RunRecord], plan: CheckedPlan | None = None
) -> dict[str, tuple[Headline, ...]]:
    """The headlines of a session's records by test. Raises StoreError."""
    runs: dict[str, list[RunRecord]] = {}
    for record in records:
        if record.asked.kind == "run":
            runs.setdefault(record.asked.test, []).append(record)
    reader = Reader(store)
    tests = {test.title: test for test in plan.tests} if plan else {}
    known = doubts(records)
    return {
        test: headlines(points({"": some}), reader, tests.get(test), known)
        for test, some in runs.items()
    }
