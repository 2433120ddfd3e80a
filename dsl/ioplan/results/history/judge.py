"""The history of a plan's cells: read, parted into series, and analysed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from math import log1p
from statistics import fmean, median
from typing import Any

from msgspec import Struct

from ioplan.language.metric import Metric
from ioplan.results.compare.peers import BUCKET
from ioplan.results.history.analysis import analysed
from ioplan.results.history.model import History, Series
from ioplan.results.history.monitor import EXACT
from ioplan.results.history.visits import (
    USUAL,
    Cell,
    Visit,
    Visits,
    read_visits,
    values_of,
)
from ioplan.results.measure.metrics import more_is_better
from ioplan.results.store.store import Store

NEWEST = 100
"""Of so many sessions all cells are read, to know how many share the budget."""
SUMMARY = "all cells"
FEWEST_CELLS = 3
"""A summary of fewer cells says no more than they do."""

Wanted = Callable[[Cell], bool]


class Question(Struct, frozen=True):
    """Which series: the metrics, the cells, and what parts and narrows the sessions.

    Of what seeks found, higher is better but for `lowest`.
    """

    metrics: tuple[Metric, ...] = (Metric(name="iops"),)
    by: tuple[str, ...] = USUAL
    only: Mapping[str, str] | None = None
    wanted: Wanted | None = None
    kind: str = "run"
    lowest: frozenset[str] = frozenset()
    threshold_percent: float = 1.0


def history(
    store: Store, plan: str, run_ids: Sequence[str], question: Question
) -> History:
    """The history of the cells with these ids, in their order. Raises StoreError."""
    ids = list(dict.fromkeys(run_ids))
    sessions = store.ids_that_did(ids)
    newest = sessions[-NEWEST:]
    found = read_visits(store, newest, ids, question.metrics, question.kind)
    chosen = [c for c in found.cells if not question.wanted or question.wanted(c)]
    some = list(dict.fromkeys(cell.run_id for cell in chosen))
    older = sessions[:-NEWEST]
    if older:
        before = read_visits(store, older, some, question.metrics, question.kind)
        found = Visits((*before.sessions, *found.sessions), found.cells)
    return analysed_all(plan, found, chosen, question)


def analysed_all(
    plan: str, visits: Visits, chosen: Sequence[Cell], question: Question
) -> History:
    """The series of the chosen cells."""
    sessions = [v for v in visits.sessions if _is_wanted(v, question.only or {})]
    parts = _parted(sessions, question.by)
    each = len(visits.cells) + (len(visits.cells) >= FEWEST_CELLS)
    watched = max(1, len(question.metrics) * len(parts) * each)
    found = [
        series
        for metric in question.metrics
        for series in _series(
            metric,
            question.lowest,
            question.by,
            parts,
            chosen,
            watched,
            log1p(question.threshold_percent / 100),
        )
    ]
    return History(
        plan=plan,
        by=question.by,
        sessions=len(sessions),
        series=tuple(found),
        watched=watched,
        threshold_percent=question.threshold_percent,
    )


def _is_wanted(visit: Visit, only: Mapping[str, str]) -> bool:
    return all(text in visit.conditions[name] for name, text in only.items())


def _parted(
    visits: Sequence[Visit], by: Sequence[str]
) -> dict[tuple[str, ...], list[Visit]]:
    parts: dict[tuple[str, ...], list[Visit]] = {}
    for visit in visits:
        parts.setdefault(tuple(visit.conditions[name] for name in by), []).append(visit)
    return parts


def _series(
    metric: Metric,
    lowest: Collection[str],
    by: Sequence[str],
    parts: Mapping[tuple[str, ...], list[Visit]],
    chosen: Sequence[Cell],
    watched: int,
    threshold: float,
) -> Iterator[Series]:
    """A summary and the cells of each part."""
    name = str(metric)
    floor = BUCKET**2 / 12 if metric.percent is not None else EXACT
    sought = bool(metric.sought) and name not in lowest
    better = sought or more_is_better(metric)
    for texts, visits in parts.items():
        about: dict[str, Any] = {
            "group": dict(zip(by, texts, strict=True)),
            "metric": name,
            "unit": metric.unit,
        }
        each = [values_of(visits, name, cell) for cell in chosen]
        if len(chosen) >= FEWEST_CELLS:
            whole = {"test": SUMMARY, "cell": {}, "run_id": ""}
            places, values = _summary(each)
            if places:
                some = [visits[place] for place in places]
                yield analysed(
                    about | whole, some, values, floor, better, watched, threshold
                )
        for cell, pairs in zip(chosen, each, strict=True):
            if pairs:
                of = {"test": cell.test, "cell": dict(cell.cell), "run_id": cell.run_id}
                some = [visits[place] for place, _ in pairs]
                values = [value for _, value in pairs]
                yield analysed(
                    about | of, some, values, floor, better, watched, threshold
                )


def _summary(
    each: Sequence[Sequence[tuple[int, float]]],
) -> tuple[list[int], list[float]]:
    """The mean of all cells; a session that lacks some is judged by the others."""
    off: dict[int, list[float]] = {}
    middles = []
    for pairs in each:
        if pairs:
            middles.append(median(value for _, value in pairs))
            for place, value in pairs:
                off.setdefault(place, []).append(value - middles[-1])
    places = sorted(off)
    level = fmean(middles) if middles else 0.0
    return places, [level + fmean(off[place]) for place in places]
