"""What is asked of a plan as a whole."""

from __future__ import annotations

import pytest
from plans import checked

from ioplan.planner import summary_of


@pytest.mark.parametrize(("mix", "writing"), [("100/0", False), ("99/1", True)])
def test_only_a_plan_that_writes_opens_for_writing(mix: str, writing: bool) -> None:
    plan = checked(f'test "A" {{ idle 1s\n run random 4KiB {mix} for 1s }}')
    assert summary_of(plan).writes is writing
    rest = checked(
        'precondition p { idle 1s }\ntest "A" { after p\n run random 4KiB 100/0 for 1s }'
    )
    assert not summary_of(rest).writes


def test_hosts_are_those_of_all_streams_each_once() -> None:
    plan = checked(
        "workload w { a = random 4KiB 100/0, on hosts h2, h1 b = random 4KiB 100/0, on hosts h1 }\n"
        'test "A" { run w for 1s }\ntest "B" { run random 4KiB 100/0, on hosts h3 for 1s }'
    )
    assert summary_of(plan).hosts == ("h2", "h1", "h3")


ROUNDS = """precondition filled { write sequential 128KiB, 1 pass }
test "A" {
  after filled before each round
  run random 4KiB %s for 1s
  idle 1s
  rounds until steady iops, at most 9
}"""


def test_rounds_count_at_most_and_rests_touch_nothing() -> None:
    summary = summary_of(checked(ROUNDS % "0/100"))
    times = [(type(step).__name__, times) for step, times in summary.steps]
    assert times == [("Prepare", 9), ("Run", 9), ("Idle", 9)]
    assert [type(step).__name__ for step in summary.io_steps] == ["Prepare", "Run"]
