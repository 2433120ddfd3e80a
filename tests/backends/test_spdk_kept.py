"""One bdevperf for the runs of a session: kept where that changes nothing."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import paths
import pytest
from spdk_jobs import LEFT_OUT, MALLOC, job, real, stand_in
from started import is_running

from ioplan.job import SECOND_NS, Failure, Job, Result
from ioplan_spdk import SpdkOptions
from ioplan_spdk.bdevperf.execution import KeptProcess, SpdkExecution
from ioplan_spdk.bdevperf.script import delete_calls, script_of

OPTIONS = SpdkOptions(no_huge=True, patience_s=5)


def state(pid: int) -> str:
    """R, S, or T where it is stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def paused(pid: int) -> bool:
    """Whether it comes to be."""
    deadline = time.monotonic() + 5
    while state(pid) != "T" and time.monotonic() < deadline:
        time.sleep(0.01)
    return state(pid) == "T"


@pytest.fixture
def kept() -> Iterator[KeptProcess]:
    with KeptProcess() as process:
        yield process


def run(
    kept: KeptProcess, program: Path, asked: Job, folder: Path | None = None
) -> tuple[int, object]:
    """Who did it, and how it ended."""
    execution = SpdkExecution(program, OPTIONS, asked, folder, kept)
    with execution:
        last = list(execution)[-1]
    assert execution.session
    return execution.session.process.popen.pid, last


def test_what_was_made_is_removed_from_above() -> None:
    options = SpdkOptions()
    deleted = [
        (call.method, call.params["name"])
        for call in delete_calls(
            script_of(job("delay:64MiB:1:1:1:1", read_percent=70), options)
        )
    ]
    assert deleted == [
        ("bdev_passthru_delete", "Delay0"),
        ("bdev_delay_delete", "Delay1"),
        ("bdev_null_delete", "Null1"),
    ]
    for target in ("nvme:pcie:01:00.0", "/dev/nvme9n9", "malloc:64MiB"):
        script = script_of(job(target), options)
        assert len(delete_calls(script)) == len(script.calls) == 1


@pytest.mark.slow
def test_the_next_run_has_the_same_process(kept: KeptProcess, tmp_path: Path) -> None:
    program = stand_in(tmp_path, "rpc/N_nonroot_nohuge")
    first, done = run(kept, program, job(), tmp_path / "1")
    assert isinstance(done, Result) and paused(first)
    second, again = run(kept, program, job(), tmp_path / "2")
    assert second == first and isinstance(again, Result)
    assert again.streams == done.streams
    told = [(tmp_path / number / "stdout").read_text() for number in "12"]
    assert told[0] == told[1] and told[0].count("Running I/O for") == 1
    permuted, _ = run(kept, program, job(permuted=True))
    assert permuted != first and not is_running(first)  # -D is for a whole process
    kept.close()
    assert not is_running(permuted)


@pytest.mark.slow
@pytest.mark.parametrize("transcript", ["rpc/E_error_bdev", "rpc/H_SIGKILL"])
def test_after_a_bad_run_there_is_a_new_one(
    transcript: str, kept: KeptProcess, tmp_path: Path
) -> None:
    asked = job(read_percent=70, run_ns=2 * SECOND_NS, read_only=False)
    pid, last = run(kept, stand_in(tmp_path, transcript), asked)
    assert isinstance(last, Failure) and not is_running(pid)


@pytest.mark.slow
def test_a_stopped_run_ends_its_process(kept: KeptProcess, tmp_path: Path) -> None:
    asked = job(read_percent=70, run_ns=30 * SECOND_NS, read_only=False)
    program = stand_in(tmp_path, "rpc/H_SIGTERM")
    execution = SpdkExecution(program, OPTIONS, asked, None, kept)
    with execution:
        events = iter(execution)
        next(events)
        execution.stop()
        last = list(events)[-1]
    assert isinstance(last, Result) and last.stopped
    assert execution.session
    assert not is_running(execution.session.process.popen.pid)
    execution.stop()  # late, and of no effect


PAUSED = """
import sys; sys.path.insert(0, {here!r})
from pathlib import Path
import paths
from spdk_jobs import job
from ioplan_spdk.bdevperf.execution import SpdkExecution
from ioplan_spdk.bdevperf.execution import KeptProcess
from ioplan_spdk.options import SpdkOptions
with SpdkExecution(
    Path(sys.argv[1]), SpdkOptions(no_huge=True), job(), None, KeptProcess()
) as execution:
    list(execution)
print(execution.session.process.popen.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
@pytest.mark.long
def test_a_paused_one_dies_with_ioplan(tmp_path: Path) -> None:
    program = stand_in(tmp_path, "rpc/N_nonroot_nohuge")
    words = [sys.executable, "-c", PAUSED.format(here=str(paths.SUPPORT)), str(program)]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as parent:
        assert parent.stdout
        child = int(parent.stdout.readline())
        assert paused(child)
        parent.kill()
    deadline = time.monotonic() + 5
    while is_running(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(child)


@pytest.mark.slow
@pytest.mark.skipif(real() is None, reason=LEFT_OUT)
def test_a_real_one_is_as_new(kept: KeptProcess, tmp_path: Path) -> None:
    program = real() or Path()
    path = tmp_path / "data.bin"
    path.write_bytes(bytes(8 << 20))
    on_file = job(str(path), 8 << 20, read_only=True)
    mix = job(read_percent=70, read_only=False)
    pids = set()
    for asked in (job(), mix, mix, job(size=65536), job(read_percent=0)):
        pid, last = run(kept, program, asked)
        assert isinstance(last, Result) and last.streams[0].directions, last
        pids.add(pid)
    assert len(pids) == 1
    taken = kept.take(program, OPTIONS, script_of(job(MALLOC), OPTIONS))
    with taken:
        assert taken.clients()[0].call("bdev_get_bdevs") == []
    pid, last = run(kept, program, on_file)
    assert isinstance(last, Result) and pid not in pids
