"""A session on a drive that plays a script: what is told when, how runs are judged, and what follows a failed one."""

import pytest
from bench import FILLED, READS, played, steady_at
from command import ioplan, plan_file
from figures import SECOND_NS

from ioplan.job import Failure, Started
from ioplan.results.store import Store
from ioplan.runner import BaselineSession

# order


def test_everything_is_told_in_order(bench):
    text = FILLED + 'test "T" { after filled\n run random 4KiB 100/0 for 2s\n'
    text += "idle 3s\n expect iops > 1 }"
    assert bench.go(text).status == "ok"
    assert bench.log == [
        ("session_started",),
        ("step", 1, "filled: purge"),
        ("purged", 0.5),
        ("purge",),
        ("note", "purge: wiped"),
        ("step", 2, "filled: write random 4KiB, 1 pass"),
        ("start", 1),
        *[("progress", pytest.approx(i * 100 / 255, abs=1e-6)) for i in (1, 2)],
        ("progress", 1.0),
        ("left", 1),
        ("add", 1),
        ("record", 1, "ok"),
        ("step", 3, "run random 4KiB 100/0 for 2s"),
        ("start", 2),
        ("progress", 0.5),
        ("progress", 1.0),
        ("left", 2),
        ("add", 2),
        ("record", 2, "ok"),
        ("verdict", 2, "held"),
        ("step", 4, "idle 3s"),
        ("idle", 3 * SECOND_NS),
        ("finish", "ok"),
        ("session_finished", "ok"),
    ]
    asked = [record.asked for record in bench.records]
    assert [(a.kind, a.test) for a in asked] == [("prepare", "T"), ("run", "T")]
    assert asked[1].after and asked[1].after.name == "filled"


@pytest.mark.promise("resume.once")
def test_each_run_is_durable_before_the_next_begins(bench):
    """Read from a connection of its own, as after a crash."""
    kept = []

    def moment(name):
        if name == "start":
            with Store.open(bench.store.where) as other:
                kept.append(other.count("s1"))

    bench.drive.moment = moment
    bench.go(READS % "")
    assert kept == [0, 1, 2]


def test_runs_that_only_read_cannot_write(bench):
    bench.go(READS % "")
    assert all(record.asked.job.read_only for record in bench.records)
    bench.go('test "T" { run random 4KiB 100/0 for 1s\n run random 4KiB 0/100 for 1s }')
    assert not any(record.asked.job.read_only for record in bench.records)


# the time that is left


@pytest.mark.parametrize("script", [steady_at(100), steady_at(*range(10, 5000, 100))])
def test_the_time_left_sinks_to_nothing(bench, script):
    text = FILLED + (
        'test "A" { after filled before each round\n run random 4KiB for 2s\n'
        "vary read in 100%, 0%\n rounds until steady iops when read == 0%, at most 9 }\n"
        'test "B" { after filled\n repeat 3 { idle 1s\n run random 4KiB 100/0 for 2s } }'
    )
    bench.go(text, script)
    lefts = bench.spy.lefts
    assert all(left >= 0 for left in lefts)
    assert lefts == sorted(lefts, reverse=True)
    assert lefts[-1] == pytest.approx(0, abs=1e-6 * lefts[0])
    assert lefts[-2] > 1


# verdicts


def verdicts(bench):
    return {
        record.seq: [(v.outcome, v.actual) for v in record.verdicts]
        for record in bench.records
        if record.verdicts
    }


def test_a_run_is_judged_at_once(bench):
    bench.go(READS % "expect iops > 150\n expect errors == 0", steady_at(100, 200))
    assert verdicts(bench) == {
        1: [("failed", 100), ("held", 0)],
        2: [("held", 200), ("held", 0)],
        3: [("held", 200), ("held", 0)],
    }
    assert bench.outcomes == {"failed": 1, "held": 5}
    assert bench.log.index(("verdict", 1, "failed")) < bench.log.index(("start", 2))
    assert not bench.told("add_verdicts")


def test_only_the_cells_that_are_meant_are_judged(bench):
    bench.go(READS % "expect iops > 150 when qd == 2")
    assert verdicts(bench) == {2: [("failed", 100)]}


def test_repeats_are_judged_together_at_the_end(bench):
    text = 'test "T" { vary qd in 1, 2\n repeat 2 { run random 4KiB 100/0 for 1s }\n'
    bench.go(text + "expect iops >= 300 }", steady_at(100, 300, 300, 400))
    assert verdicts(bench) == {2: [("failed", 200)], 4: [("held", 350)]}
    assert bench.told("add_verdicts") == [("add_verdicts", 2), ("add_verdicts", 4)]
    assert bench.log.index(("add", 4)) < bench.log.index(("add_verdicts", 2))


def test_steps_of_a_test_are_judged_apart(bench):
    """Also one that stands before a repeat and one that stands in it."""
    text = 'test "T" { run random 8KiB 100/0 for 1s\n'
    text += "repeat 2 { run random 4KiB 100/0 for 1s }\n expect iops >= 200 }"
    bench.go(text, steady_at(100, 200, 400))
    assert verdicts(bench) == {1: [("failed", 100)], 3: [("held", 300)]}


def test_rounds_are_judged_on_the_last_window(bench):
    """All of each round counts, also where a round repeats a run."""
    rates = [1000, 1000, 100, 102, 100, 98, 100, 104, 100, 96, 110, 90]
    text = 'test "T" { repeat 2 { run random 4KiB 100/0 for 1s }\n'
    text += "rounds until steady iops, at most 9\n expect iops >= 100 }"
    bench.go(text, steady_at(*rates))
    assert verdicts(bench) == {12: [("held", 100)]}
    assert [row[0] for row in bench.log[-4:]] == [
        *("add_verdicts", "verdict"),
        *("finish", "session_finished"),
    ]


def test_against_an_earlier_session(bench):
    text = READS % "expect iops >= 95% of baseline"
    bench.go(text, steady_at(100, 200, 300))
    assert bench.outcomes == {"no baseline": 3}
    baseline = BaselineSession(bench.store, "s1")
    bench.drive.started = 0
    bench.go(text, steady_at(95, 189, 400), baseline=baseline)
    assert bench.outcomes == {"held": 2, "failed": 1}
    longer = text.replace("for 2s", "for 3s")
    bench.go(longer, baseline=baseline)
    assert bench.outcomes == {"no baseline": 3}


STEPS = """test "T" {
  run    random 4KiB 100/0 for 1s as before
  run    random 4KiB 0/100 for 1s as later
  vary   qd in 1, 2
  expect later.iops >= 90% of before.iops
  expect before.iops >= 100
}"""


def test_a_step_is_compared_with_another_of_its_cell(bench):
    bench.go(STEPS, steady_at(100, 95, 100, 80))
    found = [[one.outcome for one in r.verdicts] for r in bench.records]
    assert found == [["held"], ["held"], ["held"], ["failed"]]
    assert [one.asked.name for one in bench.records] == ["before", "later"] * 2
    assert bench.records[1].verdicts[0].limit == 90


# what happens after a failed run: stop, or go on with the next cell

TWO_TESTS = (
    FILLED
    + """
test "A" { after filled vary qd in 1, 2 run random 4KiB 100/0 for 1s }
test "B" { run random 4KiB 100/0 for 1s }"""
)


def failing(*numbers, cause="device-error"):
    """The runs of these numbers fail, all others are sound."""

    def script(run):
        if run.number not in numbers:
            yield from played(run, 100)
            return
        yield Started(mode="scripted")
        yield Failure(cause=cause, message=f"run {run.number} broke")

    return script


@pytest.mark.promise("resume.stop")
def test_the_default_is_to_stop(bench):
    tally = bench.go(READS % "", failing(2))
    assert [one.status for one in bench.records] == ["ok", "failed"]
    assert tally.failure == "T: run 2 broke"
    assert bench.status == "failed"


@pytest.mark.promise("resume.continue")
def test_continue_goes_on_with_the_next_cell(bench):
    tally = bench.go(READS % "", failing(1, 2), on_failure="continue")
    assert [one.status for one in bench.records] == ["failed", "failed", "ok"]
    assert tally.failure == "T: run 1 broke (and 1 more failed)"
    assert bench.status == "failed"
    events = bench.store.events("s1")
    assert [one.text for one in events] == ["T: run 1 broke", "T: run 2 broke"]


@pytest.mark.parametrize("text", [READS % "", TWO_TESTS])
def test_a_process_that_nothing_ends_stops_the_session(text, bench):
    """Nor can another test go on then."""
    bench.go(text, failing(1, cause="stuck"), on_failure="continue")
    assert [one.cause for one in bench.records] == ["stuck"]


@pytest.mark.promise("resume.without_state")
def test_without_its_state_a_test_is_given_up(bench):
    tally = bench.go(TWO_TESTS, failing(1), on_failure="continue")
    kinds = [(one.asked.test, one.asked.kind, one.status) for one in bench.records]
    assert kinds == [("A", "prepare", "failed"), ("B", "run", "ok")]
    assert tally.failure == "A: run 1 broke"
    assert ("note", "A: abandoned: A: run 1 broke") in bench.log


def test_the_state_is_made_again_after_a_failed_write(bench):
    """The failed run has written; the cell after it must not start from there."""
    text = FILLED + 'test "A" { after filled before each qd\n vary qd in 1, 2\n'
    bench.go(text + "run random 4KiB 0/100 for 1s }", failing(2), on_failure="continue")
    kinds = [(one.asked.kind, one.status) for one in bench.records]
    assert kinds == [
        ("prepare", "ok"),
        ("run", "failed"),
        ("prepare", "ok"),
        ("run", "ok"),
    ]


@pytest.mark.promise("resume.failed_round")
def test_a_failed_round_has_no_value(bench):
    text = 'test "T" { run random 4KiB 100/0 for 1s\n'
    text += "rounds until steady iops, over 3, at most 6 }"
    bench.go(text, failing(2), on_failure="continue")
    rounds = [one.asked.round for one in bench.records]
    assert rounds == [1, 2, 3, 4, 5]
    whys = [one.steady.why for one in bench.records if one.steady]
    assert whys == ["1 of 3 values so far", "round 2 failed", "round 2 failed", ""]


WRITES = 'test "T" { vary qd in 1, 2, 4\n run random 4KiB 100/0 for 1MiB\n%s}'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plan", "lab", "runs"),
    [
        ("", "", 1),
        ("on failure continue\n", "", 3),
        ("", 'on_failure = "continue"', 3),
        ("on failure stop\n", 'on_failure = "continue"', 1),
    ],
)
@pytest.mark.promise("exit_codes.run_failed", "resume.continue", "resume.stop")
def test_the_plan_decides_before_the_lab(plan, lab, runs, tmp_path, store_path):
    """A file that is cut short under the session: every run fails."""
    target = tmp_path / "scratch"
    text = plan + WRITES % ""
    path = plan_file(tmp_path, text)
    labs = tmp_path / "lab.toml"
    labs.write_text(lab)
    program = tmp_path / "engine"
    program.write_text(
        '#!/bin/sh\n[ "$1" = probe ] && echo \'{"io_uring": true}\' && exit\nexit 1\n'
    )
    program.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IOPLAN_ENGINE", str(program))
        done = ioplan(
            *("run", path, "--target", target, "--create", "8MiB"),
            *("--lab", labs, "--json"),
        )
    assert done.code == 3
    assert len(done.of("record")) == runs
