"""The methods' rows and the suites that are them: what each is to do and costs."""

from functools import cache
from itertools import groupby

from msgspec import Struct

from ioplan.core.units import digits, time_text
from ioplan.language import CheckedPlan, Matrix, Test, WriteStep, check_file
from ioplan.planner import (
    Estimator,
    Prepare,
    RoundsOf,
    Run,
    unfold,
    with_repetitions,
)
from ioplan.planner.estimate import Cost
from ioplan.planner.steps import SeekOf
from ioplan.planner.suites.suite import Suite, suites

TB = 10**12
SMOKE_BYTES = 256 << 20
LATE_NS = 50_000_000
"""What the start of a run may lose of its time on a busy machine."""

CELLS = {
    **{row: (8,) for row in ("A1", "A2", "A3", "A4", "A5")},  # QD 1 to 128
    **{"A6": (1,), "A7": (1,), "A8": (1, 1)},
    **{row: (7,) for row in ("B1", "B2", "B3", "B4")},  # QD 1 to 64
    **{"B5": (24,), "B6": (24,), "B7": (12,), "B8": (12,)},  # 12 sizes, 2 alignments
    **{row: (99,) for row in ("C1", "C2", "C3")},  # 11 read shares, 9 queue depths
    **{row: (9,) for row in ("C4", "C5", "C6", "C7", "C8")},
    **{"D1": (56,), "D2": (2, 2), "D3": (9, 1), "D4": (1,), "D5": (5,), "D6": (1,)},
    **{"D7": (49, 3), "D8": (49, 3, 1, 4)},
}
"""Each row of the published methods, and the cells of its tests."""

PLANS = {suite.name: suite for suite in suites() if suite.is_plan}
CUTS = "durability/powercut"
"""A simulated drive has no power to cut, and a run has to last until it is gone."""


def plan_of(suite, profile="full"):
    """A suite with the values of a profile; it is checked once for all tests."""
    return _checked(suite.path, profile)


@cache
def _checked(path, profile):
    return check_file(path, profile=profile)


class Part(Struct, frozen=True):
    """One test of a suite, and what it comes to on a drive of some size."""

    suite: Suite
    test: Test
    cells: int
    runs: int
    cost: Cost
    capacity_bytes: int

    @property
    def row(self):
        """The row of the methods that it is; empty where it is none."""
        first = self.test.title.split()[0]
        return first if first in CELLS else ""

    @property
    def shown(self):
        """As a row of the table."""
        return (
            self.row,
            f"`{self.suite.name}`",
            self.test.title.removeprefix(self.row).strip(),
            f"{self.cells}",
            f"{self.runs:,}",
            time_text(self.cost.run_s),
            writes_text(self.cost, self.capacity_bytes),
        )


def writes_text(cost, capacity_bytes):
    """How often a drive is written."""
    return digits(round(cost.written_bytes / capacity_bytes, 2))


def parts(suite, profile="full", capacity_bytes=TB):
    """The tests of a suite in their order."""
    estimator = Estimator(capacity_bytes)
    for test, group in groupby(unfold(plan_of(suite, profile)), lambda s: s.test):
        steps = list(group)
        runs = sum(
            times for step, times in with_repetitions(steps) if isinstance(step, Run)
        )
        cells = sum(1 for _ in Matrix(test.axes, test.skip).cells())
        cost = estimator.total(steps)
        yield Part(suite, test, cells, runs, cost, capacity_bytes)


HEADINGS = ("row", "suite", "test", "cells", "runs at most", "time", "drive writes")


def table():
    """All rows, in Markdown."""
    found = [part.shown for suite in PLANS.values() for part in parts(suite)]
    lines = [HEADINGS, tuple("---" for _ in HEADINGS), *sorted(found, key=_order)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _order(shown):
    """Rows first; the rest as it stands."""
    return (not shown[0], shown[0])


def cost_line(suite):
    """What a suite says of itself in its last line of comment."""
    found = list(parts(suite))
    cost = Cost(
        sum(part.cost.run_s for part in found),
        sum(part.cost.written_bytes for part in found),
    )
    writes = writes_text(cost, TB)
    wear = f"{writes} drive writes at most" if cost.written_bytes else "writes nothing"
    return f"On 1 TB: about {time_text(cost.run_s)}, {wear}."


# what a finished session has to show


def check_session(suite, profile, capacity_bytes, records):
    """The right tests, cells, rounds, durations and bytes. Raises AssertionError."""
    plan = plan_of(suite, profile)
    by_test = {
        title: list(group)
        for title, group in groupby(records, lambda record: record.asked.test)
    }
    assert list(by_test) == [test.title for test in plan.tests]
    for test, group in groupby(unfold(plan), lambda step: step.test):
        found = by_test[test.title]
        assert {r.status for r in found} == {"ok"}, [r.message for r in found]
        assert {r.asked.profile for r in found} == {profile}
        runs = [r for r in found if r.asked.kind == "run"]
        _check_runs(test, list(group), runs)
        _check_written(test, capacity_bytes, found)


def _check_runs(test, steps, runs):
    if isinstance(steps[0], RoundsOf):
        rounds = [record.asked.round for record in runs]
        last = max(rounds)
        assert sorted(set(rounds)) == list(range(1, last + 1))
        assert last <= steps[0].rounds.at_most
        assert last == steps[0].rounds.at_most or _steady(runs)
        wanted = [s for n in range(1, last + 1) for s in steps[0].round(n)]
    else:
        wanted = [step for step in steps if not isinstance(step, RoundsOf)]
    found = (one.finding if isinstance(one, SeekOf) else one for one in wanted)
    planned = [step for step in found if isinstance(step, Run)]
    assert [r.run_id for r in runs] == [step.run_id for step in planned]
    assert [r.asked.cell for r in runs] == [step.cell_text for step in planned]
    for record, step in zip(runs, planned, strict=True):
        _check_length(record, step)


def _steady(runs):
    judged = [record.steady for record in runs if record.steady]
    return bool(judged) and judged[-1].reached


def _check_length(record, step):
    run_ns = step.length.run_ns
    assert record.total.errors == 0
    assert record.total.ios > 0
    if step.every_ns:
        judged = record.run_s * 1e9 / step.every_ns
        assert record.steady
        assert len(record.steady.values) == min(int(judged + 0.5), record.steady.window)
    elif run_ns:
        late_ns = 0 if record.backend.name == "sim" else LATE_NS
        least_ns = run_ns - late_ns
        assert record.run_s * 1e9 >= least_ns, (record.asked.cell, record.run_s)


def _check_written(test, capacity_bytes, found):
    """A precondition's write writes what it says, to the block."""
    steps = {step.workload: step for step in _writes(test)}
    for record in (r for r in found if r.asked.kind == "prepare"):
        step = steps[record.asked.workload]
        if step.passes and not step.rule:
            stream = step.workload.streams[0]
            block = stream.write_sizes[0].size_bytes
            start, end = stream.region.edges_percent(capacity_bytes)
            wanted = int(capacity_bytes * (end - start) / 100 * step.passes)
            wanted = wanted // block * block
            assert abs(record.total.bytes - wanted) <= block, record.asked.after


def _writes(test):
    for step, _ in with_repetitions(unfold(CheckedPlan(tests=(test,)))):
        if isinstance(step, Prepare) and isinstance(step.step, WriteStep):
            yield step.step
