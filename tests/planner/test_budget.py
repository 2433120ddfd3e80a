"""How the time of --within is shared out, by arithmetic of its own."""

import json
from typing import Any

import pytest
from command import ioplan, plan_file, succeed
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

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


def planned(folder, text, within_s):
    plan = plan_file(folder, text)
    within = ("--within", f"{within_s:.3f}s", "--capacity", "976564KiB", "--json")
    return ioplan("plan", plan, *within)


def shares(folder, text, within_s):
    done = planned(folder, text, within_s)
    assert done.code == 0, done.err
    found: list[dict[str, Any]] = json.loads(done.out)["within"]
    return found


@pytest.mark.promise("within.enough")
def test_a_time_that_suffices_changes_nothing(tmp_path):
    found = shares(tmp_path, TWO, 700)
    assert [one["time_s"] for one in found] == [60, 550]
    assert [one["run_s"] for one in found] == [60, 540]
    plan = plan_file(tmp_path, TWO)
    told = " ".join(ioplan("plan", plan, "--within", "700s").out.split())
    assert (
        "within 11 min 40 s: nothing is shortened, unless the 10 min 10 s that are "
        "planned take longer than that"
    ) in told


def test_runs_are_shortened_in_one_proportion(tmp_path):
    """What is known is a confidence interval: seconds that differ by 5 %, and
    Student's t for 29 degrees is 2.0452."""
    short, long = shares(tmp_path, TWO, 310)
    assert short["time_s"] + long["time_s"] == pytest.approx(310, abs=0.01)
    assert (short["run_s"], long["run_s"]) == (pytest.approx(30), pytest.approx(270))
    known = pytest.approx(2.0452 * 5 / 30**0.5, rel=1e-4)
    assert short["known_percent"] == known
    plan = plan_file(tmp_path, TWO)
    told = " ".join(ioplan("plan", plan, "--within", "310s").out.split())
    assert "Long: 4 min 40 s of 9 min 10 s, 4 min 30 s of 9 min a run" in told


@pytest.mark.parametrize(
    ("within_s", "rounds", "run_s"),
    [(3000, 25, 60), (1200, 10, 60), (600, 5, 60), (300, 5, 30)],
)
def test_rounds_beyond_the_least_come_last(within_s, rounds, run_s, tmp_path):
    (share,) = shares(tmp_path, ROUNDS, within_s)
    assert (share["rounds_at_most"], share["run_s"]) == (rounds, run_s)


@settings(max_examples=20, suppress_health_check=[*HealthCheck])
@given(within_s=st.floats(1, 5000))
@pytest.mark.promise("within.refused")
def test_the_parts_are_the_whole_or_it_is_refused(within_s, tmp_path):
    needed_s = 0.1 * 600 + 10 + 0.1 * 600
    assume(abs(within_s - needed_s) > 0.01)
    if within_s < needed_s:
        said = " ".join(planned(tmp_path, TWO + ROUNDS, within_s).err.split())
        assert "needs about 2 min 10 s" in said and " for 'Long'" in said
        return
    found = shares(tmp_path, TWO + ROUNDS, within_s)
    total_s = sum(one["time_s"] for one in found)
    assert total_s == pytest.approx(min(within_s, 3610), abs=0.01)
    whole = {"Short": 60, "Long": 540, "R": 60}
    for one in found:
        assert 0.0999 <= one["run_s"] / whole[one["test"]] <= 1


@pytest.mark.parametrize(
    ("run", "may"),
    [
        ("random 4KiB 70/30 for 60s", True),
        ("random 4KiB 70/30, rate 100 iops for 60s", True),
        ("random 4KiB 0/100, 60 passes", False),
        ("random 4KiB 0/100 for 60GB", False),
        ("random 4KiB 0/100, until steady iops every 5s, at most 60 passes", False),
        ("random 4KiB 70/30, ramp 100 iops..200 iops for 60s", False),
        ("late for 60s", False),
    ],
)
def test_a_run_ends_early_only_where_it_is_the_same_throughout(run, may, tmp_path):
    done = planned(tmp_path, f'{LATE} test "T" {{ run {run} }}', 20)
    assert (done.code == 0) == may, done.err + done.out
    assert may or "is too short" in done.err


def test_the_command_says_it_before_anything_runs(tmp_path):
    plan = plan_file(tmp_path, f'plan "P"\n{TWO}{ROUNDS}')
    done = ioplan("plan", plan, "--within", "10min")
    assert "within 10 min, of 1 h as planned:" in done.out
    assert "5 of at most 25 rounds, 29.5 s of 1 min a run" in " ".join(done.out.split())
    found = json.loads(ioplan("plan", plan, "--within", "10min", "--json").out)
    assert [one["test"] for one in found["within"]] == ["Short", "Long", "R"]
    assert sum(one["time_s"] for one in found["within"]) == pytest.approx(600)


@pytest.mark.parametrize(
    ("time", "text"),
    [
        ("1s", "--within 1 s is too short: the plan needs about 2 min 10 s,"),
        ("0s", "--within takes a time, for example 4h, not '0s'"),
        ("4KiB", "--within takes a time"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, time, text):
    plan = plan_file(tmp_path, f'plan "P"\n{TWO}{ROUNDS}')
    for call in (["plan", plan], ["run", plan, "--backend", "sim", "--create", "1GiB"]):
        done = ioplan(*call, "--within", time, "--store", tmp_path / "s.db")
        assert (done.code, text in " ".join(done.err.split())) == (2, True), done.err


# what state of the drive each test meets

PURGED = "precondition p { purge }\n"
FILLED = "precondition p { purge write sequential 128KiB, qd 32, 2 passes }\n"
IN_ORDER = 'test "T" { after p run sequential 128KiB 0/100, qd 32 for 1s }\n'
READS = 'test "T" { after p run random 4KiB 100/0, qd 32 for 1s }\n'
ERASED = "nothing written since the purge"
TWICE = "2 × capacity written since the purge, 100 % of it"
UNREAD = "100 % of the blocks it reads were never written"
UNKNOWN = "nothing written in known history"
CASES = [
    (PURGED + READS, ERASED, UNREAD),
    (FILLED + READS, TWICE, ""),
    (FILLED + IN_ORDER, TWICE, ""),
    (READS.replace("after p ", ""), UNKNOWN, ""),
]


@pytest.mark.parametrize(("text", "state", "doubt"), CASES)
def test_a_plan_says_what_state_each_test_meets(text, state, doubt, tmp_path):
    plan = plan_file(tmp_path, text)
    done = succeed("plan", plan, "--capacity", "1GiB", "--json")
    assert json.loads(done.out)["met"] == {"T": {"state": state, "doubt": doubt}}
    told = " ".join(ioplan("plan", plan, "--capacity", "1GiB").out.split())
    assert state in told
    assert ("in its runs" in told) == bool(doubt) and doubt in told


def test_a_test_meets_what_the_tests_before_it_leave(tmp_path):
    first = IN_ORDER.replace("for 1s", ", 1 pass")
    text = PURGED + first + READS.replace("after p ", "").replace('"T"', '"U"')
    plan = plan_file(tmp_path, text)
    met = json.loads(ioplan("plan", plan, "--capacity", "1GiB", "--json").out)["met"]
    assert met["T"]["state"] == ERASED
    assert met["U"] == {
        "state": "1 × capacity written since the purge, 100 % of it",
        "doubt": "",
    }


@pytest.mark.slow
@pytest.mark.parametrize(("prepared", "is_said"), [(PURGED, True), (FILLED, False)])
def test_a_picture_says_what_state_its_figures_are_of(
    prepared, is_said, tmp_path, store_path
):
    reads = READS.replace("qd 32", "qd 1").replace("1s", "100ms vary qd in 1, 2")
    text = prepared + reads.replace(" }\n", "\nchart lines iops by qd }\n")
    plan = plan_file(tmp_path, text)
    call = ("--backend", "sim", "--create", "64MiB", "--quiet")
    assert ioplan("run", plan, *call).code == 0
    shown = succeed("show", "last", "--store", store_path)
    note = f"state of the drive: {UNREAD}"
    assert (note in " ".join(shown.out.split())) == is_said


@pytest.mark.slow
def test_what_others_have_written_since_is_unknown(tmp_path, store_path):
    target = tmp_path / "t"
    reads = 'test "T" { run random 4KiB 100/0, qd 1 for 200ms }\n'
    first = plan_file(tmp_path, FILLED + reads.replace("run", "after p run", 1))
    call = ("--target", target, "--create", "16MiB", "--quiet")
    assert ioplan("run", first, *call, "--store", store_path).code == 0

    def met():
        plan = plan_file(tmp_path, reads)
        where = ("--target", target, "--store", store_path, "--json")
        state: str = json.loads(ioplan("plan", plan, *where).out)["met"]["T"]["state"]
        return state

    assert met() == TWICE
    with target.open("r+b") as file:
        file.write(bytes(64 << 10))
    assert met() == UNKNOWN
