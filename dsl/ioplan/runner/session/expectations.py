"""Expectations: gathers the runs of each cell until they can be judged."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from math import inf, nextafter

from ioplan.core.text import counted
from ioplan.core.units import metric_text
from ioplan.language.metric import Metric
from ioplan.language.plan import OPERATORS, Expectation, RepeatTemplate, Test
from ioplan.planner.places import expected_of
from ioplan.planner.steps import Run
from ioplan.records.record import RunDetail, RunRecord, Verdict
from ioplan.records.seek import Found as Sought
from ioplan.records.window import first_counted
from ioplan.results.measure import metrics
from ioplan.results.measure.metrics import Figure, Sample
from ioplan.results.measure.over_time import stated
from ioplan.results.measure.zero_losses import cuts_read, zero_text
from ioplan.runner.session.baseline import (
    NO_BASELINE,
    NONE,
    NOT_IN_BASELINE,
    BaselineSession,
    Found,
)

ENDED = "the value is the end of the range that was searched; the truth may lie beyond"
UNCONFIRMED = "no long run confirmed the value"


def judge(
    expectation: Expectation,
    samples: Sequence[Sample],
    whole: Found = NONE,
    cuts: int = 0,
) -> Verdict:
    """One expectation on the runs of one cell; its limit may be a share of `whole`.

    The runs have judged what was left by so many power `cuts`.
    """
    told = stated(expectation.metric, samples)
    actual, limit = told.figure, _limit(expectation, whole.figure)
    found = _found(expectation, samples)
    ends = _open_ends(found) if found else {}
    outcome = _outcome(expectation, actual, limit, tuple(ends))
    end = told.at_the_end(expectation.metric, samples) if outcome == "held" else None
    fell = ""
    if end and _outcome(expectation, end, limit, tuple(ends)) != outcome:
        outcome, fell = "undecided", _fell_text(expectation.metric, end)
    zero = zero_text(expectation.metric, actual.value, cuts)
    open_end = "; ".join(ends.values()) if outcome == "undecided" else ""
    return Verdict.model_validate(
        {
            "expectation": expectation.text,
            "outcome": outcome,
            "actual": actual.value,
            "limit": limit.value,
            "unit": expectation.metric.unit,
            "why": actual.why or limit.why or fell or open_end or zero,
            "baseline": whole.session,
            "baseline_value": whole.figure.value if whole.session else None,
        }
    )


def _fell_text(metric: Metric, end: Figure) -> str:
    """Why what held over the whole run may not hold for long."""
    value = metric_text(end.value, metric.unit)
    then = f"{value} at the end" if end.value is not None else end.why
    return f"the rate fell within the run: {then}; a longer run decides"


def _limit(expectation: Expectation, whole: Figure) -> Figure:
    if not expectation.of_baseline and not expectation.of_metric:
        return metrics.Figure(expectation.limit)
    if whole.value is None:
        return whole
    return metrics.Figure(whole.value * expectation.limit / 100)


def _found(expectation: Expectation, samples: Sequence[Sample]) -> Sought | None:
    """What a seek found, where that is expected to be something."""
    found = getattr(samples[-1].record, "found", None) if samples else None
    return found if expectation.metric.sought else None


def _open_ends(found: Sought) -> dict[float, str]:
    """How far the truth may lie from what was found, and why."""
    far, near = (0.0, inf) if found.goal == "lowest" else (inf, 0.0)
    ends = {far: ENDED} if found.censored else {}
    if found.no_at is not None and found.value is not None and found.goal != "knee":
        why = f"the truth lies between {found.text} and {found.no_text}"
        ends[nextafter(found.no_at, found.value)] = why
    if not found.confirmed:
        ends[near] = UNCONFIRMED
    if found.goal == "knee" and found.value is not None:
        why = f"the knee is known with an interval: {found.interval}"
        least, most = found.low or 0.0, inf if found.high is None else found.high
        ends = {least: why, most: why, **ends}
    return ends


def _outcome(
    expectation: Expectation, actual: Figure, limit: Figure, ends: Sequence[float]
) -> str:
    if limit.value is None:
        absent = limit.why in (NO_BASELINE, NOT_IN_BASELINE)
        return "no baseline" if expectation.of_baseline and absent else "undecided"
    compare = OPERATORS[expectation.operator]
    if actual.value is None:
        least = actual.at_least
        missed = expectation.operator in ("<", "<=") and least is not None
        missed = missed and not compare(least or 0.0, limit.value)
        return "failed" if expectation.metric.sought or missed else "undecided"
    holds = compare(actual.value, limit.value)
    if any(compare(end, limit.value) != holds for end in ends):
        return "undecided"
    return "held" if holds else "failed"


Cell = tuple[tuple[str, str], ...]
Key = tuple[Cell, int]


class ExpectationTracker:
    """The expectations of one test.

    A cell that is run once is judged at once; one that is run in rounds is judged
    on those of the steady window, or of its own mean, and a repeated one on
    all its repeats, together and at the end.
    """

    def __init__(self, test: Test, baseline: BaselineSession | None) -> None:
        self.test, self.baseline = test, baseline
        self.rounds = test.rounds.window if test.rounds else 1
        by_cell = test.rounds and test.rounds.within
        self.kept = test.rounds.at_most if test.rounds and by_cell else self.rounds
        self.samples: dict[Key, list[tuple[Run, RunRecord, Sample]]] = defaultdict(list)
        self.cuts: dict[Cell, list[RunRecord]] = defaultdict(list)
        self.failed: Counter[Key] = Counter()
        repeats = any(isinstance(step, RepeatTemplate) for step in test.steps)
        others = any(one.of_metric for one in test.expectations)
        self.at_end = test.rounds is not None or repeats or others

    def add(
        self, run: Run, record: RunRecord, detail: RunDetail
    ) -> tuple[Verdict, ...]:
        """Add a run; returns the verdicts that are possible now."""
        if record.power_cut:
            self.cuts[_cell(run)].append(record)
        if not any(self._concerning(run)):
            return ()
        sample = metrics.Sample(record, detail)
        if not self.at_end:
            return tuple(self._judged(run, record, [sample]))
        key = (_cell(run), run.index)
        runs = self.samples[key]
        runs.append((run, record, sample))
        while runs[0][0].round <= run.round - self.kept:
            del runs[0]
        return ()

    def add_failure(self, run: Run) -> None:
        """A run that has no figures: what the others of its cell hold is not proven."""
        self.failed[_cell(run), run.index] += 1

    def final_verdicts(self) -> Iterator[tuple[RunRecord, tuple[Verdict, ...]]]:
        """Verdicts on cells that ran several times, each with its last run, or with the
        run that had them before the session was resumed."""
        for key, runs in self.samples.items():
            run, record, _ = runs[-1]
            first = first_counted(record, self.rounds)
            samples = [sample for one, _, sample in runs if one.round >= first]
            failed = 0 if self.test.rounds else self.failed[key]
            verdicts = self._judged(run, record, samples)
            judged = next((one for _, one, _ in runs if one.verdicts), record)
            yield judged, tuple(_but_for(failed, len(runs), one) for one in verdicts)

    def _concerning(self, run: Run) -> Iterator[Expectation]:
        """What a run bears on, perhaps as that which another is compared with."""
        for one in self.test.expectations:
            steps = {m.step for m in (one.metric, one.of_metric) if m}
            if one.applies(run.cell) and steps & {None, run.template.name}:
                yield one

    def _judged(
        self, run: Run, record: RunRecord, samples: list[Sample]
    ) -> Iterator[Verdict]:
        reads = [one.record for one in samples]
        for expectation in expected_of(run):
            cuts = cuts_read(self.cuts[_cell(run)], reads, expectation.metric)
            whole = self._whole(expectation, run, record, samples)
            yield judge(expectation, samples, whole, cuts)

    def _whole(
        self,
        expectation: Expectation,
        run: Run,
        record: RunRecord,
        samples: list[Sample],
    ) -> Found:
        """What the limit is a share of, if it is one."""
        other = expectation.of_metric
        if other is None:
            return self._baseline_figure(expectation, record)
        if other.step is None:
            return Found(stated(other, samples).figure)
        cell = _cell(run)
        found = (rows for (at, _), rows in self.samples.items() if at == cell)
        every = [sample for rows in found for _, _, sample in rows]
        return Found(stated(other, every).figure)

    def _baseline_figure(self, expectation: Expectation, run: RunRecord) -> Found:
        if self.baseline is None or not expectation.of_baseline:
            return NONE
        return self.baseline.figure(expectation.metric, run, self.rounds)


def _but_for(failed: int, measured: int, verdict: Verdict) -> Verdict:
    """What held in the others is undecided, where some of the runs failed."""
    if not failed or verdict.outcome != "held":
        return verdict
    why = f"{failed} of {counted(failed + measured, 'run')} failed"
    return verdict.model_copy(update={"outcome": "undecided", "why": why})


def _cell(run: Run) -> Cell:
    return tuple(sorted(run.cell_text.items()))
