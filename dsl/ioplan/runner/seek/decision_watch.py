"""Decides a probe while it runs, from its intervals."""

from __future__ import annotations

from collections.abc import Sequence

from ioplan.job import SECOND_NS, Job, Progress
from ioplan.language.metric import at_the_end
from ioplan.language.plan import AT_MOST, OPERATORS, Demand
from ioplan.planner.seek.decide import SLACK_S, Decider, Decision, Part
from ioplan.planner.seek.search import Answer
from ioplan.planner.steps import Run
from ioplan.records.seek import DemandResult, Probed
from ioplan.results.measure.metrics import Figure, Sample, figure
from ioplan.runner.seek.claims import judged


class DecisionWatch:
    """Takes the intervals of a probe; ends it when it is decided.

    A probe with events, or of which a figure is asked that only its end tells, goes on
    for at least the time that the plan says.
    """

    def __init__(self, run: Run, job: Job) -> None:
        assert run.probing and run.test.seek
        self.claims = judged(run.test.seek, job)
        where = run.test.seek.where
        self.later = [one for one in where if at_the_end(one.metric)]
        longest_s = _longest_s(job)
        self.least_s = min(run.probing.least_ns / SECOND_NS or longest_s, longest_s)
        claims = [one.claim for one in self.claims]
        long = run.probing.phase == "confirm"
        self.decider = Decider(claims, self.least_s, longest_s, long)
        self.decision: Decision | None = None
        self.whole = bool(self.later or run.events)
        self.time_s = 0.0

    def add(self, progress: Progress) -> bool:
        """Take an interval; True once the probe is decided."""
        if progress.warmup or not (self.claims or self.later):
            return False
        length_s = progress.interval_ns / SECOND_NS
        self.time_s += length_s
        if self.claims and self.decision is None:
            points = [one.read(progress) for one in self.claims]
            self.decision = self.decider.add(length_s, points)
        known = self.decision is not None or not self.claims
        return known and (not self.whole or self.time_s >= self.least_s - SLACK_S)

    def decided(self, probed: Probed, sample: Sample) -> Probed:
        """The probe with what came out; time has ended one that is not decided."""
        if not (self.claims or self.later):
            return probed.model_copy(update={"decision": "measured"})
        decision = self.decision or self.decider.decision()
        afterwards = [_judged(one, sample) for one in self.later]
        answers = [decision.answer] if self.claims else []
        answers += [one.decision for one in afterwards]
        return probed.model_copy(
            update={
                "decision": _joined(answers),
                "p_value": decision.p_value,
                "demands": (*map(_result, decision.parts), *afterwards),
            }
        )


def _longest_s(job: Job) -> float:
    """The time that the job says, or that its traces take: a replay ends with them."""
    ends = [job.run_ns] if job.run_ns else []
    replays = [(one.replay.span_ns, one.speed) for one in job.streams if one.replay]
    if len(replays) == len(job.streams):
        ends.append(round(max(span_ns / speed for span_ns, speed in replays)))
    return min(ends) / SECOND_NS


def _joined(answers: Sequence[Answer]) -> Answer:
    """Each part must be yes."""
    if "no" in answers:
        return "no"
    return "yes" if set(answers) == {"yes"} else "undecided"


def _judged(demand: Demand, sample: Sample) -> DemandResult:
    """A figure of the whole probe, compared with its limit."""
    found = figure(demand.metric, [sample])
    return DemandResult(
        demand=demand.text,
        decision=_answer(demand, found),
        method=METHODS["comparison"],
        figure=found.value,
        limit=demand.limit,
        p_value=None,
    )


def _answer(demand: Demand, found: Figure) -> Answer:
    """What has no value may be known to be too much."""
    if found.value is not None:
        holds = OPERATORS[demand.operator](found.value, demand.limit)
        return "yes" if holds else "no"
    beyond = (found.at_least or 0.0) > demand.limit
    return "no" if beyond and demand.operator in AT_MOST else "undecided"


def _result(part: Part) -> DemandResult:
    return DemandResult(
        demand=part.text,
        decision=part.answer,
        method=METHODS[part.method],
        figure=part.figure,
        limit=part.limit,
        p_value=part.p_value,
    )


METHODS = {
    "share": "share of I/Os beyond the limit, batch means",
    "ratio": "batch means",
    "difference": "batch means",
    "comparison": "comparison",
}
