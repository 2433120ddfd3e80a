"""Checked plan -> steps, lazily and in order. Pure: touches no device."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Set
from copy import copy
from typing import NamedTuple

from ioplan.language.bind.bind import Cell, amount_of, scaled_ns, workload_of
from ioplan.language.bind.matrix import CellKey, Matrix, cell_key, drawn
from ioplan.language.plan import (
    After,
    Amount,
    CheckedPlan,
    IdleTemplate,
    Moment,
    RepeatTemplate,
    RunTemplate,
    Seek,
    StepTemplate,
    Test,
    axes_of,
)
from ioplan.language.quantity import Quantity
from ioplan.planner.needs import Needs
from ioplan.planner.run_id import canonical, digest, set_fields
from ioplan.planner.seek.search import Probe
from ioplan.planner.seeking import Probes, bounds_of
from ioplan.planner.steps import (
    Idle,
    Length,
    PlannedEvent,
    Prepare,
    RoundsOf,
    Run,
    SeekOf,
    SingleStep,
    Step,
)
from ioplan.planner.target_state import (
    TargetState,
    path_of,
    reached,
    state_digest,
    steps_of,
)
from ioplan.records.record import Preparation
from ioplan.workload import Workload, scaled_times

RunContext = tuple[StepTemplate | None, ...]
"""Steps of a cell that bear on a run; None stands for the run itself."""


class RunPosition(NamedTuple):
    """The number of a run or a rest in its test, from 0, and what bears on it."""

    number: int
    context: RunContext


def run_positions(steps: tuple[StepTemplate, ...]) -> Iterator[tuple[int, RunPosition]]:
    """The place of each run, by the identity of its template."""
    for number, (step, context) in enumerate(_leaves(steps, (), repeated=False)):
        if isinstance(step, RunTemplate):
            yield id(step), RunPosition(number, context)


def _leaves(
    steps: tuple[StepTemplate, ...], before: RunContext, repeated: bool
) -> Iterator[tuple[StepTemplate, RunContext]]:
    """Runs and rests, each with its context; in a repeat, all other steps are part."""
    for i, step in enumerate(steps):
        rest = steps[i + 1 :] if repeated else ()
        context = (*before, *steps[:i], *((None, *rest) if rest else ()))
        if isinstance(step, RepeatTemplate):
            yield from _leaves(step.steps, context, repeated=True)
        else:
            yield step, context


UNKNOWN = TargetState()


def unfold(plan: CheckedPlan, state: TargetState = UNKNOWN) -> Iterator[Step]:
    """All steps of a plan. `state` is what the target is in before the first."""
    for test in plan.tests:
        state = yield from unfold_test(test, state, plan.time_scale)


def unfold_test(
    test: Test, state: TargetState, time_scale: float
) -> Generator[Step, None, TargetState]:
    """The steps of one test; returns the state that it leaves."""
    once = Unfolding(test, state, time_scale)
    if test.rounds:
        rounds = AllRounds(once)
        yield RoundsOf(test, test.rounds, rounds.round)
        once = rounds.ended()
    else:
        yield from once.matrix(0)
    return once.state


class Unfolding:
    """Unfolds one test; follows the state of the target."""

    def __init__(self, test: Test, state: TargetState, time_scale: float) -> None:
        self.test, self.state, self.time_scale = test, state, time_scale
        self.previous: Cell | None = None
        self.lengths: dict[int, Length] = {}
        self.contexts: dict[int, str] = {}
        self.positions = dict(run_positions(test.steps))
        self.after = preparation(test.after) if test.after else None
        self.each_run = test.after is not None and test.after.before_each == "run"
        self.then = test.after.then if test.after else None
        self.started = False
        self.needs = Needs(self._runs_of)

    def _runs_of(self, test: Test) -> Iterator[Run]:
        """What another test does, whatever the state."""
        for step in Unfolding(test, UNKNOWN, self.time_scale).matrix(0):
            run = step.finding if isinstance(step, SeekOf) else step
            if isinstance(run, Run):
                yield run

    def matrix(
        self, number: int, without: Set[CellKey] = frozenset()
    ) -> Iterator[SingleStep | SeekOf]:
        """The matrix once, `without` some cells. Rounds count from 1; 0 is outside."""
        first = True
        for cell in self._ordered(number):
            if without and cell_key(cell) in without:
                continue
            self.contexts = {}
            if self._is_due(cell, first):
                yield from self.prepare()
            if self.test.seek:
                yield self._seek(cell, self.test.seek)
            else:
                yield from self._cell(cell, self.test.steps, number, 0)
            self.previous, first = cell, False

    def _ordered(self, number: int) -> Iterable[Cell]:
        """The cells in the order of the axes, or drawn by the number of the round."""
        cells = Matrix(self.test.axes, self.test.skip).cells()
        if not self.test.rounds or not self.test.rounds.is_drawn:
            return cells
        return drawn(cells, f"{self.test.title} {number}")

    def _is_due(self, cell: Cell, first: bool) -> bool:
        """Whether the state must be reached before this cell."""
        after = self.test.after
        if after is None:
            return False
        each = after.before_each
        if self.then and self.each_run:
            return False  # what comes before each run comes before the first
        if self.previous is None or (each == "round" and first):
            return True
        if each is None or each not in cell:
            return False
        return self.previous[each].key != cell[each].key

    def prepare(self) -> Iterator[Prepare]:
        """The steps that are missing for the state that the test starts from.

        Those of `then` are done whatever the state is.
        """
        assert self.test.after and self.after
        wanted = self.test.after.precondition
        then = self.then.steps if self.then else ()
        remaining = () if self.then and self.started else self.state.remaining(wanted)
        total = len(steps_of(wanted)) + len(then)
        due = (*remaining, *then)
        for position, step in enumerate(due, total - len(due) + 1):
            yield Prepare(self.test, self.after, step, position, total)
        self.state = UNKNOWN if then else reached(wanted)
        self.started = True

    def _cell(
        self, cell: Cell, steps: tuple[StepTemplate, ...], number: int, iteration: int
    ) -> Iterator[SingleStep]:
        for step in steps:
            if isinstance(step, RepeatTemplate):
                times = int(amount_of(step.times, cell).value)
                for turn in range(1, times + 1):
                    inner = (iteration - 1) * times + turn if iteration else turn
                    yield from self._cell(cell, step.steps, number, inner)
            elif isinstance(step, IdleTemplate):
                yield Idle(self.test, cell, self._pause_ns(step, cell), step.text)
            else:
                if self.each_run:
                    yield from self.prepare()
                yield self.run(cell, step, number, iteration)

    def _seek(self, cell: Cell, seek: Seek) -> SeekOf:
        """The seek of a cell, after which the state is as after any of its probes."""
        probes = Probes(copy(self), seek, cell)
        deque(probes.probe(Probe(float(seek.highest.key), "bracket", 1)), maxlen=0)
        self.state, self.started = probes.after.state, probes.after.started
        finding = probes.finding()
        bounds = bounds_of(seek, finding.workload)
        return SeekOf(self.test, seek, cell, bounds, probes.probe, finding)

    def run(self, cell: Cell, step: RunTemplate, number: int, iteration: int) -> Run:
        """The run, after which the target may be in no known state."""
        workload = self.workload(step, cell)
        writes = workload.writes
        if writes:
            self.state = UNKNOWN
        return Run(
            self.test,
            cell,
            step,
            self.positions[id(step)].number,
            number,
            iteration,
            self.after,
            workload,
            self._length(step, cell),
            writes,
            self._context(step, cell),
            scaled_ns(step.every, self.time_scale) if step.every else None,
            self._between_ns(step.cut) if step.cut else None,
            self._events(step) if step.events else (),
            needs=self.needs.of(step, cell),
        )

    def _events(self, step: RunTemplate) -> tuple[PlannedEvent, ...]:
        moments = ((one.name, self._between_ns(one.moment)) for one in step.events)
        return tuple(PlannedEvent(name, *between) for name, between in moments)

    def workload(self, step: RunTemplate, cell: Cell) -> Workload:
        """What runs in a cell; times within a run go with its length."""
        found = workload_of(step.workload, step.override, cell)
        return found if self.time_scale == 1 else _scaled(found, self.time_scale)

    def _context(self, step: RunTemplate, cell: Cell) -> str:
        """A digest of what bears on a run, worked out once a cell."""
        context = self.positions[id(step)].context
        if context and id(step) not in self.contexts:
            self.contexts[id(step)] = digest(*self._context_parts(context, cell))
        return self.contexts.get(id(step), "")

    def _context_parts(self, steps: RunContext, cell: Cell) -> Iterator[object]:
        """What steps do in a cell, for a digest."""
        for step in steps:
            if step is None:
                yield "here"
            elif isinstance(step, IdleTemplate):
                yield from ("idle", self._pause_ns(step, cell))
            elif isinstance(step, RepeatTemplate):
                yield from ("repeat", amount_of(step.times, cell).value, "{")
                yield from (*self._context_parts(step.steps, cell), "}")
            else:
                yield from ("run", canonical(self.workload(step, cell)))
                yield from set_fields(**self._length(step, cell)._asdict())

    def _pause_ns(self, step: IdleTemplate, cell: Cell) -> int:
        return scaled_ns(amount_of(step.pause, cell), self.time_scale)

    def _between_ns(self, moment: Moment) -> tuple[int, int]:
        ends = (moment.earliest, moment.latest)
        earliest_ns, latest_ns = (scaled_ns(one, self.time_scale) for one in ends)
        return earliest_ns, latest_ns

    def _length(self, step: RunTemplate, cell: Cell) -> Length:
        """Worked out once where no axis has a say in it."""
        known = self.lengths.get(id(step))
        if known is None:
            known = length_of(step, cell, self.time_scale)
            if not is_axis_bound(step):
                self.lengths[id(step)] = known
        return known


class AllRounds:
    """The rounds of a test by their numbers; unfolding one changes no other.

    All but the first begin as the first has ended: whatever the target was in
    before a round, the last preparation and the writes of the round decide what
    it is in afterwards.
    """

    def __init__(self, begin: Unfolding) -> None:
        self.begin = begin
        self._ended: Unfolding | None = None

    def round(
        self, number: int, without: Set[CellKey] = frozenset()
    ) -> Iterator[SingleStep]:
        """The steps of one round, counted from 1, `without` the cells of these keys."""
        if number > 1:
            yield from _single(copy(self.ended()).matrix(number, without))
            return
        first = copy(self.begin)
        yield from _single(first.matrix(1))
        self._ended = first

    def ended(self) -> Unfolding:
        """As the first round has ended, whether or not someone unfolded it."""
        if self._ended is None:
            deque(self.round(1), maxlen=0)
        assert self._ended
        return self._ended


def _single(steps: Iterable[SingleStep | SeekOf]) -> Iterator[SingleStep]:
    """A test has rounds or a seek, not both."""
    return (step for step in steps if not isinstance(step, SeekOf))


def is_axis_bound(step: RunTemplate) -> bool:
    """Whether an axis decides how long a run goes on."""
    amounts = (step.run, step.warmup, step.limit, step.passes)
    return any(axes_of(amount) for amount in amounts)


def length_of(step: RunTemplate, cell: Cell, time_scale: float) -> Length:
    """How long a run goes on in a cell."""

    def value(amount: Amount | None) -> Quantity | None:
        return None if amount is None else amount_of(amount, cell)

    run, warmup = value(step.run), value(step.warmup)
    limit, passes = value(step.limit), value(step.passes)
    return Length(
        warmup_ns=scaled_ns(warmup, time_scale) if warmup and warmup.value else 0,
        run_ns=scaled_ns(run, time_scale) if run else None,
        limit_bytes=int(limit.value) if limit else None,
        passes=float(passes.value) if passes else None,
    )


def _scaled(workload: Workload, time_scale: float) -> Workload:
    """The workload, with the times of its streams within a run multiplied."""
    streams = tuple(scaled_times(stream, time_scale) for stream in workload.streams)
    return Workload.model_construct(streams=streams)


def preparation(after: After) -> Preparation:
    """The state by name and by what leads to it."""
    state = after.precondition
    if after.then is None:
        return Preparation(name=state.name, digest=state_digest(state))
    return Preparation(
        name=f"{state.name} then {after.then.name}",
        digest=digest(*path_of(state), "then", *path_of(after.then)),
    )
