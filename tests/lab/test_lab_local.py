"""Several drives of this host, without a database."""

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from command import ioplan, plan_file, refuse
from sight import ELSEWHERE

from ioplan.records import HostClock
from ioplan.results.store import Store
from ioplan_lab import JobFolder, drive_jobs_root
from targets import needs_root

pytestmark = pytest.mark.slow
SIM = """test "T" {
  run    random 4KiB 100/0 for 200ms
  vary   qd in 1, 2, 4
  expect errors == 0
}
"""
SLOW = SIM.replace("for 200ms", ", rate 2_000 iops for 1s")


@pytest.fixture(autouse=True)
def _own_store(store_path):
    """Drive jobs are beside it."""


def lab_file(folder, *names, lock="", **said):
    """Targets that are files."""
    lines = [f'{key} = "{value}"' for key, value in said.items()]
    for name in names:
        lines += [f"[targets.{name}]", f'path = "{folder / name}"', "writable = true"]
        lines += ["cannot_see_users = true"] if ELSEWHERE else []
        lines += [f'lock = "{lock}"'] if lock else []
    path = folder / "lab.toml"
    path.write_text("\n".join([*lines, "[groups]", 'all = ["*"]', ""]))
    return path


def run_all(lab, plan, *words):
    size = "1GiB" if "sim" in lab.read_text() else "16MiB"
    said = ("--lab", lab, "--target", "all", "--create", size)
    return ioplan("run", plan, *said, *words)


def begun(lab, plan, *words):
    """A job that goes on by itself."""
    done = run_all(lab, plan, "--detach", *words)
    assert done.code == 0, done.err
    found = re.search(r"job (\S+):", done.out)
    assert found
    return found[1]


def folders(store):
    files = drive_jobs_root(store).glob("2*/*/call.json")
    return [JobFolder(file.parent) for file in sorted(files)]


def none_runs(store):
    return not any(folder.is_running() for folder in folders(store))


def wait_for(what):
    deadline_s = time.monotonic() + 60
    while not what():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


def runs(path, job=""):
    """How often each cell of each drive job was done."""
    if not path.exists():
        return Counter()
    with Store.open(path) as store:
        return Counter(
            (one.id, str(record.asked.cell))
            for one in store.sessions()
            if one.id.startswith(job)
            for record in store.records(one.id)
            if record.status == "ok"
        )


FAR_OFF = HostClock(
    offset_ns=-3_200_000_000, uncertainty_ns=400_000, measured_at="2026-11-22T10:00:00Z"
)
"""As a worker of this host has measured it."""


def test_each_target_has_a_session_of_its_own(tmp_path, store_path):
    root = drive_jobs_root(store_path)
    root.mkdir(mode=0o700)
    (root / "clock.json").write_text(FAR_OFF.model_dump_json())
    done = run_all(
        lab_file(tmp_path, "a", "b", backend="sim"), plan_file(tmp_path, SIM)
    )
    assert done.code == 0, done.err
    assert "a: ok" in done.out and "b: ok" in done.out
    assert "6 of 6 runs stored in this host's store" in done.out
    with Store.open(store_path) as store:
        (job,) = {one.job for one in store.sessions()}
        named = {one.id: one.drive_name for one in store.overview()}
        assert named == {f"{job}-001": "a", f"{job}-002": "b"}
        assert [store.count(one) for one in named] == [3, 3]
        for record in store.records(f"{job}-001"):
            assert record.clock == FAR_OFF
            assert FAR_OFF.warning in record.warnings
    told_of = " ".join(done.out.split())
    assert re.search(r"T, QD 4 .* IOPS .*(SIM\w+ +█+\S* +\d+k.*){2}", told_of), told_of
    told = ioplan("lab", "status")
    assert told.code == 0 and told.out.count("3 of 3") == 2
    assert str(job) in ioplan("lab", "status", "--all").out
    done_already = ioplan("lab", "cancel", str(job))
    told_of_it = f"job {job} has ended already; nothing is cancelled\n"
    assert (done_already.code, done_already.out) == (0, told_of_it)
    said = done.out + told.out
    assert "�" not in said
    assert all(len(line) <= 80 for line in said.splitlines())


def test_what_a_plan_uses_goes_with_it(tmp_path, store_path):
    (tmp_path / "lib").mkdir()
    plan_file(tmp_path / "lib", "workload w = random 4KiB 100/0, qd 2", "w.ioplan")
    plan = plan_file(tmp_path, 'use "lib/w.ioplan"\ntest "T" { run w for 200ms }')
    lab = lab_file(tmp_path, "a", backend="sim")
    done = ioplan("run", plan, "--lab", lab, "--target", "a", "--detach")
    assert done.code == 0, done.err
    plan.unlink()
    (tmp_path / "lib/w.ioplan").unlink()
    (folder,) = folders(store_path)
    assert f"ioplan resume {folder.path.parent.name}" in done.out
    assert ioplan("resume", folder.path.parent.name).code == 0


@pytest.mark.promise("exit_codes.lanes")
def test_the_gravest_drive_job_is_the_exit_code(tmp_path):
    lab = lab_file(tmp_path, "a", "b", backend="sim")
    plan = plan_file(tmp_path, SIM.replace("errors == 0", "iops > 100000000"))
    done = run_all(lab, plan)
    assert done.code == 1
    assert done.err.count("unmet") == 2
    elsewhere = lab.read_text().replace(str(tmp_path / "b"), "/nowhere/b")
    lab.write_text(elsewhere.replace('backend = "sim"', 'backend = "io_uring"'))
    done = run_all(lab, plan_file(tmp_path, SIM), "--quiet")
    assert done.code == 2
    assert "b: refused: error: there is no folder '/nowhere'" in done.err
    told = ioplan("lab", "status")
    assert told.code == 2
    assert "b: error: there is no folder '/nowhere'" in " ".join(told.out.split())


@pytest.mark.long
def test_cancel_ends_the_io_and_resume_goes_on(tmp_path, store_path):
    job = begun(lab_file(tmp_path, "a", "b"), plan_file(tmp_path, SLOW))
    wait_for(lambda: runs(store_path))
    done = ioplan("lab", "cancel", job)
    assert f"2 drive jobs of {job} cancelled" in done.out
    assert none_runs(store_path)
    told = ioplan("lab", "status", job)
    assert told.code == 130
    assert told.out.count("cancelled by ") == told.out.count("stopped") == 2
    assert 0 < sum(runs(store_path).values()) < 6
    assert ioplan("resume", job, "--detach").code == 0
    assert ioplan("resume", job).code == 0
    found = runs(store_path, job)
    assert len(found) == 6 and set(found.values()) == {1}
    assert "nothing to resume" in ioplan("resume", job).err


@pytest.mark.long
def test_ctrl_c_ends_all(tmp_path, store_path):
    lab = lab_file(tmp_path, "a", "b")
    words = ["run", plan_file(tmp_path, SLOW), "--lab", lab, "--target", "all"]
    command = [sys.executable, "-m", "ioplan.cli", *words, "--create", "16MiB"]
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **how) as client:
        wait_for(lambda: runs(store_path))
        client.send_signal(signal.SIGINT)
        out, err = client.communicate(timeout=60)
    assert client.returncode == 130
    assert len(re.findall("^ [ab] +stopped ", out, re.M)) == 2
    assert "to continue: ioplan resume" in err
    assert none_runs(store_path)


@pytest.mark.long
def test_a_killed_drive_job_is_begun_again(tmp_path, store_path):
    job = begun(lab_file(tmp_path, "a"), plan_file(tmp_path, SLOW))
    (folder,) = folders(store_path)
    wait_for(lambda: runs(store_path))
    os.kill(int(folder.lock_file.read_text()), signal.SIGKILL)
    wait_for(lambda: not folder.is_running())
    assert "its process was killed" in ioplan("lab", "status", job).out
    assert ioplan("resume", job).code == 0
    assert folder.state().attempts == 2
    found = runs(store_path)
    assert len(found) == 3 and set(found.values()) == {1}


def test_another_store_has_all_of_a_job(tmp_path, store_path):
    other = tmp_path / "other/results.db"
    lab = lab_file(tmp_path, "a", "b", backend="sim")
    done = run_all(lab, plan_file(tmp_path, SIM), "--store", other)
    assert done.code == 0, done.err
    assert len(runs(other)) == 6
    assert not store_path.exists()
    told = ioplan("lab", "status", "--store", other)
    assert told.code == 0 and "6 of 6" in told.out
    assert "no job 'last' of this host" in ioplan("lab", "status").err


def test_what_is_refused(tmp_path, store_path):
    lab, plan = lab_file(tmp_path, "a", backend="sim"), plan_file(tmp_path, SIM)
    assert "for one target" in run_all(lab, plan, "--json").err
    words = ("run", plan, "--lab", lab, "--target", "b", "--detach")
    refuse("--detach is for targets and groups", *words)
    text = lab.read_text()
    lab.write_text(text.replace(str(tmp_path / "a"), "a.bin"))
    done = run_all(lab, plan)
    assert (done.code, done.err.count("write the absolute path")) == (2, 1)
    on_host = text.replace("[targets.a]", '[hosts.h1]\n[targets.a]\nhost = "h1"')
    lab.write_text(on_host)
    assert "name it by --on" in run_all(lab, plan).err
    assert not folders(store_path)


@pytest.mark.long_but_first
@pytest.mark.parametrize("data", [False, True], ids=["unnamed", "with data"])
def test_no_file_is_written_before_each_may_be(data, tmp_path, monkeypatch):
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


@pytest.mark.long_but_first
@pytest.mark.parametrize("lock", ["", "shelf"])
def test_a_drive_is_never_used_by_two(lock, tmp_path, store_path):
    """Two jobs on one target, and two targets with one lock, take turns."""
    lab = lab_file(tmp_path, *("ab" if lock else "a"), lock=lock)
    plan = plan_file(tmp_path, SIM)
    jobs = [begun(lab, plan) for _ in range(1 if lock else 2)]
    assert [ioplan("resume", job).code for job in jobs] == [0] * len(jobs)
    with Store.open(store_path) as store:
        sooner, later = sorted(store.sessions(), key=lambda one: one.started_at)
        assert sooner.ended_at and sooner.ended_at <= later.started_at


@pytest.mark.long
@needs_root
def test_a_job_that_another_user_may_change_is_not_believed(tmp_path, store_path):
    """Where a store lies in a folder of many: a job says what is overwritten."""
    lab, plan = lab_file(tmp_path, "a", backend="sim"), plan_file(tmp_path, SIM)
    root = drive_jobs_root(store_path)
    root.mkdir()
    root.chmod(0o777)
    job = begun(lab, plan)
    assert root.stat().st_mode & 0o022 == 0, "what is ours is closed to others"
    assert ioplan("resume", job).code == 0
    os.chown(root, 65534, 65534)
    for done in (ioplan("resume", job), run_all(lab, plan, "--detach")):
        assert done.code in (2, 3), done.err
        assert f"others may write to {root}" in done.err
