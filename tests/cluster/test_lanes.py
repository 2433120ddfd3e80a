"""A group of targets on one host: a lane each, side by side."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import Done, ioplan, plan_file
from sight import ELSEWHERE

from ioplan.records import HostClock
from ioplan.results.store import Store, StoreError
from ioplan_lab import PROGRAMS, LaneFolder, lane_folders, lanes_root
from ioplan_lab.cluster.jobs.clock_file import keep_clock
from ioplan_lab.cluster.jobs.lane import initial_state
from ioplan_lab.cluster.jobs.lane_folder import STATE_BYTES
from ioplan_lab.cluster.jobs.lane_parent import PARENTS
from ioplan_lab.commands.jobs import follow
from ioplan_lab.commands.jobs.executor import lane_errors
from targets import needs_root

pytestmark = pytest.mark.slow

SIM = """test "T" {
  run    random 4KiB 100/0 for 200ms
  vary   qd in 1, 2, 4
  expect errors == 0
}
"""
FAR_OFF = HostClock(
    offset_ns=-3_200_000_000, uncertainty_ns=400_000, measured_at="2026-11-22T10:00:00Z"
)
SLOW = SIM.replace("for 200ms", ", rate 2_000 iops for 1s")


@pytest.fixture(autouse=True)
def _own_store(store_path: Path) -> None:
    """Lanes are beside it."""


def lab_file(folder: Path, *names: str, **said: str) -> Path:
    """Targets that are files."""
    lines = [f'{key} = "{value}"' for key, value in said.items() if key != "lock"]
    for name in names:
        lines += [f"[targets.{name}]", f'path = "{folder / name}"', "writable = true"]
        lines += ["cannot_see_users = true"] if ELSEWHERE else []
        lines += [f'lock = "{said["lock"]}"'] if "lock" in said else []
    path = folder / "lab.toml"
    path.write_text("\n".join([*lines, "[groups]", 'all = ["*"]', ""]))
    return path


def run_all(lab: Path, plan: Path, *words: str) -> Done:
    size = "1GiB" if "sim" in lab.read_text() else "16MiB"
    said = ("--lab", lab, "--target", "all", "--create", size)
    return ioplan("run", plan, *said, *words)


def begun(lab: Path, plan: Path, *words: str) -> str:
    """A job that goes on by itself."""
    done = run_all(lab, plan, "--detach", *words)
    assert done.code == 0, done.err
    found = re.search(r"job (\S+):", done.out)
    assert found
    return found[1]


def lane(job: str, number: int = 1) -> LaneFolder:
    return LaneFolder(lanes_root() / job / f"{job}-{number:03}")


def wait_for(what: Callable[[], Any]) -> None:
    deadline_s = time.monotonic() + 60
    while not what():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


def runs(job: str, path: Path) -> Counter[tuple[str, str]]:
    """How often each cell of each lane was done."""
    with Store.open(path) as store:
        return Counter(
            (one.id, str(record.asked.cell))
            for one in store.sessions()
            if one.id.startswith(job)
            for record in store.records(one.id)
            if record.status == "ok"
        )


def test_each_target_has_a_session_of_its_own(tmp_path: Path, store_path: Path) -> None:
    lab = lab_file(tmp_path, "a", "b", backend="sim")
    keep_clock(lanes_root(), FAR_OFF)
    done = run_all(lab, plan_file(tmp_path, SIM))
    assert done.code == 0, done.err
    assert "a: ok" in done.out and "b: ok" in done.out
    with Store.open(store_path) as store:
        sessions = store.sessions()
        assert sorted(one.target for one in sessions) == ["a", "b"]
        assert [store.count(one.id) for one in sessions] == [3, 3]
        named = {one.id: one.drive_name for one in store.overview()}
        (job,) = {one.job for one in sessions}
        assert named == {f"{job}-001": "a", f"{job}-002": "b"}
        for record in store.records(sessions[0].id):
            assert record.clock == FAR_OFF
            assert FAR_OFF.warning in record.warnings
    told_of = " ".join(done.out.split())
    assert re.search(r"geometric mean \S+× \S+× .* IOPS, QD 4 \d+k", told_of)
    assert "ratios to ioplan sim, " in told_of
    told = ioplan("status")
    assert told.out.count("3 runs") == 2
    assert all(len(line) <= 80 for line in (done.out + told.out).splitlines())


def test_what_a_plan_uses_goes_with_it(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    plan_file(tmp_path / "lib", "workload w = random 4KiB 100/0, qd 2", "w.ioplan")
    plan = plan_file(tmp_path, 'use "lib/w.ioplan"\ntest "T" { run w for 200ms }')
    lab = lab_file(tmp_path, "a", backend="sim")
    job = begun(lab, plan)
    plan.unlink()
    (tmp_path / "lib/w.ioplan").unlink()
    assert ioplan("attach", job).code == 0
    folder = lane(job)
    assert folder.state_file.stat().st_size == STATE_BYTES, "also on a full disk"
    long = folder.state().model_copy(update={"message": "ö" * 5000})
    folder.write_state(long)
    assert folder.state_file.stat().st_size == STATE_BYTES
    assert folder.state().message.startswith("ö")


@pytest.mark.promise("exit_codes.lanes")
def test_the_gravest_lane_is_the_exit_code(tmp_path: Path) -> None:
    lab = lab_file(tmp_path, "a", "b", backend="sim")
    plan = plan_file(tmp_path, SIM.replace("errors == 0", "iops > 100000000"))
    done = run_all(lab, plan)
    assert done.code == 1
    assert "3 runs, 3 not" in done.out
    elsewhere = lab.read_text().replace(str(tmp_path / "b"), "/nowhere/b")
    lab.write_text(elsewhere.replace('backend = "sim"', 'backend = "io_uring"'))
    done = run_all(lab, plan_file(tmp_path, SIM))
    assert done.code == 2
    assert "b: refused: error: there is no folder '/nowhere'" in done.err
    assert "a: ok" in done.out
    told = ioplan("status")
    assert told.code == 1
    reason, where = told.out.splitlines()[-2:]
    assert reason.startswith("b: refused: error: there is no folder '/nowhere'")
    assert "/nowhere" in Path(where.removeprefix("  all of it: ")).read_text()


@pytest.mark.long
def test_cancel_ends_the_io_and_resume_goes_on(
    tmp_path: Path, store_path: Path
) -> None:
    job = begun(lab_file(tmp_path, "a", "b"), plan_file(tmp_path, SLOW))
    wait_for(lambda: runs(job, store_path) if store_path.exists() else 0)
    done = ioplan("cancel", job)
    assert done.code == 0
    assert done.out.count("stopped") == 2
    assert done.out.count("cancelled by ") == 2
    assert not any(one.is_running() for one in lane_folders(lanes_root(), job))
    assert 0 < sum(runs(job, store_path).values()) < 6
    assert ioplan("attach", job).code == 130
    done = ioplan("resume", job, "--detach")
    assert (done.code, done.out.count("to watch it")) == (0, 1)
    assert ioplan("attach", job).code == 0
    found = runs(job, store_path)
    assert len(found) == 6 and set(found.values()) == {1}


def test_another_store_has_all_of_a_job(
    tmp_path: Path, store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other/results.db"
    lab = lab_file(tmp_path, "a", "b", backend="sim")
    done = run_all(lab, plan_file(tmp_path, SIM), "--store", other)
    assert done.code == 0, done.err
    assert len(runs("", other)) == 6
    assert not store_path.exists()
    monkeypatch.setattr(follow, "notice", lambda: "note: the certificate ends")
    told = ioplan("status", "--store", other)
    assert (told.code, told.err) == (0, "note: the certificate ends\n")


def test_what_is_refused(tmp_path: Path) -> None:
    lab, plan = lab_file(tmp_path, "a", backend="sim"), plan_file(tmp_path, SIM)
    assert "for one target" in run_all(lab, plan, "--json").err
    done = ioplan("run", plan, "--lab", lab, "--target", "b", "--detach")
    assert "--detach is for targets and groups" in done.err
    assert "no job 'x'" in ioplan("attach", "x").err
    text = lab.read_text()
    lab.write_text(text.replace(str(tmp_path / "a"), "a.bin"))
    done = run_all(lab, plan)
    assert (done.code, done.err.count("write the absolute path")) == (2, 1)
    on_host = text.replace("[targets.a]", '[hosts.h1]\n[targets.a]\nhost = "h1"')
    lab.write_text(on_host)
    assert "the lab has hosts but no scheduler" in run_all(lab, plan).err


@pytest.mark.long_but_first
@pytest.mark.parametrize("data", [False, True], ids=["unnamed", "with data"])
def test_no_file_is_written_before_each_may_be(
    data: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guard of a single run asks for all first; a name may be a path from here."""
    monkeypatch.chdir(tmp_path)
    lab = lab_file(tmp_path, "a", "b")
    for name in "ab":
        (tmp_path / name).write_bytes(bytes(16 << 20))
    if data:
        (tmp_path / "b").write_bytes(os.urandom(16 << 20))
    before = [(tmp_path / name).read_bytes() for name in "ab"]
    plan = plan_file(tmp_path, SIM.replace("100/0", "0/100").replace("1, 2, 4", "1"))
    words = ("--overwrite", "./a", *(("--overwrite", "./b") if data else ()))
    done = run_all(lab, plan, *words)
    option = "--overwrite-data" if data else "--overwrite"
    assert done.code == 2 and f"add {option} {tmp_path / 'b'}" in done.err
    assert [(tmp_path / name).read_bytes() for name in "ab"] == before
    done = run_all(lab, plan, *words, option, "./b")
    assert done.code == 0, done.err
    assert "a: ok" in done.out and "b: ok" in done.out
    after = [(tmp_path / name).read_bytes() for name in "ab"]
    assert after[0] != before[0] and after[1] != before[1]


@pytest.mark.long
def test_ctrl_c_ends_all_lanes(tmp_path: Path, store_path: Path) -> None:
    lab = lab_file(tmp_path, "a", "b")
    words = ["run", plan_file(tmp_path, SLOW), "--lab", lab, "--target", "all"]
    command = [sys.executable, "-m", "ioplan.cli", *words, "--create", "16MiB"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
        wait_for(lambda: runs("", store_path) if store_path.exists() else 0)
        client.send_signal(signal.SIGINT)
        said, _ = client.communicate(timeout=60)
    assert client.returncode == 130
    assert said.count("stopped") >= 2
    assert not any(one.is_running() for one in lane_folders(lanes_root()))


@pytest.mark.long
def test_a_killed_lane_is_begun_again_but_not_for_ever(
    tmp_path: Path, store_path: Path
) -> None:
    job = begun(lab_file(tmp_path, "a"), plan_file(tmp_path, SLOW))
    for attempt in (1, 2, 3):
        wait_for(lambda: lane(job).state().status == "running")
        assert lane(job).state().attempts == attempt
        pid = int(lane(job).lock_file.read_text())
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not lane(job).is_running())
        lane(job).advance(PROGRAMS.lane)
    done = ioplan("attach", job)
    assert done.code == 3
    assert "a: died: its process was ended 3 times without a word" in done.err
    assert ioplan("resume", job).code == 0
    found = runs(job, store_path)
    assert len(found) == 3 and set(found.values()) == {1}


@pytest.mark.long
def test_lanes_share_memory_with_a_parent_and_outlive_it(
    tmp_path: Path, store_path: Path
) -> None:
    plan = plan_file(tmp_path, SLOW.replace("1, 2, 4", "1, 2"))
    job = begun(lab_file(tmp_path, "a", "b"), plan)
    lanes = [lane(job, number) for number in (1, 2)]
    wait_for(lambda: all(one.state().status == "running" for one in lanes))
    pids = [int(one.lock_file.read_text()) for one in lanes]
    parents = {int(proc(pid, "stat").rpartition(")")[2].split()[1]) for pid in pids}
    (parent,) = parents
    assert proc(parent, "cmdline").split("\0")[:2] == ["ioplan", "lanes"]
    for pid, one, name in zip(pids, lanes, "ab", strict=True):
        assert proc(pid, "comm") == f"lane {name}\n"
        title = ["ioplan", "lane", name, str(one.path)]
        assert proc(pid, "cmdline").split("\0")[:4] == title
        assert os.getsid(pid) == pid
        own = re.search(r"Private_Dirty:\s+(\d+) kB", proc(pid, "smaps_rollup"))
        assert own and int(own[1]) < 24 << 10
    os.kill(parent, signal.SIGKILL)
    assert ioplan("attach", job).code == 0
    assert [one.state().attempts for one in lanes] == [1, 1]
    found = runs(job, store_path)
    assert len(found) == 4 and set(found.values()) == {1}


def proc(pid: int, name: str) -> str:
    return Path(f"/proc/{pid}/{name}").read_text()


@pytest.mark.long
def test_a_lane_that_is_cancelled_before_it_has_a_process_does_nothing(
    tmp_path: Path, store_path: Path
) -> None:
    lab, plan = lab_file(tmp_path, "a", "b", backend="sim"), plan_file(tmp_path, SIM)
    job = begun(lab, plan)
    assert ioplan("attach", job).code == 0
    first, second = lane(job), lane(job, 2)
    for one in (first, second):  # as if never begun
        one.write_state(initial_state(one.call()))
    first.advance(PROGRAMS.lane)
    wait_for(lambda: first.state().ended)
    (parent,) = PARENTS
    os.kill(parent.process.pid, signal.SIGSTOP)
    second.advance(PROGRAMS.lane)
    assert second.is_running()
    second.stop()
    os.kill(parent.process.pid, signal.SIGCONT)
    wait_for(lambda: not second.is_running())
    assert second.state().status == "stopped"
    assert sum(runs(job, store_path).values()) == 6


@pytest.mark.long_but_first
@pytest.mark.parametrize("lock", ["", "shelf"])
def test_a_drive_is_never_used_by_two(
    lock: str, tmp_path: Path, store_path: Path
) -> None:
    """Two jobs on one target, and two targets with one lock, take turns."""
    said = {"lock": lock} if lock else {}
    lab = lab_file(tmp_path, *("ab" if lock else "a"), **said)
    plan = plan_file(tmp_path, SIM)
    jobs = [begun(lab, plan) for _ in range(1 if lock else 2)]
    assert [ioplan("attach", job).code for job in jobs] == [0] * len(jobs)
    with Store.open(store_path) as store:
        sooner, later = sorted(store.sessions(), key=lambda one: one.started_at)
        assert sooner.ended_at and sooner.ended_at <= later.started_at


@pytest.mark.long_but_first
@needs_root
@pytest.mark.parametrize("name", ["jobs", "lanes"])
def test_a_job_that_another_user_may_change_is_not_believed(
    name: str, tmp_path: Path, store_path: Path
) -> None:
    """Where a store lies in a folder of many: a job says what is overwritten."""
    lab, plan = lab_file(tmp_path, "a", backend="sim"), plan_file(tmp_path, SIM)
    folder = store_path.parent / name
    folder.mkdir()
    folder.chmod(0o777)
    job = begun(lab, plan)
    assert folder.stat().st_mode & 0o022 == 0, "what is ours is closed to others"
    assert ioplan("attach", job).code == 0
    os.chown(folder, 65534, 65534)
    calls = [("attach", job), ("resume", job)] if name == "jobs" else []
    refused = [ioplan(*words) for words in calls] + [run_all(lab, plan, "--detach")]
    for done in refused:
        assert done.code == 2, done.err
        assert f"others may write to {folder}; keep the store in" in done.err


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(28, "No space left on device", "/x"), "kept in /x: No space left"),
        (TimeoutError("no lane came"), "kept: no lane came;"),
        (OSError(), "kept: OSError;"),
    ],
)
def test_an_error_of_the_lanes_says_what_it_is(error: OSError, text: str) -> None:
    """Not each has a number, of which the system has a text."""
    with pytest.raises(StoreError, match=text), lane_errors():
        raise error
