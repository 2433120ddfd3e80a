"""The places of a plan: each run of each cell, whether or not it was ever done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ioplan.language.plan import CheckedPlan, Expectation
from ioplan.planner.steps import RoundsOf, Run, SeekOf, Step
from ioplan.planner.unfolding import unfold
from ioplan.records.record import RunRecord

Place = tuple[str, int, tuple[tuple[str, str], ...]]
"""Test, step and cell; rounds and repeats share theirs."""
NOT_MEASURED = "not measured"
"""What became of a cell, and of what is expected of it, that no run is of."""


def place(test: str, step: int, cell: Mapping[str, str]) -> Place:
    """The place of a cell; the order of its axes does not matter."""
    return test, step, tuple(sorted(cell.items()))


def place_of(record: RunRecord) -> Place:
    """Where in its plan a run is."""
    return place(record.asked.test, record.asked.step, record.asked.cell)


def places_of(plan: CheckedPlan) -> dict[Place, Run]:
    """The first run at each place, in the order of the plan."""
    found: dict[Place, Run] = {}
    for run in runs_of(unfold(plan)):
        found.setdefault(place(run.test.title, run.index, run.cell_text), run)
    return found


def runs_of(steps: Iterable[Step]) -> Iterator[Run]:
    """All runs, of rounds those of the first, and of a seek what it finds."""
    for step in steps:
        if isinstance(step, SeekOf):
            yield step.finding
            continue
        steps = step.round(1) if isinstance(step, RoundsOf) else (step,)
        yield from (one for one in steps if isinstance(one, Run))


def expected_of(run: Run) -> list[Expectation]:
    """What is judged of a run."""
    return [
        one
        for one in run.test.expectations
        if one.applies(run.cell) and one.metric.step in (None, run.template.name)
    ]


def expected_count(plan: CheckedPlan) -> int:
    """How many verdicts the plan has if all of it is measured."""
    if not any(test.expectations for test in plan.tests):
        return 0
    return sum(len(expected_of(run)) for run in places_of(plan).values())


def not_measured(
    places: Mapping[Place, Run], records: Iterable[RunRecord]
) -> list[Run]:
    """The runs of places that no record is of."""
    begun = {place_of(one) for one in records if one.asked.kind == "run"}
    return [run for where, run in places.items() if where not in begun]
