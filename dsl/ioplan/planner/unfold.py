"""Checked plan -> steps, lazily and in order. Pure: touches no device."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ioplan.language.bind import Cell, amount_of, scaled_ns, workload_of
from ioplan.language.plan import (
    After,
    Amount,
    CheckedPlan,
    IdleTemplate,
    Ref,
    RepeatTemplate,
    RunTemplate,
    StepTemplate,
    Test,
)
from ioplan.language.quantity import Quantity
from ioplan.planner.state import TargetState, state_digest, steps_of
from ioplan.planner.steps import Idle, Length, Prepare, RoundsOf, Run, SingleStep, Step
from ioplan.results.record import Preparation


def unfold(plan: CheckedPlan, state: TargetState | None = None) -> Iterator[Step]:
    """All steps of a plan. `state` is what the target is in before the first."""
    state = state or TargetState()
    for test in plan.tests:
        yield from Unfolding(test, state, plan.time_scale).steps()


def cells(test: Test) -> Iterator[Cell]:
    """The cells of a test's matrix, the first axis outermost, without skipped ones."""
    names = [axis.names for axis in test.axes]
    flat = [name for group in names for name in group]
    for rows in product(*(axis.values for axis in test.axes)):
        cell = dict(zip(flat, (value for row in rows for value in row), strict=True))
        if not any(skip.holds(cell) for skip in test.skip):
            yield cell


class Unfolding:
    """One test on its way into steps; follows the state of the target."""

    def __init__(self, test: Test, state: TargetState, time_scale: float) -> None:
        self.test, self.state, self.time_scale = test, state, time_scale
        self.previous: Cell | None = None
        self.lengths: dict[int, Length] = {}
        self.after = preparation(test.after) if test.after else None

    def steps(self) -> Iterator[Step]:
        """The steps of the test."""
        if self.test.rounds:
            yield RoundsOf(self.test, self.test.rounds, self.round)
        else:
            yield from self.round(0)

    def round(self, number: int) -> Iterator[SingleStep]:
        """The matrix once. Rounds count from 1; 0 is outside rounds."""
        first = True
        for cell in cells(self.test):
            if self._due(cell, number, first):
                yield from self._prepare()
            yield from self._cell(cell, self.test.steps, number, 0)
            self.previous, first = cell, False

    def _due(self, cell: Cell, number: int, first: bool) -> bool:
        """Whether the state is asked for before this cell."""
        after = self.test.after
        if after is None:
            return False
        each = after.before_each
        if self.previous is None or (each == "round" and first):
            return True
        if each is None or each not in cell:
            return False
        return self.previous[each].key != cell[each].key

    def _prepare(self) -> Iterator[Prepare]:
        """What is still to be done for the state that the test starts from."""
        after = self.test.after
        assert after is not None
        assert self.after is not None
        wanted = after.precondition
        remaining = self.state.remaining(wanted)
        total = len(steps_of(wanted))
        self.state.left_over(wanted)
        for position, step in enumerate(remaining, total - len(remaining) + 1):
            yield Prepare(self.test, self.after, step, position, total)
            self.state.prepared(step)

    def _cell(
        self, cell: Cell, steps: tuple[StepTemplate, ...], number: int, iteration: int
    ) -> Iterator[SingleStep]:
        for index, step in enumerate(steps):
            if isinstance(step, RepeatTemplate):
                times = int(amount_of(step.times, cell).value)
                for turn in range(1, times + 1):
                    again = (iteration - 1) * times + turn if iteration else turn
                    yield from self._cell(cell, step.steps, number, again)
            elif isinstance(step, IdleTemplate):
                pause = scaled_ns(amount_of(step.pause, cell), self.time_scale)
                yield Idle(self.test, cell, pause, step.text)
            else:
                yield from self._run(cell, step, index, number, iteration)

    def _run(
        self, cell: Cell, step: RunTemplate, index: int, number: int, iteration: int
    ) -> Iterator[SingleStep]:
        after = self.test.after
        if after and after.before_each == "run":
            yield from self._prepare()
        workload = workload_of(step.workload, step.override, cell)
        yield Run(
            self.test,
            cell,
            step.text,
            index,
            number,
            iteration,
            self.after,
            workload,
            self._length(step, cell),
            workload.writes,
        )
        self.state.ran(workload.writes)

    def _length(self, step: RunTemplate, cell: Cell) -> Length:
        """Worked out once where no axis has a say in it."""
        known = self.lengths.get(id(step))
        if known is None:
            known = length_of(step, cell, self.time_scale)
            if not is_open(step):
                self.lengths[id(step)] = known
        return known


def is_open(step: RunTemplate) -> bool:
    """Whether an axis decides how long a run goes on."""
    amounts = (step.run, step.warmup, step.limit, step.passes)
    return any(isinstance(amount, Ref) for amount in amounts)


def length_of(step: RunTemplate, cell: Cell, time_scale: float) -> Length:
    """How long a run goes on in a cell."""

    def value(amount: Amount | None) -> Quantity | None:
        return None if amount is None else amount_of(amount, cell)

    run, warmup = value(step.run), value(step.warmup)
    limit, passes = value(step.limit), value(step.passes)
    return Length(
        warmup_ns=scaled_ns(warmup, time_scale) if warmup else 0,
        run_ns=scaled_ns(run, time_scale) if run else None,
        limit_bytes=int(limit.value) if limit else None,
        passes=float(passes.value) if passes else None,
    )


def preparation(after: After) -> Preparation:
    """The state by name and by what leads to it."""
    return Preparation(
        name=after.precondition.name, digest=state_digest(after.precondition)
    )
