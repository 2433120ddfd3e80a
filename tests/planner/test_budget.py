"""How the time of --within is shared out, by arithmetic of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import ioplan, plan_file
from hypothesis import given
from hypothesis import strategies as st
from plans import checked

from ioplan.planner import unfold, with_repetitions
from ioplan.planner.budget import (
    BudgetError,
    Share,
    is_elastic,
    share_lines,
    shares_within,
)

CAPACITY = 10**9
LATE = """
workload late {
  a = random 4KiB 100/0, starts after 10s
  b = random 4KiB 0/100
}
"""
TWO = """
test "Short" { run random 4KiB 100/0 for 60s }
test "Long" { run random 4KiB 100/0 for 540s, warmup 10s }
"""
ROUNDS = """
test "R" { run random 4KiB 100/0 for 60s
  vary qd in 1, 2
  rounds until steady iops when qd == 1, at most 25 }
"""


def shares(text: str, within_s: float) -> tuple[Share, ...]:
    return shares_within(within_s, checked(text), CAPACITY)


@pytest.mark.promise("within.enough")
def test_a_time_that_suffices_changes_nothing() -> None:
    found = shares(TWO, 700)
    assert [one.time_s for one in found] == [60, 550]
    assert all(one.is_whole and one.factor == 1 for one in found)
    assert list(share_lines(found, 700)) == [
        "within 11 min 40 s: nothing is shortened, unless the 10 min 10 s that are "
        "planned take longer than that"
    ]


def test_runs_are_shortened_in_one_proportion() -> None:
    short, long = shares(TWO, 310)
    assert short.time_s + long.time_s == pytest.approx(310)
    assert short.factor == pytest.approx(long.factor) == pytest.approx(0.5)
    assert str(long).startswith("Long: 4 min 40 s of 9 min 10 s, 4 min 30 s of 9 min a")


def test_what_is_known_is_a_confidence_interval() -> None:
    """Seconds that differ by 5 %: Student's t for 29 degrees is 2.0452."""
    short, _ = shares(TWO, 310)
    assert short.as_json()["known_percent"] == pytest.approx(
        2.0452 * 5 / 30**0.5, rel=1e-4
    )


@pytest.mark.parametrize(
    ("within_s", "rounds", "factor"),
    [(3000, 25, 1.0), (1200, 10, 1.0), (600, 5, 1.0), (300, 5, 0.5)],
)
def test_rounds_beyond_the_least_come_last(
    within_s: float, rounds: int, factor: float
) -> None:
    (share,) = shares(ROUNDS, within_s)
    assert (share.rounds, share.factor) == (rounds, pytest.approx(factor))


@given(within_s=st.floats(1, 5000))
@pytest.mark.promise("within.refused")
def test_the_parts_are_the_whole_or_it_is_refused(within_s: float) -> None:
    needed_s = 0.1 * 600 + 10 + 0.1 * 600
    if within_s < needed_s:
        with pytest.raises(BudgetError, match=r"needs about 2 min 10 s.* for 'Long'"):
            shares(TWO + ROUNDS, within_s)
        return
    found = shares(TWO + ROUNDS, within_s)
    assert sum(one.time_s for one in found) == pytest.approx(min(within_s, 3610))
    assert all(0.1 <= one.factor <= 1 for one in found)


@pytest.mark.parametrize(
    ("run", "may"),
    [
        ("random 4KiB 70/30 for 60s", True),
        ("random 4KiB 70/30, rate 100 iops for 60s", True),
        ("random 4KiB 70/30, 1 pass", False),
        ("random 4KiB 70/30 for 10GiB", False),
        ("random 4KiB 70/30, until steady iops every 1s, at most 4 passes", False),
        ("random 4KiB 70/30, ramp 100 iops..200 iops for 60s", False),
        ("late for 60s", False),
    ],
)
def test_a_run_ends_early_only_where_it_is_the_same_throughout(
    run: str, may: bool
) -> None:
    text = f'{LATE} test "T" {{ run {run} }}'
    (step, _), *_ = with_repetitions(unfold(checked(text)))
    assert is_elastic(step) is may


def test_the_command_says_it_before_anything_runs(tmp_path: Path) -> None:
    plan = plan_file(tmp_path, f'plan "P"\n{TWO}{ROUNDS}')
    done = ioplan("plan", plan, "--within", "10min")
    assert "within 10 min, of 1 h as planned:" in done.out
    assert "5 of at most 25 rounds, 30 s of 1 min a run" in " ".join(done.out.split())
    found = json.loads(ioplan("plan", plan, "--within", "10min", "--json").out)
    assert [one["test"] for one in found["within"]] == ["Short", "Long", "R"]
    assert sum(one["time_s"] for one in found["within"]) == pytest.approx(600)


@pytest.mark.parametrize(
    ("time", "text"),
    [
        ("1s", "--within 1.00 s is too short: the plan needs about 2 min 10 s,"),
        ("0s", "--within takes a time, for example 4h, not '0s'"),
        ("4KiB", "--within takes a time"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, time: str, text: str) -> None:
    plan = plan_file(tmp_path, f'plan "P"\n{TWO}{ROUNDS}')
    for call in (["plan", plan], ["run", plan, "--backend", "sim", "--create", "1GiB"]):
        done = ioplan(*call, "--within", time, "--store", tmp_path / "s.db")
        assert (done.code, text in " ".join(done.err.split())) == (2, True), done.err
