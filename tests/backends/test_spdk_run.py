"""Runs of bdevperf: each on a stand-in that replays a transcript, and for real."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import paths
import pytest
from accuracy import check_known_latency
from spdk_jobs import LEFT_OUT, RECORDINGS, job, opened, real, stand_in
from started import ends, is_running

from ioplan.backends import BackendError, TargetRequest
from ioplan.job import SECOND_NS, Failure, Progress, Result, Started
from ioplan.results.measure import Measurement
from ioplan.runner.guard import TargetError
from ioplan.workload import Rate
from ioplan_spdk import SpdkBackend

pytestmark = pytest.mark.slow

SOON = 50_000_000
LONG_MIX = {"read_percent": 70, "run_ns": 30 * SECOND_NS, "read_only": False}
MIX = {**LONG_MIX, "run_ns": 3 * SECOND_NS, "interval_ns": SOON}


def ran(program, asked, stop_s=0, **options):
    """All events of a run; no process is left behind."""
    drive = opened(program, asked.target, **options)
    execution = drive.start(asked)
    if stop_s:
        threading.Timer(stop_s, execution.stop).start()
    with execution:
        found = list(execution)
    drive.close()
    if execution.session:
        assert not is_running(execution.session.process.popen.pid)
        assert not execution.session.socket.parent.exists()
    return found


def measured(found):
    """What the runner makes of them; the figures do not contradict each other."""
    measurement = Measurement()
    for event in found:
        measurement.add(event)
    assert isinstance(found[0], Started), found
    assert isinstance(found[-1], Result), found[-1]
    assert not measurement.bad_bins
    return measurement


def added_up(found):
    """The intervals add up to the result, in all that is a sum."""
    (last,) = found[-1].streams
    for direction, total in last.directions.items():
        parts = [
            event.streams[0].directions[direction]
            for event in found
            if isinstance(event, Progress)
            and not event.warmup
            and direction in event.streams[0].directions
        ]
        assert sum(part.ios for part in parts) == total.ios
        assert sum(part.bytes for part in parts) == total.bytes
        assert sum(part.sum_ns for part in parts) == pytest.approx(
            total.sum_ns, rel=0.02
        )
        assert all(sum(part.bins[1::2]) in (0, part.ios) for part in parts)


@pytest.fixture(params=["replayed", "real"])
def bdevperf(request, tmp_path):
    """Gives the program for a transcript: one that plays it, or bdevperf itself."""
    program = real()
    if request.param == "real" and program is None:
        pytest.skip(LEFT_OUT)
    if request.param == "real":
        return lambda transcript: program
    return lambda transcript: stand_in(tmp_path, transcript)


def test_reads(bdevperf):
    found = ran(bdevperf("rpc/N_nonroot_nohuge"), job(read_only=True))
    result = measured(found)
    (read,) = result.directions.values()
    assert read.bytes == read.ios * 4096 and read.errors == 0
    assert result.run_ns == pytest.approx(SECOND_NS, rel=0.05)
    assert read.iops == pytest.approx(read.ios / result.run_ns * 1e9)
    assert read.latency and read.latency.percentiles
    added_up(found)
    told = found[-1].facts["percentiles_us"]
    for percentile in read.latency.percentiles:
        if told_us := told.get(f"{percentile.percent:g}"):
            # theirs is a bucket's upper edge, ours its middle
            assert percentile.latency_ns == pytest.approx(told_us * 1000, rel=0.017)


def test_a_transcript_is_taken_to_the_last_io(tmp_path):
    result = measured(ran(stand_in(tmp_path, "rpc/N_nonroot_nohuge"), job()))
    (read,) = result.directions.values()
    assert read.ios == round(1003206.8300380079 * 1.000053)
    assert read.latency and read.latency.mean_ns == pytest.approx(3891.458189379546)


def test_reads_and_writes_each_have_a_histogram(bdevperf):
    asked = job(**MIX)
    found = ran(bdevperf("rpc/O_mix_one_layer"), asked)
    result = measured(found)
    read, write = result.directions["read"], result.directions["write"]
    assert read.ios / (read.ios + write.ios) == pytest.approx(0.7, abs=0.01)
    assert read.latency and write.latency
    assert read.latency.percentiles and write.latency.percentiles
    added_up(found)


def test_a_recorded_mix_keeps_the_recorded_total(tmp_path):
    asked = job(**MIX)
    program = stand_in(tmp_path, "rpc/O_mix_one_layer", speed=8)
    result = measured(ran(program, asked))
    assert result.total.ios == round(2105196.4212083505 * 3.000007)
    # recorded one second before the end, and never again
    assert result.result and any("estimated" in w for w in result.result.warnings)
    assert result.result.facts["layers"] == 1
    assert 0 < result.result.facts["layer_ns"] < 1000


def test_of_a_mix_the_greater_direction_is_known_to_the_last_io(tmp_path):
    """It is printed; what the device counted of the other one, before it was told to
    count this one only, is taken out by that one's own histogram."""
    asked = job(**MIX)
    program = stand_in(tmp_path, "rpc/O_mix_one_layer", speed=8)
    result = ran(program, asked, folder=tmp_path / "kept")[-1]
    assert isinstance(result, Result)
    read, write = (result.streams[0].directions[d] for d in ("read", "write"))
    text = (tmp_path / "kept/spdk/0001/stdout").read_text()
    counted = re.findall(r"^\s*[\d.]+ - +[\d.]+: .*\( *(\d+)\)$", text, re.MULTILINE)
    foreign = sum(map(int, counted)) - read.ios
    assert 0 < foreign < write.ios / 100
    assert sum(read.bins[1::2]) == read.ios
    estimated = result.facts["estimated_ios"] - foreign
    assert 0 < estimated < write.ios  # of the writes, what came after the last look


def test_a_stop_gives_what_was_done(bdevperf):
    asked = job(**LONG_MIX)
    began = time.monotonic()
    found = ran(bdevperf("rpc/H_SIGTERM"), asked, stop_s=1.5)
    assert time.monotonic() - began < 6
    result = measured(found)
    assert result.result and result.result.stopped and result.total.ios > 0
    share = result.directions["read"].ios / result.total.ios
    assert share == pytest.approx(0.7, abs=0.01)


def test_a_stop_before_anything_was_done(bdevperf):
    with opened(bdevperf("rpc/H_SIGTERM")).start(job()) as execution:
        execution.stop()
        last = list(execution)[-1]
    assert isinstance(last, Result | Failure)


@pytest.mark.parametrize("name", [n for n, one in RECORDINGS.items() if one.expected])
def test_what_goes_wrong_is_a_failure_with_its_reason(name, tmp_path):
    """Of a test, at the start, and of a process that dies in a test."""
    of = RECORDINGS[name].expected
    long = {**LONG_MIX, "run_ns": of["seconds"] * SECOND_NS} if of["seconds"] else {}
    last = ran(stand_in(tmp_path, name, of["manner"]), job(**long))[-1]
    assert isinstance(last, Failure), last
    assert last.cause == of["cause"] and of["says"] in last.message


@pytest.mark.long_but_first
@pytest.mark.parametrize(
    "transcript", ["err/config_empty", "err/target_dies_bdevperf_nvme_infinite"]
)
def test_a_hang_that_ignores_sigterm_is_killed(transcript, tmp_path, monkeypatch):
    monkeypatch.setattr("ioplan.core.child.OwnedProcess.grace_s", 0.2)
    program = stand_in(tmp_path, transcript, "hang")
    last = ran(program, job(), patience_s=0.2)[-1]
    assert isinstance(last, Failure) and last.cause == "hung"
    drive = opened(program, patience_s=0.2)
    with drive.start(job(run_ns=60 * SECOND_NS)) as execution:
        for last in execution:
            if isinstance(last, Started):
                execution.stop()
    assert isinstance(last, Failure) and last.cause == "hung"


ORPHAN = """
import sys; sys.path.insert(0, {here!r})
import paths
from spdk_jobs import job, opened
from pathlib import Path
drive = opened(Path(sys.argv[1]), folder=Path(sys.argv[2]))
execution = drive.start(job(run_ns={seconds} * 10**9, read_percent={percent}, read_only=False))
{then}
"""
UNDER_WAY = """for event in execution:
    print(execution.session.process.popen.pid, flush=True)"""
PAUSED = """with execution:
    list(execution)
print(execution.session.process.popen.pid, flush=True)
sys.stdin.read()"""


def orphan(program, folder, seconds, percent, then):
    """A session in a process of its own, which says who does its I/O."""
    said = {"seconds": seconds, "percent": percent, "then": then}
    code = ORPHAN.format(here=str(paths.SUPPORT), **said)
    return [sys.executable, "-c", code, str(program), str(folder)]


@pytest.mark.promise("resume.no_io_goes_on")
def test_no_bdevperf_outlives_a_killed_ioplan_and_no_socket(bdevperf, tmp_path):
    sockets = Path(tempfile.mkdtemp())
    program = bdevperf("rpc/H_SIGTERM")
    command = orphan(program, tmp_path / "kept", 30, 70, UNDER_WAY)
    environment = {**os.environ, "TMPDIR": str(sockets)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment
    ) as parent:
        assert parent.stdout
        child = int(parent.stdout.readline())
        assert is_running(child)
        parent.send_signal(signal.SIGKILL)
    assert ends(child, 5)
    sockets.rmdir()  # there is nothing in it


def test_a_long_name_of_the_temporary_folder_is_no_fault(tmp_path, monkeypatch):
    """A socket's path may have 107 bytes."""
    folder = tmp_path / ("x" * 100)
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    found = ran(stand_in(tmp_path, "rpc/N_nonroot_nohuge"), job(read_only=True))
    assert measured(found).directions["read"].ios > 0
    assert list(folder.iterdir()) == []


def test_the_folder_of_a_process_that_was_killed_at_its_start_is_removed(
    tmp_path, monkeypatch
):
    """Not that of one that is in use, and not one that is new."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    program = stand_in(tmp_path, "rpc/N_nonroot_nohuge")
    with opened(program).start(job()) as execution:
        used = execution.session.socket.parent
        prefix = used.name[:-8]  # as `tempfile` makes names
        deserted, fresh = (used.with_name(f"{prefix}{n}") for n in ("old", "new"))
        for folder in (deserted, fresh):
            folder.mkdir()
        for folder in (used, deserted):
            os.utime(folder, (1, 1))
        ran(program, job())
        assert used.exists() and fresh.exists() and not deserted.exists()
    assert list((tmp_path / "home").iterdir()) == [fresh]


def test_a_program_that_cannot_be_started(tmp_path):
    program = tmp_path / "bdevperf"
    program.write_text("#!/nowhere/sh\n")
    program.chmod(0o755)
    (last,) = ran(program, job())
    assert isinstance(last, Failure) and "cannot start" in last.message


def test_a_session_keeps_what_bdevperf_was_told_and_said(tmp_path):
    program = stand_in(tmp_path, "rpc/N_nonroot_nohuge")
    ran(program, job(), folder=tmp_path)
    kept = tmp_path / "spdk" / "0001"
    assert {path.name for path in kept.iterdir()} == {"native.txt", "stdout", "stderr"}
    assert "perform_tests" in (kept / "native.txt").read_text()


def test_a_file_is_guarded(tmp_path):
    program = stand_in(tmp_path, "rpc/N_nonroot_nohuge")
    options = {"path": str(program), "no_huge": True}
    path = tmp_path / "precious"
    path.write_bytes(bytes(1 << 20))
    with pytest.raises(TargetError, match="overwrite"):
        SpdkBackend().open(TargetRequest(path=str(path), writes=True, options=options))
    request = TargetRequest(path="nvme:pcie:0000:01:00.0", writes=True, options=options)
    with pytest.raises(TargetError, match="does not identify the drive"):
        SpdkBackend().open(request)
    request = TargetRequest(path=str(path), options={**options, "bdev": "uring"})
    with pytest.raises(TargetError, match="supports only block devices"):
        SpdkBackend().open(request)


def test_what_cannot_be_done_is_not_started(tmp_path):
    drive = opened(stand_in(tmp_path, "rpc/N_nonroot_nohuge"))
    with pytest.raises(BackendError, match="verify"):
        drive.start(job(verify=True))


# one bdevperf for the runs of a session, where that changes nothing


def is_paused(pid):
    """Whether it comes to be."""
    deadline = time.monotonic() + 5
    while (state := state_of(pid)) != "T" and time.monotonic() < deadline:
        time.sleep(0.01)
    return state == "T"


def state_of(pid):
    """R, S, or T where it is stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def run_on(drive, asked):
    """Who did it, and how it ended."""
    with drive.start(asked) as execution:
        last = list(execution)[-1]
    return execution.session.process.popen.pid, last


def test_the_next_run_has_the_same_process(tmp_path):
    drive = opened(stand_in(tmp_path, "rpc/N_nonroot_nohuge"), folder=tmp_path)
    first, done = run_on(drive, job())
    assert isinstance(done, Result) and is_paused(first)
    second, again = run_on(drive, job())
    assert second == first and isinstance(again, Result)
    assert again.streams == done.streams
    told = [(tmp_path / "spdk" / n / "stdout").read_text() for n in ("0001", "0002")]
    assert told[0] == told[1] and told[0].count("Running I/O for") == 1
    permuted, _ = run_on(drive, job(permuted=True))
    assert permuted != first and not is_running(first)  # -D is for a whole process
    drive.close()
    assert not is_running(permuted)


def test_what_a_run_has_made_is_removed_from_above(tmp_path):
    """Else a device stays, and the process is of no more use."""
    drive = opened(stand_in(tmp_path, "rpc/O_mix_one_layer"))
    (first, _), (second, _) = (run_on(drive, job(**MIX)) for _ in range(2))
    drive.close()
    assert first == second


@pytest.mark.parametrize("transcript", ["rpc/E_error_bdev", "rpc/H_SIGKILL"])
def test_after_a_bad_run_there_is_a_new_one(transcript, tmp_path):
    asked = job(**{**LONG_MIX, "run_ns": 2 * SECOND_NS})
    pid, last = run_on(opened(stand_in(tmp_path, transcript)), asked)
    assert isinstance(last, Failure) and not is_running(pid)


def test_a_device_that_has_no_room_names_the_option(tmp_path, monkeypatch):
    """SPDK says no more than ENOMEM, for example of 256 MiB without hugepages."""
    client = "ioplan_spdk.rpc.client"
    error = import_module(client).RpcError("bdev_malloc_create", -12, "ENOMEM")
    monkeypatch.setattr(f"{client}.Client.call", Mock(side_effect=error))
    (failure,) = ran(stand_in(tmp_path, "rpc/H_SIGTERM"), job())
    assert "--option memory_mib=1024" in failure.message, failure


def test_a_stopped_run_ends_its_process(tmp_path):
    drive = opened(stand_in(tmp_path, "rpc/H_SIGTERM"))
    with drive.start(job(**LONG_MIX)) as execution:
        taken = iter(execution)
        next(taken)
        execution.stop()
        last = list(taken)[-1]
    assert isinstance(last, Result) and last.stopped
    assert not is_running(execution.session.process.popen.pid)
    execution.stop()  # late, and of no effect


@pytest.mark.long
def test_a_paused_one_dies_with_ioplan(tmp_path):
    program = stand_in(tmp_path, "rpc/N_nonroot_nohuge")
    words, pipe = orphan(program, tmp_path, 1, 100, PAUSED), subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as parent:
        assert parent.stdout
        child = int(parent.stdout.readline())
        assert is_paused(child)
        parent.kill()
    assert ends(child, 5)


needs_bdevperf = pytest.mark.skipif(real() is None, reason=LEFT_OUT)


@needs_bdevperf
def test_known_latencies():
    target = "delay:128MiB:1000:5000:3000:9000"
    asked = job(
        target, 128 << 20, read_percent=70, run_ns=2 * SECOND_NS, read_only=False
    )
    result = measured(ran(real() or Path(), asked))
    for direction, usual_ns in (("read", 1.04e6), ("write", 3.06e6)):
        latency = result.directions[direction].latency
        assert latency
        p50_ns = latency.percentiles[0].latency_ns
        check_known_latency(latency.mean_ns, p50_ns, usual_ns)


@needs_bdevperf
def test_a_rate_is_a_limit_in_thousands():
    for percent in (100, 0, 50):
        asked = job(rate=Rate(iops=1500), read_percent=percent, read_only=False)
        result = measured(ran(real() or Path(), asked))
        assert result.total.iops == pytest.approx(2000, rel=0.1)
        latency = result.total.latency
        assert latency and latency.percentiles[0].latency_ns < 500_000 < 4 / 2000 * 1e9


@needs_bdevperf
@pytest.mark.skipif(os.geteuid() != 0, reason="LEFT OUT: needs root to leave it")
def test_real_faults_are_told():
    cases: list[tuple[dict[str, Any], str]] = [
        ({"mask": "0x8000000"}, "core"),
        ({"memory_mib": 128}, "memory"),
    ]
    for options, words in cases:
        last = ran(real() or Path(), job(), **options)[-1]
        assert isinstance(last, Failure) and words in last.message, last


@needs_bdevperf
def test_a_real_one_is_as_new(tmp_path):
    path = tmp_path / "data.bin"
    path.write_bytes(bytes(8 << 20))
    mix, drive = job(read_percent=70, read_only=False), opened(real() or Path())
    writes = job(read_percent=0, read_only=False)
    pids = set()
    for asked in (job(), mix, mix, job(size=65536), writes):
        pid, last = run_on(drive, asked)
        assert isinstance(last, Result) and last.streams[0].directions, last
        pids.add(pid)
    assert len(pids) == 1
