"""What tests and preconditions cost on the chosen drive: cells, time, drive writes."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from msgspec import Struct

from ioplan.core.units import bytes_text, digits, time_text
from ioplan.language.bind.matrix import Matrix
from ioplan.language.check.parameters import Parameters
from ioplan.language.check.preconditions import defined
from ioplan.language.check.scope import Scope
from ioplan.language.errors.collector import Findings
from ioplan.language.plan import CheckedPlan, Precondition, Test
from ioplan.language.syntax import tree
from ioplan.planner.estimate import Cost, Estimator, with_repetitions
from ioplan.planner.steps import Step
from ioplan.planner.target_state import TargetState
from ioplan.planner.unfold import UNKNOWN, unfold_test
from ioplan_editor.document import Document

MOST_STEPS = 20_000
"""Half a second's; of what is larger only the cells are told."""


class TestCost(Struct, frozen=True):
    """A test's cells and what it costs; no cost where there are too many steps."""

    __test__ = False  # not one of pytest's

    cells: int
    cost: Cost | None
    rounds: int = 0


class PlanCost(Struct, frozen=True):
    """The tests by their titles, and all of them together."""

    tests: dict[str, TestCost]
    total: Cost | None
    capacity_bytes: int

    def text(self, cost: Cost) -> str:
        """`~3 h 20 min, 2.10 drive writes`."""
        about = "" if cost.exact else "~"
        return f"{about}{time_text(cost.run_s)}, {self.writes(cost)}"

    def writes(self, cost: Cost) -> str:
        """Drive writes, or that there are none."""
        share = cost.written_bytes / self.capacity_bytes
        return f"{digits(round(share, 3))} drive writes" if share else "no writes"

    def of_test(self, title: str) -> str:
        """One line on a test; empty where it is not known."""
        known = self.tests.get(title)
        if known is None:
            return ""
        noun = "cell" if known.cells == 1 else "cells"
        rounds = f" × {known.rounds} rounds at most" if known.rounds else ""
        cells = f"{known.cells:_} {noun}{rounds}"
        return f"{cells}, {self.text(known.cost)}" if known.cost else cells

    def of_plan(self) -> str:
        """One line on all tests."""
        tests = len(self.tests)
        cells = sum(one.cells for one in self.tests.values())
        head = f"{tests} {'test' if tests == 1 else 'tests'}, {cells:_} cells"
        return f"{head}, {self.text(self.total)}" if self.total else head


Kept = dict[object, tuple[TestCost, TargetState]]
"""What tests cost and in what state they leave a target, by all that decides it."""


def cost_of(document: Document) -> PlanCost | None:
    """What the sound tests of a text cost, worked out once."""
    plan = document.plan
    if plan is None or not plan.tests:
        return None
    return document.once("cost", lambda: _plan_cost(plan, document))


def _plan_cost(plan: CheckedPlan, document: Document) -> PlanCost:
    """Each test after those before it; those of which nothing changed are known."""
    shared, kept = document.workspace, document.workspace.costs
    known: dict[str, TestCost] = {}
    common, state = document.common, UNKNOWN
    total: Cost | None = Cost()
    for test in plan.tests:
        key = test.title, test.text, state, common, shared.capacity_bytes
        if key not in kept:
            kept[key] = _test_cost(test, state, plan.time_scale, shared.capacity_bytes)
        known[test.title], state = kept[key]
        cost = known[test.title].cost
        total = _sum(total, cost) if total and cost else None
    return PlanCost(known, total, shared.capacity_bytes)


def _test_cost(
    test: Test, state: TargetState, time_scale: float, capacity_bytes: int
) -> tuple[TestCost, TargetState]:
    """Without its cost where there are too many steps."""
    cells = sum(1 for _ in Matrix(test.axes, test.skip).cells())
    rounds = test.rounds.at_most if test.rounds else 0
    steps = Followed(unfold_test(test, state, time_scale))
    estimator, cost = Estimator(capacity_bytes), Cost()
    for number, (step, times) in enumerate(with_repetitions(steps)):
        if number == MOST_STEPS:
            return TestCost(cells, None, rounds), UNKNOWN
        cost = _sum(cost, estimator.cost(step).repeated(times))
    return TestCost(cells, cost, rounds), steps.state


class Followed:
    """The steps of a test, and the state after the last."""

    def __init__(self, steps: Generator[Step, None, TargetState]) -> None:
        self.steps, self.state = steps, UNKNOWN

    def __iter__(self) -> Iterator[Step]:
        self.state = yield from self.steps


def _sum(one: Cost, other: Cost) -> Cost:
    return Cost(
        one.run_s + other.run_s,
        one.written_bytes + other.written_bytes,
        one.exact and other.exact,
    )


def checked_precondition(
    node: tree.Precondition, document: Document
) -> Precondition | None:
    """A precondition's steps, those of others that it names among them."""
    module = document.module_of(node)
    findings = Findings()
    with findings.suppressed():
        scope = Scope(module, Parameters(findings))
        return defined(node, module, scope, time_scale=1.0)


def precondition_text(state: Precondition, capacity_bytes: int) -> str:
    """Its steps, and what all of them write and take."""
    estimator = Estimator(capacity_bytes)
    costs = [estimator.preparation(step) for step in state.steps]
    run_s = sum(cost.run_s for cost in costs)
    written = sum(cost.written_bytes for cost in costs)
    steps = "\n".join(step.text for step in state.steps)
    share = digits(round(written / capacity_bytes, 3))
    return (
        f"```ioplan\n{steps}\n```\n"
        f"writes {bytes_text(written)}, {share} drive writes of "
        f"{bytes_text(capacity_bytes)}, in about {time_text(run_s)}"
    )


# What a plan costs, behind each test and behind the plan's title; and lenses.


class Hint(Struct, frozen=True):
    """A text to show behind a place."""

    offset: int
    text: str


def hints(document: Document, start: int, end: int) -> Iterator[Hint]:
    """Cells, time and drive writes of the tests in a range, and of the plan."""
    cost = cost_of(document)
    if cost is None:
        return
    for item in document.file.items:
        title = item.title if isinstance(item, tree.Plan | tree.Test) else None
        if title is None or not start <= title.span.end <= end:
            continue
        is_plan = isinstance(item, tree.Plan)
        text = cost.of_plan() if is_plan else cost.of_test(title.text)
        if text:
            yield Hint(_row_end(document.text, title.span.end), text)


def _row_end(text: str, at: int) -> int:
    """The end of the row, without the blanks and the comment that are there."""
    row = text.find("\n", at)
    rest = text[at : row if row >= 0 else len(text)]
    return at + len(rest.partition("#")[0].rstrip())


class Lens(Struct, frozen=True):
    """A test that can be rehearsed, at the place of its title."""

    title: str
    span_start: int
    span_end: int


def lenses(document: Document) -> Iterator[Lens]:
    """The tests without errors."""
    sound = {test.title for test in document.plan.tests} if document.plan else set()
    for test in document.items(tree.Test):
        if test.title.text in sound:
            yield Lens(test.title.text, test.span.start, test.title.span.end)
