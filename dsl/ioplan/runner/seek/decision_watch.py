"""Decides a probe while it runs, from its intervals."""

from __future__ import annotations

from ioplan.job import SECOND_NS, Job, Progress
from ioplan.planner.steps import Run
from ioplan.records.seek import DemandResult, Probed
from ioplan.runner.seek.claims import judged
from ioplan.seek.decide import Decider, Decision, Part


class DecisionWatch:
    """Takes the intervals of a probe; ends it when it is decided."""

    def __init__(self, run: Run, job: Job) -> None:
        assert run.probing and run.test.seek and job.run_ns
        self.claims = judged(run.test.seek, job)
        longest_s = job.run_ns / SECOND_NS
        self.decider = Decider(
            [one.claim for one in self.claims],
            run.probing.least_ns / SECOND_NS,
            longest_s,
        )
        self.decision: Decision | None = None

    def add(self, progress: Progress) -> bool:
        """Take an interval; True once the probe is decided."""
        if self.claims and not progress.warmup and self.decision is None:
            points = [one.read(progress) for one in self.claims]
            length_s = progress.interval_ns / SECOND_NS
            self.decision = self.decider.add(length_s, points)
        return self.decision is not None

    def decided(self, probed: Probed) -> Probed:
        """The probe with what came out; time has ended one that is not decided."""
        if not self.claims:
            return probed.model_copy(update={"decision": "measured"})
        decision = self.decision or self.decider.decision()
        return probed.model_copy(
            update={
                "decision": decision.answer,
                "p_value": decision.p_value,
                "demands": tuple(map(_result, decision.parts)),
            }
        )


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
