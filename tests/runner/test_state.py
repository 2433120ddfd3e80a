"""The state of the target, step by step."""

from __future__ import annotations

from plans import checked

from ioplan.language.plan import Precondition
from ioplan.planner import unfold
from ioplan.planner.target_state import TargetState, reached, state_digest, steps_of

TEXT = """
precondition filled { purge write sequential 128KiB, qd 8, 1 pass }
precondition twice { purge write sequential 128KiB, qd 8, 2 passes }
precondition scrambled { filled write random 4KiB, qd 32, 1 pass }
precondition same { idle 1s scrambled }
precondition unpurged { write sequential 128KiB, qd 8, 1 pass }
"""


def state(name: str) -> Precondition:
    text = f'{TEXT}test "T" {{ after {name}\n run random 4KiB 100/0 for 1s }}'
    after = checked(text).tests[0].after
    assert after
    return after.precondition


def test_nothing_is_known_at_first() -> None:
    for name in ("filled", "unpurged"):
        assert TargetState().remaining(state(name)) == steps_of(state(name))


def test_a_state_that_is_reached_needs_nothing() -> None:
    assert reached(state("filled")).remaining(state("filled")) == ()


def test_the_beginning_of_a_state_is_continued() -> None:
    (step,) = reached(state("filled")).remaining(state("scrambled"))
    assert step.text == "write random 4KiB, qd 32, 1 pass"


def test_the_continuation_of_a_state_is_not_that_state() -> None:
    found = reached(state("scrambled")).remaining(state("filled"))
    assert found == steps_of(state("filled"))


def test_more_passes_are_another_state() -> None:
    found = reached(state("filled")).remaining(state("twice"))
    assert found == steps_of(state("twice"))


def test_a_purge_makes_what_was_before_it_not_matter() -> None:
    assert state_digest(state("same")) == state_digest(state("scrambled"))
    assert state_digest(state("unpurged")) != state_digest(state("filled"))


def test_a_plan_may_begin_in_a_known_state() -> None:
    text = f'{TEXT}test "T" {{ after scrambled\n run random 4KiB 100/0 for 1s }}'
    steps = list(unfold(checked(text), reached(state("filled"))))
    assert [type(step).__name__ for step in steps] == ["Prepare", "Run"]
