"""The cell that rounds track until it is steady."""

from __future__ import annotations

from ioplan.language.plan import Rounds
from ioplan.measure.metrics import Figure, Sample, figure
from ioplan.measure.steady_state import assess
from ioplan.planner.steps import Run
from ioplan.records.record import Steady


class RoundTracker:
    """One value a round: the metric over all runs of the cell in that round."""

    def __init__(self, rounds: Rounds) -> None:
        self.rounds = rounds
        self.samples: list[Sample] = []
        self.values: dict[int, Figure] = {}

    def add(self, run: Run, sample: Sample) -> Steady | None:
        """The assessment so far, if the run is of the cell that is tracked."""
        if self.rounds.when and not self.rounds.when.holds(run.cell):
            return None
        if run.round not in self.values:
            self.samples = []
        self.samples.append(sample)
        self.values[run.round] = figure(self.rounds.rule.metric, self.samples)
        return self.assessment()

    def add_failure(self, run: Run) -> None:
        """A round whose tracked cell failed has no value."""
        if not self.rounds.when or self.rounds.when.holds(run.cell):
            self.values[run.round] = Figure(None, f"round {run.round} failed")

    def assessment(self) -> Steady:
        """The assessment of the rounds so far."""
        return assess(self.rounds.rule, tuple(self.values.values()))
