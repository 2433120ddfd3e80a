"""Expectations: gathers the runs of each cell until they can be judged.

Some compare with a baseline, an earlier session.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import inf

from ioplan.language.metric import Metric
from ioplan.language.plan import OPERATORS, Expectation, RepeatTemplate, Test
from ioplan.measure import metrics
from ioplan.measure.metrics import Figure, Sample
from ioplan.planner.steps import Run
from ioplan.records.drive import drive_of
from ioplan.records.record import RunDetail, RunRecord, Verdict
from ioplan.store.store import Store


class BaselineSession:
    """The runs of an earlier session, found by what they did."""

    def __init__(self, store: Store, session: str) -> None:
        self.store, self.session = store, session
        self.runs: dict[str, list[RunRecord]] = defaultdict(list)
        for record in store.records(session):
            if record.asked.kind == "run" and record.status == "ok":
                self.runs[record.run_id].append(record)

    def figure(self, metric: Metric, like: RunRecord, rounds: int) -> Figure:
        """The metric of the same run over the last rounds of the earlier session, as
        many as given; none where another target or backend was measured."""
        records = self.runs.get(like.run_id, [])
        if records and (why := _differs(records[-1], like)):
            return metrics.Figure(None, f"baseline {self.session} is {why}")
        last = max((record.asked.round for record in records), default=0)
        samples = [
            metrics.Sample(record, self.store.detail(self.session, record.seq))
            for record in records
            if record.asked.round > last - rounds
        ]
        if not samples:
            return metrics.Figure(None, NOT_IN_BASELINE)
        return metrics.figure(metric, samples)


def _differs(baseline: RunRecord, now: RunRecord) -> str:
    """What else the baseline was measured on, or by; empty if on and by the same."""
    if baseline.backend.name != now.backend.name:
        return f"by {baseline.backend.name}, this run by {now.backend.name}"
    there, here = _target(baseline), _target(now)
    return f"of {there}, this run of {here}" if there != here else ""


def _target(run: RunRecord) -> str:
    """The drive by its label, else the path on its host."""
    drive = drive_of(run.target)
    if drive and drive.serial:
        return f"{drive.model} {drive.serial}".strip()
    return f"{run.host.get('hostname', '')}:{run.target.get('path', '')}"


ENDED = "the value is the end of the range that was searched; the truth may lie beyond"
NO_BASELINE = "no baseline; add --baseline"
NOT_IN_BASELINE = "the baseline does not contain this run"


def judge(
    expectation: Expectation, samples: Sequence[Sample], baseline: Figure | None = None
) -> Verdict:
    """One expectation on the runs of one cell; `baseline` is its earlier figure."""
    actual = metrics.figure(expectation.metric, samples)
    limit = _limit(expectation, baseline or metrics.Figure(None, NO_BASELINE))
    beyond = _beyond(expectation, samples)
    outcome = _outcome(expectation, actual, limit, beyond)
    open_end = ENDED if beyond is not None and outcome == "undecided" else ""
    return Verdict.model_validate(
        {
            "expectation": expectation.text,
            "outcome": outcome,
            "actual": actual.value,
            "limit": limit.value,
            "unit": expectation.metric.unit,
            "why": actual.why or limit.why or open_end,
        }
    )


def _limit(expectation: Expectation, baseline: Figure) -> Figure:
    if not expectation.of_baseline and not expectation.of_metric:
        return metrics.Figure(expectation.limit)
    if baseline.value is None:
        return baseline
    return metrics.Figure(baseline.value * expectation.limit / 100)


def _beyond(expectation: Expectation, samples: Sequence[Sample]) -> float | None:
    """How far the truth may lie beyond what a seek found; None where it ended before
    its range did."""
    found = getattr(samples[-1].record, "found", None) if samples else None
    if not expectation.metric.sought or not found or not found.censored:
        return None
    return 0.0 if found.goal == "lowest" else inf


def _outcome(
    expectation: Expectation, actual: Figure, limit: Figure, beyond: float | None
) -> str:
    if limit.value is None:
        absent = limit.why in (NO_BASELINE, NOT_IN_BASELINE)
        return "no baseline" if expectation.of_baseline and absent else "undecided"
    if actual.value is None:
        return "failed" if expectation.metric.sought else "undecided"
    compare = OPERATORS[expectation.operator]
    holds = compare(actual.value, limit.value)
    if beyond is not None and compare(beyond, limit.value) != holds:
        return "undecided"
    return "held" if holds else "failed"


Key = tuple[tuple[tuple[str, str], ...], int]


class ExpectationTracker:
    """The expectations of one test.

    A cell that is run once is judged at once; one that is run in rounds is judged
    on the last rounds, as many as the steady window has, and a repeated one on
    all its repeats, together and at the end.
    """

    def __init__(self, test: Test, baseline: BaselineSession | None) -> None:
        self.test, self.baseline = test, baseline
        self.rounds = test.rounds.rule.window if test.rounds else 1
        self.samples: dict[Key, list[tuple[Run, RunRecord, Sample]]] = defaultdict(list)
        repeats = any(isinstance(step, RepeatTemplate) for step in test.steps)
        others = any(one.of_metric for one in test.expectations)
        self.at_end = test.rounds is not None or repeats or others

    def add(
        self, run: Run, record: RunRecord, detail: RunDetail
    ) -> tuple[Verdict, ...]:
        """Add a run; returns the verdicts that are possible now."""
        if not any(self._concerning(run)):
            return ()
        sample = metrics.Sample(record, detail)
        if not self.at_end:
            return tuple(self._judged(run, record, [sample]))
        key = (tuple(sorted(run.cell_text.items())), run.index)
        runs = self.samples[key]
        runs.append((run, record, sample))
        while runs[0][0].round <= run.round - self.rounds:
            del runs[0]
        return ()

    def final_verdicts(self) -> Iterator[tuple[RunRecord, tuple[Verdict, ...]]]:
        """Verdicts on cells that ran several times, each with its last run."""
        for runs in self.samples.values():
            run, record, _ = runs[-1]
            samples = [sample for _, _, sample in runs]
            yield record, tuple(self._judged(run, record, samples))

    def _concerning(self, run: Run) -> Iterator[Expectation]:
        """What a run bears on, perhaps as that which another is compared with."""
        for one in self.test.expectations:
            steps = {m.step for m in (one.metric, one.of_metric) if m}
            if one.applies(run.cell) and steps & {None, run.template.name}:
                yield one

    def _applicable(self, run: Run) -> Iterator[Expectation]:
        """What is judged of a run."""
        for one in self._concerning(run):
            if one.metric.step in (None, run.template.name):
                yield one

    def _judged(
        self, run: Run, record: RunRecord, samples: list[Sample]
    ) -> Iterator[Verdict]:
        for expectation in self._applicable(run):
            whole = self._whole(expectation, run, record, samples)
            yield judge(expectation, samples, whole)

    def _whole(
        self,
        expectation: Expectation,
        run: Run,
        record: RunRecord,
        samples: list[Sample],
    ) -> Figure:
        """What the limit is a share of, if it is one."""
        other = expectation.of_metric
        if other is None:
            return self._baseline_figure(expectation, record)
        if other.step is None:
            return metrics.figure(other, samples)
        cell = tuple(sorted(run.cell_text.items()))
        found = (rows for (at, _), rows in self.samples.items() if at == cell)
        return metrics.figure(
            other, [sample for rows in found for _, _, sample in rows]
        )

    def _baseline_figure(self, expectation: Expectation, run: RunRecord) -> Figure:
        if self.baseline is None or not expectation.of_baseline:
            return metrics.Figure(None, NO_BASELINE)
        return self.baseline.figure(expectation.metric, run, self.rounds)
