"""Properties of planning, judged by a simpler planner that follows the target's history."""

from itertools import islice, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import asdict
from plans import checked

from ioplan.backends import TargetFacts
from ioplan.planner import (
    Idle,
    Prepare,
    RoundsOf,
    Run,
    all_jobs,
    unfold,
    with_repetitions,
)
from ioplan.workload import MIN_INTERVAL_NS

ATOMS = {
    "purge": "purge",
    "fill": "write sequential 128KiB, qd 8, 1 pass",
    "scramble": "write random 4KiB, qd 32, 1 pass",
    "rest": "idle 1min",
}
ROUNDS = 3


class Written(Struct, frozen=True):
    """A test as it will be written. Steps: "run", "idle" or (times, steps)."""

    after: int | None
    each: str | None
    qds: tuple[int, ...]
    reads: tuple[int, ...]
    steps: tuple[Any, ...]
    rounds: bool


steps = st.recursive(
    st.sampled_from(["run", "idle"]),
    lambda inner: st.tuples(st.integers(1, 3), st.lists(inner, min_size=1, max_size=3)),
    max_leaves=4,
)
tests = st.builds(
    Written,
    after=st.none() | st.integers(0, 2),
    each=st.sampled_from([None, "qd", "read", "run", "round"]),
    qds=st.sampled_from([(1,), (1, 2), (4, 2, 1)]),
    reads=st.sampled_from([(100,), (0,), (100, 0), (50, 100)]),
    steps=st.lists(steps, max_size=2).map(lambda found: (*found, "run")),
    rounds=st.booleans(),
)
states = st.lists(
    st.lists(st.sampled_from([*ATOMS, "state"]), min_size=1, max_size=4),
    min_size=3,
    max_size=3,
)


def flat(states, number):
    """The atoms of a state; "state" stands for the one before."""
    return [
        atom
        for item in states[number]
        for atom in (flat(states, number - 1) if item == "state" else [item])
    ]


def text_of(states, tests):
    rows = []
    for number, items in enumerate(states):
        body = "\n".join(ATOMS.get(item, f"state{number - 1}") for item in items)
        rows.append(f"precondition state{number} {{\n{body}\n}}")
    rows += [written(number, test) for number, test in enumerate(tests)]
    return "\n".join(rows)


def written(number, test):
    each = f" before each {test.each}" if test.each else ""
    after = f"after state{test.after}{each}\n" if test.after is not None else ""
    qds = ", ".join(map(str, test.qds))
    reads = ", ".join(f"{read}%" for read in test.reads)
    rounds = f"rounds until steady iops when qd == {test.qds[0]} and "
    rounds += f"read == {test.reads[0]}%, over 3, at most {ROUNDS}\n"
    return (
        f'test "T{number}" {{\n{after}{steps_text(test.steps)}vary qd in {qds}\n'
        f"vary read in {reads}\n{rounds if test.rounds else ''}}}"
    )


def steps_text(steps):
    texts = {"run": "run random 4KiB for 1s\n", "idle": "idle 2s\n"}
    return "".join(
        texts[step]
        if isinstance(step, str)
        else f"repeat {step[0]} {{\n{steps_text(step[1])}}}\n"
        for step in steps
    )


class Judge:
    """Plans anew, in the plainest way; `history` is what was done since a write."""

    def __init__(self, states):
        self.states = [self.since_purge(flat(states, n)) for n in range(len(states))]
        self.history: list[str] = []

    @staticmethod
    def since_purge(atoms):
        while "purge" in atoms[1:]:
            atoms = atoms[atoms.index("purge", 1) :]
        return atoms

    def prepare(self, test):
        assert test.after is not None
        wanted = self.states[test.after]
        kept = self.history if wanted[: len(self.history)] == self.history else []
        yield from (("prepare", atom) for atom in wanted[len(kept) :])
        self.history = wanted

    def plan(self, test):
        before: tuple[int, int] | None = None
        for number in range(1, ROUNDS + 1) if test.rounds else [0]:
            for first, cell in enumerate(product(test.qds, test.reads)):
                changed = {
                    "qd": before and before[0] != cell[0],
                    "read": before and before[1] != cell[1],
                    "round": first == 0,
                }
                due = before is None or changed.get(test.each or "")
                if test.after is not None and due:
                    yield from self.prepare(test)
                yield from self.steps(test, test.steps, cell, number)
                before = cell

    def steps(self, test, steps, cell, number):
        for step in steps:
            if step == "idle":
                yield ("idle",)
            elif step == "run":
                if test.after is not None and test.each == "run":
                    yield from self.prepare(test)
                yield ("run", number, *cell)
                self.history = self.history if cell[1] == 100 else []
            else:
                for _ in range(step[0]):
                    yield from self.steps(test, step[1], cell, number)


def said(step):
    if isinstance(step, RoundsOf):
        for number in range(1, ROUNDS + 1):
            for inner in step.round(number):
                yield from said(inner)
    elif isinstance(step, Prepare):
        purge = type(step.step).__name__ == "PurgeStep"
        texts = {text: atom for atom, text in ATOMS.items()}
        yield "prepare", "purge" if purge else texts[step.step.text]
    elif isinstance(step, Idle):
        yield ("idle",)
    else:
        (stream,) = step.workload.streams
        yield "run", step.round, stream.qd, int(stream.read_percent)


def valid(states, tests):
    """The plan, without what may not be said of it."""
    states[0][:] = [item for item in states[0] if item != "state"] or ["fill"]
    tests[:] = [
        Written(**{**asdict(t), "each": None})
        if t.each == "round" and not t.rounds
        else t
        for t in tests
    ]
    return checked(text_of(states, tests))


@given(states, st.lists(tests, min_size=1, max_size=3))
@pytest.mark.long
@pytest.mark.promise("plans.states")
def test_order_number_and_states(states, tests):
    """Every step, and no other: so no run starts from another state than it asked for."""
    plan = valid(states, tests)
    judge = Judge(states)
    expected = [step for test in tests for step in judge.plan(test)]
    assert [row for step in unfold(plan) for row in said(step)] == expected


@pytest.mark.long
@given(states, st.lists(tests, min_size=1, max_size=3))
def test_unfolding_one_part_changes_no_other(states, tests):
    plan = valid(states, tests)
    expected = [row for step in unfold(plan) for row in said(step)]
    found = []
    for step in unfold(valid(states, tests)):
        if isinstance(step, RoundsOf):
            list(islice(step.round(2), 2))
            list(step.round(ROUNDS)), list(step.round(1))
            ids = [
                [r.run_id for r in step.round(n) if isinstance(r, Run)] for n in (1, 3)
            ]
            assert ids[0] == ids[1]
        found += said(step)
    assert found == expected
    assert [str(step) for step in unfold(plan)] == [str(step) for step in unfold(plan)]


@given(states, st.lists(tests, min_size=1, max_size=3))
@pytest.mark.long
def test_counted_is_what_is_done_at_most(states, tests):
    plan = valid(states, tests)
    done: dict[tuple[Any, ...], int] = {}
    for row in (row for step in unfold(plan) for row in said(step)):
        key = row if row[0] != "run" else (row[0], *row[2:])
        done[key] = done.get(key, 0) + 1
    told: dict[tuple[Any, ...], int] = {}
    for step, times in with_repetitions(unfold(plan)):
        (row,) = said(step)
        key = row if row[0] != "run" else (row[0], *row[2:])
        told[key] = told.get(key, 0) + times
    assert told == done


@given(tests)
def test_places_tell_the_steps_of_a_test_apart(test):
    """Index, iteration and round name a run of a cell; what repeats has one id."""
    plan = valid([["fill"], ["fill"], ["fill"]], [test])
    seen: set[tuple[Any, ...]] = set()
    ids: dict[tuple[Any, ...], set[str]] = {}
    for step, _ in with_repetitions(unfold(plan)):
        if isinstance(step, Run):
            cell = tuple(step.cell_text.items())
            place = (cell, step.index, step.iteration, step.round)
            assert place not in seen
            seen.add(place)
            ids.setdefault((cell, step.index), set()).add(step.run_id)
    assert all(len(found) == 1 for found in ids.values())


# jobs

FACTS = TargetFacts(path="x", kind="file", capacity_bytes=1 << 30, block_bytes=4096)


def test_seeds_differ_in_rounds_and_iterations():
    plan = checked('test "A" { repeat 300 { run random 4KiB 100/0 for 1s } }')
    jobs = [job for _, job in all_jobs(unfold(plan), FACTS, True)]
    assert len({job.seed for job in jobs}) == 300
    assert len({job.model_copy(update={"seed": 1}) for job in jobs}) == 1
    plan = checked(
        'test "A" { run random 4KiB for 1s vary read in 100% vary qd in 1, 2\n'
        "rounds until steady iops when qd == 1, at most 25 }"
    )
    (rounds,) = unfold(plan)
    assert isinstance(rounds, RoundsOf)
    every = [step for number in range(1, 26) for step in rounds.round(number)]
    assert len({job.seed for _, job in all_jobs(every, FACTS, True)}) == 50


@given(st.integers(1, 2_880_000_000_000))
def test_intervals_of_a_window_fill_it(every_ns):
    steady = f"until steady iops every {every_ns}ns, at most 4h"
    plan = checked(
        f'accept "fresh state"\ntest "T" {{ run random 4KiB 0/100, {steady} }}'
    )
    ((_, job),) = all_jobs(unfold(plan), FACTS, False)
    parts = -(-every_ns // job.interval_ns)
    assert MIN_INTERVAL_NS <= job.interval_ns <= 10**9
    if every_ns > MIN_INTERVAL_NS:
        assert 0 <= parts * job.interval_ns - every_ns < parts
