"""One answer to what runs on a drive: of each desk, shell and scrape of a lab."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from command import ioplan, plan_file
from desks import LaneReports, by_token, call_of, desk_in, sent, signed_in, state_of
from postgres import needs_postgres, server
from sight import ELSEWHERE

from ioplan.results.store import Store
from ioplan_lab import (
    Desk,
    LaneFolder,
    Missing,
    lane_folders,
    lanes_root,
)

MODULE = "ioplan_lab.desk.inventory"
UNREPORTED = "unreported"

SLOW = """test "T" {
  run  random 4KiB 100/0, rate 500 iops for 60s
  vary qd in 1, 2
}
"""
SHARED = """test "T" {
  run  random 4KiB 100/0, rate 500 iops over all, qd 8 over all for 60s
  vary size in 4KiB, 8KiB
}
"""


def test_a_host_that_is_not_heard_keeps_its_drives(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = call_of(1), call_of(2)
    running = state_of(one, status="running", done=0.4)
    desk.inventory.report([(one, running), (two, state_of(two, status="ok"))])
    (seen,) = desk.inventory.running()
    assert (seen.state, seen.drive, seen.where) == (running, "SERIAL1", "all")
    (job,) = desk.inventory.jobs()
    assert [(s.target, s.status) for s in job.states] == [
        ("d1", "running"),
        ("d2", "ok"),
    ]
    monkeypatch.setattr(f"{MODULE}.SILENT_S", -1.0)
    (seen,) = desk.inventory.running()
    assert seen.state.status == "unknown"
    assert "last seen running 40%" in seen.text
    assert desk.inventory.jobs()[0].silent == ("h1",)


def test_who_cancels_is_told_once_and_not_after_a_resume(desk: Desk) -> None:
    one = call_of(1)
    running, ended = state_of(one, status="running"), state_of(one, status="stopped")
    with pytest.raises(Missing, match="no job"):
        desk.inventory.cancel(one.job, "olga")
    assert desk.inventory.report([(one, running)]) == {}
    desk.inventory.cancel(one.job, "olga")
    assert desk.inventory.report([(one, running)]) == {one.session: "olga"}
    assert desk.inventory.report([(one, ended)]) == {}
    with pytest.raises(Missing):
        desk.inventory.cancel(one.job, "olga")
    assert desk.inventory.report([(one, running)]) == {}


def test_what_ended_long_ago_is_forgotten(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = call_of(1), call_of(2)
    found = [(one, state_of(one, status="ok")), (two, state_of(two, status="running"))]
    desk.inventory.report(found)
    desk.inventory.forget_old()
    assert len(desk.inventory.job(one.job)) == 2
    monkeypatch.setattr(f"{MODULE}.KEPT_S", -1.0)
    desk.inventory.forget_old()
    assert [lane.state.target for lane in desk.inventory.job(one.job)] == ["d2"]


@needs_postgres
@pytest.mark.long
def test_what_is_told_survives_a_database_that_is_away(
    tmp_path: Path, store_path: Path
) -> None:
    with server() as database:
        call = call_of(1, results=database.address, store=str(store_path))
        folder, root = LaneFolder.of(call), lanes_root(str(store_path))
        reports = LaneReports(root)
        assert reports.all_told(), "the only reporter of this host"
        database.stop()
        assert not reports.all_told()
        folder.write_state(state_of(call, status="ok", exit_code=0, runs=3))
        assert not reports.all_told() and reports.left == [call.session]
        database.start()
        assert reports.all_told() and reports.left == []
        with desk_in(tmp_path, results=database.address) as there:
            (lane,) = there.inventory.job(call.job)
        assert (lane.state.status, lane.state.runs) == ("ok", 3)
        reports.add("20261125-120000-gone-001")
        reports.all_told()
        assert reports.left == []


@pytest.mark.long
@needs_postgres
def test_two_desks_of_a_database_and_a_shell_say_the_same(
    tmp_path: Path, store_path: Path
) -> None:
    with server() as database:
        lab = lab_of(tmp_path, database.address)
        plan = plan_file(tmp_path, SLOW)
        words = ("--lab", lab, "--target", "all", "--create", "16MiB", "--detach")
        begun = ioplan("run", plan, *words)
        assert begun.code == 0, begun.err
        job = re.findall(r"job (\S+):", begun.out)[0]
        first = desk_in(tmp_path / "1", lab, results=database.address, store=store_path)
        second = desk_in(tmp_path / "2", lab, results=database.address)
        try:
            with first as own, second as other:
                wait_for(lambda: len(other.inventory.running()) == 2)
                assert not other.running.now()
                for desk in (own, other):
                    assert all(is_busy(desk, lab, job))
                cancelled(other, job)
                wait_for(lambda: not other.inventory.running())
                wait_for(lambda: all(one.ended for one in own.running.now()))
                for desk in (own, other):
                    assert not any(is_busy(desk, lab, job))
                    page = by_token(desk, "viewer").get("/").text
                    assert "2 stopped" in page and "cancelled by operator" in page
        finally:
            ioplan("cancel", job)
    told = ioplan("status", job)
    assert told.out.count("stopped: cancelled by operator") == 2


def lab_of(folder: Path, results: str) -> Path:
    lines = [f"results = {json.dumps(results)}", "delivery_s = 0"]
    for name in ("a", "b"):
        lines += [f"[targets.{name}]", f'path = "{folder / name}"', "writable = true"]
        lines += ["cannot_see_users = true"] if ELSEWHERE else []
    path = folder / "lab.toml"
    path.write_text("\n".join([*lines, "[groups]", 'all = ["*"]', ""]))
    return path


def is_busy(desk: Desk, lab: Path, job: str, lanes: int = 2) -> tuple[bool, bool, bool]:
    """Whether the desk's page, its metrics and a shell say so of both drives."""
    viewer = by_token(desk, "viewer")
    page, metrics = viewer.get("/drives").text, viewer.get("/metrics").text
    told = ioplan("lab", "drives", "--json", "--lab", lab)
    rows = [json.loads(line) for line in told.out.splitlines()]
    busy = [f'drive="{one}",host="",state="busy"}} 1.0' in metrics for one in "ab"]
    says = (
        page.count(">busy<") == 2 and job in page,
        all(busy),
        all(row["state"] == "busy" and job in row["why"] for row in rows),
    )
    if any(says):
        assert job in viewer.get("/").text
        # on a busy host one lane may have told of an interval, and not yet the other
        assert metrics.count("ioplan_lane_iops{") <= lanes
    return says


def cancelled(desk: Desk, job: str) -> None:
    """By an operator, at a desk that did not start it."""
    done = sent(signed_in(desk, "operator"), f"/jobs/{job}/cancel")
    assert done.status_code == 303, done.text


def wait_for(what: Callable[[], Any]) -> None:
    deadline_s = time.monotonic() + 60
    while not what():
        assert time.monotonic() < deadline_s
        time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.long
def test_a_host_lists_and_ends_jobs_by_itself(tmp_path: Path, store_path: Path) -> None:
    """No file of the job is here, as on a host that another one coordinates."""
    lab = lab_of(tmp_path, "postgresql://nobody@127.0.0.1:1/none")
    plan = plan_file(tmp_path, SLOW)
    words = ("--lab", lab, "--target", "all", "--create", "16MiB", "--detach")
    begun = ioplan("run", plan, *words)
    assert begun.code == 0, begun.err
    job = re.findall(r"job (\S+):", begun.out)[0]
    (store_path.parent / "jobs" / f"{job}.json").unlink()
    wait_for(lambda: all(one.is_running() for one in lane_folders(lanes_root(), job)))
    (row,) = [json.loads(one) for one in ioplan("jobs", "--json").out.splitlines()]
    assert (row["job"], row["where"], sum(row["lanes"].values())) == (job, "all", 2)
    assert job in ioplan("jobs").out
    shutil.rmtree(lanes_root() / UNREPORTED)  # or its reporter waits for a database
    done = ioplan("cancel", job[:-2], "--person", "olga")
    assert done.code == 0, done.err
    assert done.out.count("cancelled by olga") == 2
    assert not any(one.is_running() for one in lane_folders(lanes_root(), job))
    with Store.open(store_path) as store:
        assert {one.status for one in store.sessions()} <= {"interrupted"}


class PlainRun(NamedTuple):
    """A run of no job that is under way, and a desk of its lab's database."""

    process: subprocess.Popen[bytes]
    lab: Path
    desk: Desk
    lane: Any

    def cancel(self) -> None:
        """At the desk, until the run has ended there."""
        cancelled(self.desk, self.lane.state.job)
        assert self.process.wait(60) == 130
        wait_for(lambda: not self.desk.inventory.running())


@contextmanager
def plain_run(folder: Path, plan: str, target: str) -> Iterator[PlainRun]:
    with server() as database:
        lab = lab_of(folder, database.address)
        words = ("--lab", lab, "--target", target, "--create", "16MiB", "--quiet")
        run = began("run", plan_file(folder, plan), *words)
        with desk_in(folder / "2", lab, results=database.address) as other:
            wait_for(other.inventory.running)
            (lane,) = other.inventory.running()
            yield PlainRun(run, lab, other, lane)


@pytest.mark.long
@needs_postgres
def test_a_plain_run_is_in_the_inventory_until_it_ends(
    tmp_path: Path, store_path: Path
) -> None:
    with plain_run(tmp_path, SLOW, "a") as run:
        job, viewer = run.lane.state.job, by_token(run.desk, "viewer")
        page = viewer.get("/drives").text
        assert page.count(">busy<") == 1 and job in page
        told = ioplan("lab", "drives", "--json", "--lab", run.lab)
        rows = [json.loads(line) for line in told.out.splitlines()]
        assert [row["state"] for row in rows] == ["busy", "free"]
        assert job in rows[0]["why"] and job in ioplan("jobs").out
        metrics = viewer.get("/metrics").text
        assert 'drive="a",host="",state="busy"} 1.0' in metrics
        run.cancel()
        (state,) = (one.state for one in run.desk.inventory.job(job))
        assert (state.status, state.message) == ("stopped", "cancelled by operator")
        assert run.desk.sessions_of(job) == [job]
    wait_for(lambda: not (lanes_root() / job).exists())


@pytest.mark.long
@needs_postgres
def test_a_run_that_several_targets_share_keeps_each_of_them_busy(
    tmp_path: Path, store_path: Path
) -> None:
    with plain_run(tmp_path, SHARED, "all") as run:
        job = run.lane.state.job
        assert run.lane.state.target == "a, b"
        assert {*run.lane.drive.split(", ")} == {str(tmp_path / n) for n in "ab"}
        assert all(is_busy(run.desk, run.lab, job, lanes=1))
        run.cancel()
        assert not any(is_busy(run.desk, run.lab, job, lanes=1))
        (state,) = (one.state for one in run.desk.inventory.job(job))
        assert state.message == "cancelled by operator"
    with Store.open(store_path) as store:
        assert store.session(job).status == "interrupted"


@pytest.mark.slow
@pytest.mark.long
def test_a_plain_run_that_was_killed_has_ended(
    tmp_path: Path, store_path: Path
) -> None:
    lab = lab_of(tmp_path, "postgresql://nobody@127.0.0.1:1/none")
    words = ("--lab", lab, "--target", "a", "--create", "16MiB", "--quiet")
    run = began("run", plan_file(tmp_path, SLOW), *words)
    wait_for(lambda: any(one.is_running() for one in lane_folders(lanes_root())))
    (folder,) = lane_folders(lanes_root())
    assert not folder.state().ended
    run.kill()
    run.wait()
    shutil.rmtree(lanes_root() / UNREPORTED)  # or its reporter waits for a database
    state = folder.state()
    assert (state.status, state.reason) == (
        "died",
        "its process was ended once without a word",
    )


@pytest.mark.slow
@pytest.mark.long
def test_a_plain_run_that_the_lab_cannot_be_told_of_says_so(
    tmp_path: Path, store_path: Path
) -> None:
    lab = lab_of(tmp_path, "postgresql://nobody@127.0.0.1:1/none")
    words = ("--lab", lab, "--target", "a", "--create", "16MiB", "--quiet")
    plan = plan_file(tmp_path, 'test "T" { run random 4KiB 100/0 for 100ms }')
    lanes_root().parent.mkdir(parents=True, exist_ok=True)
    lanes_root().write_text("no folder")
    done = ioplan("run", plan, *words)
    assert "the lab's inventory does not show this run" in done.err
    assert done.code == 4, done.err  # it ran; the database is away


def began(*words: Any) -> subprocess.Popen[bytes]:
    """A command of its own process, as in a terminal."""
    return subprocess.Popen([sys.executable, "-m", "ioplan.cli", *map(str, words)])
