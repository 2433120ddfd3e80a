"""Compare two sides: pair their cells, estimate the noise, decide all rows together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from math import exp, log1p
from operator import itemgetter
from statistics import fmean, median
from typing import Any

from msgspec import Struct

from ioplan.core.grouping import grouped
from ioplan.core.statistics.shared_variance import Variance
from ioplan.language.metric import Metric
from ioplan.planner.places import not_measured, places_of
from ioplan.records.session import Session
from ioplan.records.setup import drive_of
from ioplan.results.compare.comparison import (
    AllCells,
    Comparison,
    NoiseSummary,
    Row,
    RowVerdict,
    side_summary,
)
from ioplan.results.compare.decision import (
    ALPHA,
    ASSUMED,
    CELL_SHARE,
    COMMON_SHARE,
    FEW_UNITS,
    OTHER_METHOD,
    UNKNOWN_NOISE,
    Decision,
    MetricPair,
    MetricSide,
    MetricTable,
    TableDecisions,
    decide,
    sessions_needed,
)
from ioplan.results.compare.noise import (
    ASSUMED_SOURCE,
    Group,
    RunFigures,
    assumed_noise,
    noise_of,
    peers_of,
    percent,
    reference_sessions,
)
from ioplan.results.compare.side import (
    CellPair,
    CellRuns,
    Side,
    align,
    cell_name,
    cell_title,
    doubt_text,
    has_one_method,
    method_differences,
    needs_parts,
    remarks,
)
from ioplan.results.measure.metrics import more_is_better
from ioplan.results.report.reader import Reader
from ioplan.results.share.recorded_plan import recorded_plan

DEFAULT_METRICS = (Metric(name="iops"), Metric(name="mean"), Metric(name="p99"))


class Question(Struct, frozen=True):
    """What to compare. Percentages are of the base's figure."""

    metrics: tuple[Metric, ...] = DEFAULT_METRICS
    threshold_percent: float = 2.0
    noise_percent: float | None = None

    @property
    def threshold(self) -> float:
        return self.threshold_percent / 100


def compare(reader: Reader, base: Side, new: Side, question: Question) -> Comparison:
    pairs, only_base, only_new = align(base.cells, new.cells)
    places = [(pair, m) for pair in pairs for m in _metrics(pair, question)]
    grouped_places = grouped(places, key=itemgetter(1)).items()
    by_metric = {metric: [pair for pair, _ in own] for metric, own in grouped_places}
    peers = peers_of(reader.store, base, new, any(map(needs_parts, by_metric)))
    tables = [
        _table(RunFigures(reader, metric), peers, own, (base, new), question)
        for metric, own in by_metric.items()
    ]
    decisions = decide(tables, question.threshold)
    drives = [{drive_of(run) for run in side.runs} for side in (base, new)]
    rows = Rows(not drives[0] & drives[1], question.threshold, len(places))
    by_place = {
        (pair.base.key, metric): row
        for (metric, own), decided in zip(by_metric.items(), decisions, strict=True)
        for pair, row in zip(own, rows.of_cells(own, decided), strict=True)
    }
    return Comparison(
        base=side_summary(base.sessions, drives[0]),
        new=side_summary(new.sessions, drives[1]),
        subject="drives" if rows.is_of_drives else "change",
        threshold_percent=question.threshold_percent,
        differences=method_differences(base.runs, new.runs),
        all_cells=tuple(
            rows.of_all_cells(d.table, d.common) for d in decisions if d.common
        ),
        rows=tuple(by_place[pair.base.key, metric] for pair, metric in places),
        noise=tuple(_noise_summary(decided.table) for decided in decisions),
        learned_from=reference_sessions(peers),
        only_base=tuple(map(cell_name, only_base)),
        only_new=tuple(map(cell_name, only_new)),
        neither=tuple(_unmeasured_cells(base, new)),
    )


def _metrics(pair: CellPair, question: Question) -> tuple[Metric, ...]:
    """The metrics to compare; of seeks the values, since their loads differ."""
    base, new = (cell.any.found for cell in pair)
    if not base or not new:
        return question.metrics
    sought = (Metric(name=seek.axis, sought=seek.kind) for seek in (base, new))
    return tuple(dict.fromkeys(sought))


def _table(
    figures: RunFigures,
    peers: Sequence[Group],
    pairs: Sequence[CellPair],
    sides: tuple[Side, Side],
    question: Question,
) -> MetricTable:
    base, new = units(*(side.sessions for side in sides))
    keys = list(dict.fromkeys(cell.key for side in sides for cell in side.cells))
    noise = assumed_noise(noise_of(figures, peers), question.noise_percent, keys)
    cells = []
    for pair in pairs:
        own = _side(figures, pair.base, base), _side(figures, pair.new, new)
        obstacle = doubt_text(pair) if has_one_method(pair) else OTHER_METHOD
        cells.append(MetricPair(*own, obstacle))
    return MetricTable(figures.metric, tuple(cells), noise)


def units(base: Sequence[Session], new: Sequence[Session]) -> tuple[int, int]:
    """How many sessions of the sides count.

    Where all of one side ran before all of the other, whatever drifted meanwhile looks
    like a change, and no number of sessions helps: consecutive sessions of one side
    count as one. Of sides that alternate, ABAB, all sessions count.
    """
    order = sorted([(s.id, "base") for s in base] + [(s.id, "new") for s in new])
    stretches = [side for side, _ in groupby(side for _, side in order)]
    return stretches.count("base"), stretches.count("new")


def _side(figures: RunFigures, cell: CellRuns, count: int) -> MetricSide:
    """The figures of a cell; of one that failed in any repeat, none."""
    if cell.failed:
        last = cell.failed[-1]
        return MetricSide(cell.key, (), why=last.message or last.status)
    logs = [figures.logs(runs) for runs in cell.by_session().values()]
    sessions = tuple(filter(None, logs))
    if sessions:
        return MetricSide(cell.key, sessions, max(1, min(count, len(sessions))))
    reasons = filter(None, (figures.of(run).why for run in cell.runs))
    return MetricSide(cell.key, (), why=next(reasons, f"{figures.metric} is 0"))


class Rows(Struct, frozen=True):
    """Decisions as rows: of two drives or of a change on one, in so many rows."""

    is_of_drives: bool
    threshold: float
    count: int

    def of_cells(
        self, cells: Sequence[CellPair], decided: TableDecisions
    ) -> Iterator[Row]:
        table = decided.table
        p_value = ALPHA * CELL_SHARE / self.count
        for both, pair, decision in zip(cells, table.pairs, decided.cells, strict=True):
            base, new = both
            asked, seek = new.any.asked, new.any.found
            is_more = more_is_better(table.metric)
            if table.metric.sought and seek:
                is_more = seek.goal == "highest"
            fields = self._fields(table.metric, decision, is_more)
            if pair.has_figures:
                noise, difference = table.noise.guess(pair.new.key), pair.difference
                needed = self._sessions_needed(decision, noise, difference, p_value)
                fields |= {"ratio": exp(difference), "sessions_needed": needed}
            else:
                fields |= _without_figure(both, pair)
            yield Row(
                test=asked.test,
                step=asked.name,
                cell=asked.cell,
                unit=table.metric.unit,
                base=pair.base.value,
                new=pair.new.value,
                base_doubts=base.doubts,
                new_doubts=new.doubts,
                base_runs=len(base.runs),
                new_runs=len(new.runs),
                base_sessions=pair.base.count,
                new_sessions=pair.new.count,
                remarks=remarks(both),
                **fields,
            )

    def of_all_cells(self, table: MetricTable, decision: Decision) -> AllCells:
        """The row of the change that all cells have in common."""
        differences = [pair.difference for pair in table.pooled()]
        change, noise = fmean(differences), table.noise.shared
        needed = self._sessions_needed(decision, noise, change, ALPHA * COMMON_SHARE)
        return AllCells(
            cells=len(differences),
            same_way=sum(d * change > 0 for d in differences),
            smallest=exp(min(differences)),
            largest=exp(max(differences)),
            sessions_needed=needed,
            **self._fields(table.metric, decision, more_is_better(table.metric)),
        )

    def _fields(
        self, metric: Metric, decision: Decision, is_more_better: bool
    ) -> dict[str, Any]:
        outcome, estimate, why = decision.outcome, decision.estimate, decision.reason
        verdict: RowVerdict = "equal" if outcome == "equal" else "inconclusive"
        if estimate and outcome in ("different", "suspected"):
            is_more = estimate.difference > 0
            verdict = "better" if is_more == is_more_better else "worse"
        elif outcome == "inconclusive" and self.is_of_drives and not estimate:
            verdict = "ratio"
        if outcome == "suspected":
            verdict, why = "suspected", f"{verdict}, but only {why}"
        return {
            "metric": str(metric),
            "verdict": verdict,
            "why": why,
            "p_value": decision.p_value,
            **(estimate.summary() if estimate else {}),
        }

    def _sessions_needed(
        self,
        decision: Decision,
        noise: Variance | None,
        difference: float,
        p_value: float,
    ) -> int | None:
        """How many sessions a side would decide, by the known or the assumed noise.

        Without known noise and with a small change, the fewest that show the noise.
        """
        if decision.outcome != "inconclusive":
            return None
        size, limit = abs(difference), log1p(self.threshold)
        if noise is None and size <= limit:
            return FEW_UNITS
        return sessions_needed(noise or ASSUMED, size, limit, p_value)


def _without_figure(cells: CellPair, pair: MetricPair) -> dict[str, Any]:
    base, new = pair.base.why, pair.new.why
    if cells.new.failed and not cells.base.failed:
        return {"verdict": "worse", "why": f"NEW failed: {new}"}
    return {
        "verdict": "inconclusive",
        "why": f"BASE: {base}" if base else f"NEW: {new}",
    }


def _noise_summary(table: MetricTable) -> NoiseSummary:
    noise = table.noise
    is_estimated = noise.source not in ("", ASSUMED_SOURCE)
    return NoiseSummary(
        metric=str(table.metric),
        run_percent=_median_percent(noise.run.values()),
        session_percent=_median_percent(noise.session(p.new.key) for p in table.pairs),
        shared_percent=_median_percent([noise.shared] * is_estimated),
        drive_percent=_median_percent([noise.drive]),
        source=noise.source or UNKNOWN_NOISE,
    )


def _median_percent(variances: Iterable[Variance | None]) -> float | None:
    sizes = [percent(variance) for variance in variances if variance]
    return median(sizes) if sizes else None


def _unmeasured_cells(base: Side, new: Side) -> Iterator[str]:
    """Cells of both plans where both sides ended before they were measured."""
    if any(all(s.status == "ok" for s in side.sessions) for side in (base, new)):
        return
    plans = map(recorded_plan, (*base.sessions, *new.sessions))
    places = {at: run for plan in plans if plan for at, run in places_of(plan).items()}
    measured = [cell.any for cell in (*base.cells, *new.cells)]
    for run in not_measured(places, measured):
        yield cell_title(run.test.title, run.cell_text, run.template.name)
