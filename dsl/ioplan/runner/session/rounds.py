"""What ends rounds: the cell that they track, and the cells that are decided."""

from __future__ import annotations

from collections import defaultdict

from ioplan.language.bind.matrix import CellKey, cell_key
from ioplan.language.plan import Rounds, SteadyRule, Within
from ioplan.planner.steps import Run
from ioplan.records.record import (
    Decided,
    DriveState,
    RunDetail,
    RunRecord,
    Steady,
)
from ioplan.results.measure.metrics import Figure, Sample, figure
from ioplan.results.measure.series import changed_within
from ioplan.results.measure.steady_state import assess, borne, decide

NO_CELLS: frozenset[CellKey] = frozenset()


class RoundTracker:
    """The rounds of a test: what they track, and what of it is decided."""

    def __init__(self, rounds: Rounds) -> None:
        self.rounds = rounds
        self.tracked = TrackedCell(rounds, rounds.rule) if rounds.rule else None
        self.cells = CellMeans(rounds.within) if rounds.within else None

    def judged(self, run: Run, record: RunRecord, detail: RunDetail) -> RunRecord:
        """The record with what it says of its cell."""
        sample = Sample(record, detail)
        steady = self.tracked.add(run, sample, record.state) if self.tracked else None
        decided = self.cells.add(run, sample) if self.cells else None
        return record.model_copy(update={"steady": steady, "decided": decided})

    def add_failure(self, run: Run) -> None:
        """A round in which a cell failed has no value of it."""
        if self.tracked:
            self.tracked.add_failure(run)
        if self.cells:
            self.cells.add_failure(run)

    def steady(self) -> Steady | None:
        """The assessment of the tracked cell, if there is one."""
        return self.tracked.assessment() if self.tracked else None

    def left_out(self) -> frozenset[CellKey]:
        """The cells that need no further round; a tracked one, once it is steady."""
        if self.cells is None:
            return NO_CELLS
        found = self.cells.decided()
        if self.tracked and not self.tracked.assessment().reached:
            found -= self.tracked.keys
        return found

    def why(self) -> str:
        """What keeps the rounds going on; empty when they are over."""
        if steady := self.steady():
            return steady.why
        return self.cells.why() if self.cells else ""


class TrackedCell:
    """One value a round: the metric over all runs of the cell in that round."""

    def __init__(self, rounds: Rounds, rule: SteadyRule) -> None:
        self.when, self.rule = rounds.when, rule
        self.samples: list[Sample] = []
        self.values: dict[int, Figure] = {}
        self.state: DriveState | None = None
        self.keys: frozenset[CellKey] = NO_CELLS

    def add(self, run: Run, sample: Sample, state: DriveState | None) -> Steady | None:
        """The assessment so far, if the run is of the cell that is tracked."""
        if self.when and not self.when.holds(run.cell):
            return None
        self.keys = frozenset({cell_key(run.cell)})
        if run.round not in self.values:
            self.samples = []
        self.samples.append(sample)
        self.state = state
        change = changed_within(sample.detail.series)
        self.values[run.round] = (
            Figure(None, f"round {run.round} changed within itself: {change}")
            if change
            else figure(self.rule.metric, self.samples)
        )
        return self.assessment()

    def add_failure(self, run: Run) -> None:
        """A round whose tracked cell failed has no value."""
        if not self.when or self.when.holds(run.cell):
            self.values[run.round] = Figure(None, f"round {run.round} failed")

    def assessment(self) -> Steady:
        """The assessment of the rounds so far, by the drive's state after the last."""
        found = assess(self.rule, tuple(self.values.values()))
        return borne(found, self.state) if self.state else found


Place = tuple[CellKey, int]
"""A cell and a step in it."""


class CellMeans:
    """A value a round of each cell and step, and what is known of their means."""

    def __init__(self, within: Within) -> None:
        self.within = within
        self.samples: dict[Place, list[Sample]] = {}
        self.values: dict[Place, dict[int, Figure]] = defaultdict(dict)

    def add(self, run: Run, sample: Sample) -> Decided | None:
        """What is known now of the mean that the run belongs to, if any."""
        metric, place = self.within.metric, (cell_key(run.cell), run.index)
        if metric.step and metric.step != run.template.name:
            return None
        if run.round not in self.values[place]:
            self.samples[place] = []
        self.samples[place].append(sample)
        self.values[place][run.round] = figure(metric, self.samples[place])
        return self._known(place)

    def add_failure(self, run: Run) -> None:
        """A round in which the cell failed has no value."""
        place, failed = (cell_key(run.cell), run.index), f"round {run.round} failed"
        self.values[place][run.round] = Figure(None, failed)

    def _known(self, place: Place) -> Decided:
        return decide(self.within, tuple(self.values[place].values()))

    def decided(self) -> frozenset[CellKey]:
        """The cells all of whose steps are decided."""
        reached = {place: self._known(place).reached for place in self.values}
        open_cells = {
            cell for (cell, _), is_reached in reached.items() if not is_reached
        }
        return frozenset(cell for cell, _ in reached) - open_cells

    def why(self) -> str:
        """How many cells are open; empty if none is."""
        cells = {cell for cell, _ in self.values}
        count = len(cells) - len(self.decided())
        percent = f"{self.within.percent:g} %"
        return f"{count} of {len(cells)} cells not within {percent}" if count else ""
