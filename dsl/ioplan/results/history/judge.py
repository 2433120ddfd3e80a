"""The history of a plan's cells: read, parted into series, and analysed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import log1p
from statistics import fmean, median
from typing import Any

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
    groups: dict[tuple[str, ...], list[SessionFigures]] = {}
    for session in sessions:
        conditions = session.conditions
        if all(text in conditions[name] for name, text in question.only.items()):
            group = tuple(conditions[name] for name in question.by)
            groups.setdefault(group, []).append(session)
    in_group = cell_count + (cell_count >= FEWEST_CELLS)
    watched = max(1, len(question.metrics) * len(groups) * in_group)
    return History(
        plan=plan,
        by=question.by,
        sessions=sum(map(len, groups.values())),
        series=tuple(
            series
            for metric in question.metrics
            for group, own in groups.items()
            for series in _series(metric, group, own, cells, watched, question)
        ),
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
    values = [values_of(sessions, str(metric), cell) for cell in cells]
    rows: list[tuple[tuple[Any, ...], Sequence[tuple[int, float]]]] = []
    if len(cells) >= FEWEST_CELLS:
        rows.append(((SUMMARY, {}, ""), _summary(values)))
    for cell, own in zip(cells, values, strict=True):
        rows.append(((cell.test, dict(cell.cell), cell.run_id), own))
    for names, pairs in rows:
        if pairs:
            places, logs = zip(*pairs, strict=True)
            place = dict(zip(("test", "cell", "run_id"), names, strict=True))
            of_series = [sessions[at] for at in places]
            yield analyse({**about, **place}, of_series, logs, limits)


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
