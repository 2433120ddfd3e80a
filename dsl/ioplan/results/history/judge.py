"""The history of a plan's cells: read, parted into series, and analysed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from math import log1p
from statistics import fmean, median

from msgspec import Struct

from ioplan.language.metric import Metric
from ioplan.results.compare.noise import BUCKET
from ioplan.results.history.analysis import SeriesLimits, analyse
from ioplan.results.history.model import History, Series
from ioplan.results.history.monitor import EXACT
from ioplan.results.history.sessions import (
    DEFAULT_BY,
    Cell,
    SessionFigures,
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
    sessions = [
        session
        for session in sessions
        if all(text in session.conditions[name] for name, text in question.only.items())
    ]
    groups: dict[tuple[str, ...], list[SessionFigures]] = {}
    for session in sessions:
        group = tuple(session.conditions[name] for name in question.by)
        groups.setdefault(group, []).append(session)
    in_group = cell_count + (cell_count >= FEWEST_CELLS)
    watched = max(1, len(question.metrics) * len(groups) * in_group)
    return History(
        plan=plan,
        by=question.by,
        sessions=len(sessions),
        series=tuple(_all_series(groups, cells, watched, question)),
        watched=watched,
        threshold_percent=question.threshold_percent,
    )


def _all_series(
    groups: Mapping[tuple[str, ...], Sequence[SessionFigures]],
    cells: Sequence[Cell],
    watched: int,
    question: Question,
) -> Iterator[Series]:
    for metric in question.metrics:
        limits = SeriesLimits(
            watched,
            threshold=log1p(question.threshold_percent / 100),
            floor=BUCKET**2 / 12 if metric.percent is not None else EXACT,
            more_is_better=_more_is_better(metric, question.lowest),
        )
        for group, sessions in groups.items():
            about = {
                "group": dict(zip(question.by, group, strict=True)),
                "metric": str(metric),
                "unit": metric.unit,
            }
            yield from _group_series(about, metric, sessions, cells, limits)


def _more_is_better(metric: Metric, lowest: Collection[str]) -> bool:
    is_highest = bool(metric.sought) and str(metric) not in lowest
    return is_highest or more_is_better(metric)


def _group_series(
    about: Mapping[str, object],
    metric: Metric,
    sessions: Sequence[SessionFigures],
    cells: Sequence[Cell],
    limits: SeriesLimits,
) -> Iterator[Series]:
    values = [values_of(sessions, str(metric), cell) for cell in cells]
    rows = [({"test": SUMMARY, "cell": {}, "run_id": ""}, _summary(values))]
    rows = rows if len(cells) >= FEWEST_CELLS else []
    for cell, own in zip(cells, values, strict=True):
        names = {"test": cell.test, "cell": dict(cell.cell), "run_id": cell.run_id}
        rows.append((names, own))
    for names, own in rows:
        if own:
            places, logs = zip(*own, strict=True)
            yield analyse(
                {**about, **names}, [sessions[at] for at in places], logs, limits
            )


def _summary(
    values: Sequence[Sequence[tuple[int, float]]],
) -> list[tuple[int, float]]:
    """The mean of all cells; where a session lacks some, that of the others."""
    deviations: dict[int, list[float]] = {}
    middles = []
    for cell in values:
        if cell:
            middles.append(median(value for _, value in cell))
            for place, value in cell:
                deviations.setdefault(place, []).append(value - middles[-1])
    level = fmean(middles) if middles else 0.0
    return [(place, level + fmean(deviations[place])) for place in sorted(deviations)]
