"""What happens after a failed run: stop, or go on with the next cell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bench import FILLED, READS, Bench, Script, ScriptedExecution, played
from command import ioplan, plan_file

from ioplan.job import Event, Failure, Started

TWO_TESTS = (
    FILLED
    + """
test "A" { after filled vary qd in 1, 2 run random 4KiB 100/0 for 1s }
test "B" { run random 4KiB 100/0 for 1s }"""
)


def failing(*numbers: int, cause: str = "device-error") -> Script:
    """The runs of these numbers fail, all others are sound."""

    def script(run: ScriptedExecution) -> Iterator[Event]:
        if run.number not in numbers:
            yield from played(run, 100)
            return
        yield Started(mode="scripted")
        yield Failure(cause=cause, message=f"run {run.number} broke")

    return script


@pytest.mark.promise("resume.stop")
def test_the_default_is_to_stop(bench: Bench) -> None:
    tally = bench.go(READS % "", failing(2))
    assert [one.status for one in bench.records] == ["ok", "failed"]
    assert tally.failure == "T: run 2 broke"
    assert bench.status == "failed"


@pytest.mark.promise("resume.continue")
def test_continue_goes_on_with_the_next_cell(bench: Bench) -> None:
    tally = bench.go(READS % "", failing(1, 2), on_failure="continue")
    assert [one.status for one in bench.records] == ["failed", "failed", "ok"]
    assert tally.failure == "T: run 1 broke (and 1 more failed)"
    assert bench.status == "failed"
    events = bench.store.events("s1")
    assert [one.text for one in events] == ["T: run 1 broke", "T: run 2 broke"]


@pytest.mark.parametrize("text", [READS % "", TWO_TESTS])
def test_a_process_that_nothing_ends_stops_the_session(text: str, bench: Bench) -> None:
    """Nor can another test go on then."""
    bench.go(text, failing(1, cause="stuck"), on_failure="continue")
    assert [one.cause for one in bench.records] == ["stuck"]


@pytest.mark.promise("resume.without_state")
def test_without_its_state_a_test_is_given_up(bench: Bench) -> None:
    tally = bench.go(TWO_TESTS, failing(1), on_failure="continue")
    kinds = [(one.asked.test, one.asked.kind, one.status) for one in bench.records]
    assert kinds == [("A", "prepare", "failed"), ("B", "run", "ok")]
    assert tally.failure == "A: run 1 broke"
    assert ("note", "A: abandoned: A: run 1 broke") in bench.log


def test_the_state_is_made_again_after_a_failed_write(bench: Bench) -> None:
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
def test_a_failed_round_has_no_value(bench: Bench) -> None:
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
def test_the_plan_decides_before_the_lab(
    plan: str, lab: str, runs: int, tmp_path: Path, store_path: Path
) -> None:
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
