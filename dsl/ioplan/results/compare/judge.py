"""Two sides -> a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from ioplan.language.metric import Metric
from ioplan.planner.places import not_measured, places_of
from ioplan.results.compare.align import align
from ioplan.results.compare.call import calls
from ioplan.results.compare.comparison import Comparison, side_summary
from ioplan.results.compare.earlier import Peers, RunFigures, noise_of
from ioplan.results.compare.figure import MetricPair, MetricTable, metric_side
from ioplan.results.compare.learn import (
    drives,
    keys,
    learned_from,
    peers_of,
    with_given,
)
from ioplan.results.compare.order import units
from ioplan.results.compare.outline import needs_parts
from ioplan.results.compare.rows import (
    Called,
    Pair,
    Subject,
    cell_name,
    noise_summary,
    of_all_cells,
    of_one_cell,
    place_text,
)
from ioplan.results.compare.side import Side
from ioplan.results.report.reader import Reader
from ioplan.results.share.recorded_plan import recorded_plan

DEFAULT_METRICS = (Metric(name="iops"), Metric(name="mean"), Metric(name="p99"))


class Question(Struct, frozen=True):
    """What is asked of a comparison. Percentages are of the base's figure."""

    metrics: tuple[Metric, ...] = DEFAULT_METRICS
    threshold_percent: float = 2.0
    noise_percent: float | None = None


def compare(reader: Reader, base: Side, new: Side, question: Question) -> Comparison:
    """Align, learn the noise, and judge all rows together. Raises StoreError."""
    found = align(base.cells, new.cells)
    asked = [(at, _metrics(pair, question)) for at, pair in enumerate(found.pairs)]
    places: dict[Metric, list[int]] = {}
    for at, metrics in asked:
        for metric in metrics:
            places.setdefault(metric, []).append(at)
    peers = peers_of(reader.store, base, new, any(map(needs_parts, places)))
    tables = list(_tables(reader, peers, (base, new), found.pairs, places, question))
    judged = calls(tables, question.threshold_percent / 100)
    on = drives(base), drives(new)
    subject = Subject(
        drives=not on[0] & on[1],
        threshold=question.threshold_percent / 100,
        rows=sum(len(one.pairs) for one in tables),
    )
    called = {
        (at, table.metric): Called(found.pairs[at], table, both, call, subject)
        for table, one in zip(tables, judged, strict=True)
        for at, both, call in zip(
            places[table.metric], table.pairs, one.cells, strict=True
        )
    }
    return Comparison(
        base=side_summary(base.sessions, tuple(sorted(on[0]))),
        new=side_summary(new.sessions, tuple(sorted(on[1]))),
        subject="drives" if subject.drives else "change",
        threshold_percent=question.threshold_percent,
        all_cells=tuple(
            of_all_cells(table, one.all, subject)
            for table, one in zip(tables, judged, strict=True)
            if one.all
        ),
        rows=tuple(of_one_cell(called[at, m]) for at, ms in asked for m in ms),
        noise=tuple(map(noise_summary, tables)),
        learned_from=learned_from(peers),
        only_base=tuple(map(cell_name, found.only_base)),
        only_new=tuple(map(cell_name, found.only_new)),
        neither=tuple(_neither(base, new)),
    )


def _neither(base: Side, new: Side) -> Iterator[str]:
    """What both sides were to measure, and ended before they did."""
    if any(all(one.status == "ok" for one in side.sessions) for side in (base, new)):
        return
    plans = map(recorded_plan, (*base.sessions, *new.sessions))
    places = {at: run for plan in plans if plan for at, run in places_of(plan).items()}
    done = [cell.any for cell in (*base.cells, *new.cells)]
    for run in not_measured(places, done):
        at = place_text(run.template.name, run.cell_text)
        yield f"{run.test.title}: {at}" if at else run.test.title


def _tables(
    reader: Reader,
    peers: Sequence[Peers],
    sides: tuple[Side, Side],
    pairs: Sequence[Pair],
    places: Mapping[Metric, Sequence[int]],
    question: Question,
) -> Iterator[MetricTable]:
    """The figures of each metric, and what they differ by of themselves."""
    counts = units(sides[0].sessions, sides[1].sessions)
    for metric, those in places.items():
        figures = RunFigures(reader, metric)
        noise = noise_of(figures, peers)
        both = tuple(
            MetricPair(
                *(
                    metric_side(figures, cell, count)
                    for cell, count in zip(pairs[at], counts, strict=True)
                )
            )
            for at in those
        )
        given = with_given(noise, question.noise_percent, keys(sides))
        yield MetricTable(metric, both, given)


def _metrics(pair: Pair, question: Question) -> tuple[Metric, ...]:
    """The metrics to compare; of seeks the values found, since their loads differ."""
    found = [one.any.found for one in pair]
    if not all(found):
        return question.metrics
    return tuple({Metric(name=one.axis, sought=one.kind) for one in found if one})
