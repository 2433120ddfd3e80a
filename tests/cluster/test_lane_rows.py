"""The rows of a job: one line for each lane, whatever its names, and what is silent."""

from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from ioplan.records import HostClock
from ioplan_lab import Job, LaneCall, LaneState
from ioplan_lab.commands.jobs.fleet import print_lanes, short_reasons

RUNNING = LaneState(
    job="j",
    session="s1",
    target="gen5-rack07-shelf3-drive-0001",
    host="storage-host-01.example",
    status="running",
    step="12  random 4KiB 70/30, qd 32, for 1min on the region named cold",
    done=0.48,
    iops=1_234_567,
    p99_ns=123_456,
    left_s=3725,
)
OTHER = RUNNING.model_copy(
    update={
        "session": "s2",
        "target": "gen5-rack07-shelf3-drive-0002",
        "host": "storage-host-02.example",
    }
)


def rows(*states: LaneState, terminal: bool, width: int = 80) -> list[str]:
    file = io.StringIO()
    console = Console(
        file=file, width=width, force_terminal=terminal, color_system=None
    )
    print_lanes(console, states)
    return file.getvalue().splitlines()


def test_each_lane_has_one_line_and_is_whole_in_a_pipe() -> None:
    heading, first, second = rows(RUNNING, OTHER, terminal=False)
    names = ["lane", "host", "status", "step", "done", "IOPS", "p99", "left"]
    assert heading.split() == names
    for state, shown in ((RUNNING, first), (OTHER, second)):
        assert all(one in shown for one in (state.target, state.host, state.step))
    away = OTHER.unheard(180)
    for width in (80, 100, 200):
        lines = rows(RUNNING, away, terminal=True, width=width)
        assert len(lines) == 3
        assert max(map(len, lines)) <= width
        assert " 1 h 02 min" in lines[1] and "-0001" in lines[1]
        assert "last seen running 48%, 3 min ago" in lines[2]


def test_the_temperature_has_a_column_where_one_is_known() -> None:
    assert "°C" not in rows(RUNNING, terminal=True)[0]
    warm = RUNNING.model_copy(update={"target": "b", "temperature_celsius": 41.4})
    heading, _, shown = rows(RUNNING, warm, terminal=True, width=120)
    assert "°C" in heading and " 41 " in shown


def test_a_reason_is_the_error_and_where_the_rest_is() -> None:
    said = "note: something\nerror: the disk is full\n  more of it"
    change = {"status": "failed", "message": said, "errors_file": "/l/errors.txt"}
    failed = RUNNING.model_copy(update=change)
    assert list(short_reasons([OTHER, failed])) == [
        f"{failed.target}: failed: error: the disk is full",
        f"  all of it: {failed.host}:/l/errors.txt",
    ]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("cancelled by olga", "cancelled by olga"),
        ("the run failed\nnote: its power was not measured", "the run failed"),
        ("warning: hot\nnote: its power was not measured", ""),
        ("note: slow\nerror: no room\nnote: more", "error: no room"),
        ("", ""),
    ],
)
def test_a_note_is_no_reason(said: str, reason: str) -> None:
    assert RUNNING.model_copy(update={"message": said}).reason == reason


def job(*states: LaneState) -> Job:
    calls = [
        LaneCall(
            job="j",
            session=session,
            target=session,
            host=host,
            plan="p",
            files={},
            lab="",
        )
        for session, host in (("s1", "h1"), ("s2", "h2"))
    ]
    known = {one.session: one for one in states}
    return Job(id="j", plan="p", where="all", calls=tuple(calls), known=known)


def test_a_silent_host_is_unknown_and_not_waiting() -> None:
    """Of a lane that was never seen it is known that it waits."""
    seen = RUNNING.model_copy(update={"at_s": time.time() - 120})
    (first, second) = job(seen).states({"h1": 180.0, "h2": None})
    assert (first.status, second.status) == ("unknown", "waiting")
    assert first.message == "last seen running 48%, 3 min ago" and not first.ended
    assert second.message == "for h2, which does not report"
    (first, _) = job(seen).states({"h1": None})
    assert "2 min" in first.message
    ended = RUNNING.model_copy(update={"status": "ok"})
    assert job(ended).states({"h1": 180.0})[0] == ended


def test_skipped_lanes_have_ended_and_the_job_says_so() -> None:
    made = job()
    made.skip({"h2": "no worker reports from h2"})
    assert [call.session for call in made.unfinished] == ["s1"]
    assert made.states({})[1].status == "skipped"
    kept = Job.model_validate_json(made.model_dump_json())
    assert kept.states({})[1].message == "no worker reports from h2"


@pytest.mark.parametrize(
    ("offset_ns", "uncertainty_ns", "said"),
    [
        (99_000_000, 0, ""),
        (150_000_000, 60_000_000, ""),
        (150_000_000, 1_000_000, "0.150 s ahead of"),
        (-3_200_000_000, 400_000, "3.20 s behind"),
    ],
)
def test_only_a_clock_that_is_surely_far_off_is_warned_of(
    offset_ns: int, uncertainty_ns: int, said: str
) -> None:
    at = "2026-11-22T10:00:00Z"
    clock = HostClock(
        offset_ns=offset_ns, uncertainty_ns=uncertainty_ns, measured_at=at
    )
    assert said in clock.warning and bool(said) == bool(clock.warning)
