"""Two sides -> a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ioplan.compare.align import align, remarks
from ioplan.compare.comparison import Comparison, Row, RowVerdict, side_summary
from ioplan.compare.figure import MetricPair, MetricReader
from ioplan.compare.side import CellRuns, Side
from ioplan.compare.statistics import CONFIDENCE, Estimate, NoiseModel, estimate, holm
from ioplan.language.metric import Metric
from ioplan.measure.metrics import RATIO_METRICS
from ioplan.report.reader import Reader

DEFAULT_METRICS = (Metric(name="iops"), Metric(name="mean"), Metric(name="p99"))
MORE_IS_BETTER = ("iops", "bandwidth", *RATIO_METRICS)
NO_NOISE_ESTIMATE = (
    "nothing tells how much runs vary: repeat the cells, name several sessions a side, "
    "or give --noise"
)
SIGNIFICANT_ALONE = "far off by itself, but not for one of so many rows"

Pair = tuple[CellRuns, CellRuns]


@dataclass(frozen=True)
class Question:
    """What is asked of a comparison. Percentages are of the base's figure."""

    metrics: tuple[Metric, ...] = DEFAULT_METRICS
    threshold_percent: float = 2.0
    noise_percent: float | None = None


def compare(reader: Reader, base: Side, new: Side, question: Question) -> Comparison:
    """Align, estimate, and judge all rows together. Raises StoreError."""
    found = align(base.cells, new.cells)
    both, estimates = _estimated(reader, base, new, found.pairs, question)
    threshold = question.threshold_percent / 100
    p_values = [one.p_value(threshold) for one in estimates if one]
    left = iter(holm(p_values))
    adjusted = [next(left) if one else None for one in estimates]
    rows = [
        _row(pair, values, estimated, p_value, threshold)
        for (pair, values), estimated, p_value in zip(
            both, estimates, adjusted, strict=True
        )
    ]
    return Comparison(
        base=side_summary(base.sessions),
        new=side_summary(new.sessions),
        threshold_percent=question.threshold_percent,
        rows=tuple(rows),
        only_base=tuple(map(_cell_name, found.only_base)),
        only_new=tuple(map(_cell_name, found.only_new)),
    )


def _estimated(
    reader: Reader,
    base: Side,
    new: Side,
    pairs: Sequence[Pair],
    question: Question,
) -> tuple[list[tuple[Pair, MetricPair]], list[Estimate | None]]:
    """All metrics of each pair, and what can be said of each."""
    sessions = len(base.sessions) + len(new.sessions)
    by_session = sessions > 2
    parts = MetricReader(reader, by_session)
    both = [
        (pair, parts.pair(metric, *pair))
        for pair in pairs
        for metric in _metrics(pair, question)
    ]
    alike: dict[str, list[MetricPair]] = {}
    for _, one in both:
        alike.setdefault(str(one.metric), []).append(one)
    models = {
        name: NoiseModel(cells, sessions, question.noise_percent)
        for name, cells in alike.items()
    }
    return both, [estimate(one, models[str(one.metric)], by_session) for _, one in both]


def _metrics(pair: Pair, question: Question) -> tuple[Metric, ...]:
    """Of what seeks found, the values: their other figures are of different loads."""
    found = [one.any.found for one in pair]
    if not all(found):
        return question.metrics
    return tuple({Metric(name=one.axis, sought=one.kind) for one in found if one})


def _more_is_better(pair: Pair, metric: Metric) -> bool:
    found = pair[1].any.found
    if metric.sought and found:
        return found.goal == "highest"
    return metric.name in MORE_IS_BETTER


def _row(
    pair: Pair,
    both: MetricPair,
    estimated: Estimate | None,
    p_value: float | None,
    threshold: float,
) -> Row:
    base, new = pair
    asked = new.any.asked
    word, why = _verdict(pair, both, estimated, p_value, threshold)
    low, high = estimated.interval if estimated else (None, None)
    return Row(
        test=asked.test,
        cell=asked.cell,
        metric=str(both.metric),
        unit=both.metric.unit,
        verdict=word,
        why=why,
        base=both.base.value,
        new=both.new.value,
        base_units=len(both.base.logs),
        new_units=len(both.new.logs),
        ratio=estimated.ratio if estimated else None,
        low=low,
        high=high,
        chance=p_value,
        noise_percent=100 * estimated.noise if estimated else None,
        noise_from=estimated.source if estimated else "",
        remarks=remarks(base, new),
    )


def _verdict(
    pair: Pair,
    both: MetricPair,
    estimated: Estimate | None,
    p_value: float | None,
    threshold: float,
) -> tuple[RowVerdict, str]:
    if pair[0].runs and not pair[1].runs:
        return "worse", f"NEW failed: {both.new.why}"
    if not both.known:
        side = "BASE" if both.base.why else "NEW"
        return "undecided", f"{side}: {both.base.why or both.new.why}"
    if estimated is None or p_value is None:
        return "undecided", NO_NOISE_ESTIMATE
    if p_value <= 1 - CONFIDENCE:
        more = (estimated.difference > 0) == _more_is_better(pair, both.metric)
        return ("better" if more else "worse"), ""
    low, high = estimated.interval
    if 1 / (1 + threshold) <= low and high <= 1 + threshold:
        return "equal", ""
    outside = high < 1 / (1 + threshold) or low > 1 + threshold
    return "undecided", SIGNIFICANT_ALONE if outside else ""


def _cell_name(cell: CellRuns) -> str:
    asked = cell.any.asked
    place = " ".join(f"{axis}={value}" for axis, value in asked.cell.items())
    return f"{asked.test}: {place}" if place else asked.test
