"""Faults, really made: each leaves a record with its cause, and what was measured.

The rows of the table in docs/faults.md are made here.
"""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import chain, count, repeat
from pathlib import Path

import pytest
from command import ioplan, plan_file
from generated import check_part
from msgspec import Struct
from started import ends, started
from survived import DOCUMENT, FAULTS, last_run, plain, row_of, table

from golden import Check
from ioplan.backends import TargetRequest, find
from ioplan.job import SECOND_NS
from ioplan.results.store.database import RESERVE_BYTES
from ioplan.runner import Interrupt, Limits
from ioplan.runner.execute.execute import RunOutcome, execute
from ioplan.runner.execute.observer import ClockPair
from ioplan_io_uring import engine_path
from ioplan_testing import calmly, job, stream
from targets import (
    Faulty,
    faulty,
    lab_of_file,
    needs_faulty,
    needs_root,
    pausing,
    tmpfs,
)

pytestmark = pytest.mark.slow

FOUR_S = 'test "T" { run random 4KiB 100/0, qd 4 for 4s }'
READS = 'test "T" { run random 4KiB 100/0, qd 4, pause 2ms every 8 for 20s }'
WRITES = 'test "T" { run random 4KiB 0/100, qd 4, pause 2ms every 8 for 20s }'
QUICK = Limits(silence_s=3.0, overdue_s=20.0, stop_s=15.0, kill_s=5.0)
"""What ends on request has the time that it has outside of tests."""
HASTY = Limits(silence_s=3.0, overdue_s=5.0, stop_s=0.5, kill_s=0.5)
NEEDS_FIO = pytest.mark.skipif(
    shutil.which("fio") is None, reason="LEFT OUT: fio is not installed"
)
BACKENDS = ["io_uring", pytest.param("fio", marks=NEEDS_FIO)]
Row = dict[str, str]


class Place(Struct):
    """The folder of a test, and the table that its row belongs to."""

    folder: Path
    golden: Check

    @property
    def store(self) -> Path:
        return self.folder / "results.db"

    def words(
        self, text: str, target: str | Path, *more: str | Path
    ) -> list[str | Path]:
        """The arguments of a run."""
        plan = plan_file(self.folder, text)
        return [plan, "--target", target, "--store", self.store, *more]

    def survived(self, name: str, fault: str, how: str) -> Row:
        """The last run of the store becomes the row."""
        return self.is_row(name, fault, how, row_of(*last_run(self.store), self.folder))

    def is_row(self, name: str, fault: str, how: str, row: Row) -> Row:
        self.golden(FAULTS, name, {"fault": fault, "how": how, **row})
        return row


@pytest.fixture
def place(tmp_path: Path, golden: Check) -> Place:
    return Place(tmp_path, golden)


@pytest.fixture
def scratch(place: Place) -> Path:
    """A scratch file that ioplan has made."""
    path = place.folder / "scratch.bin"
    text = 'test "T" { run random 4KiB 100/0 for 10ms }'
    done = ioplan("run", *place.words(text, path, "--create", "16MiB"), "--json")
    assert done.code == 0, done.err
    place.store.unlink()
    return path


# devices


@pytest.mark.long_but_first
@needs_faulty
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.promise("errors.device", "errors.kept")
def test_a_device_with_read_errors(backend: str, place: Place) -> None:
    trigger = place.folder / "now"
    bad = ("error-pread=EIO", "error-pread-rate=10%", f"error-file={trigger}")
    with faulty(place.folder / "d", "--filter=error", *bad) as device:
        words = place.words(READS, device.path, "--backend", backend)
        fails_when(trigger.touch, words)
    row = place.survived(
        f"read_errors_{backend}",
        f"reads fail ({backend})",
        "nbdkit's error filter, EIO",
    )
    assert row["cause"] == "device-error" and "EIO" in row["message"]
    assert "as far as it came" in row["kept"]


@pytest.mark.long_but_first
@needs_faulty
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_device_without_space(backend: str, place: Place) -> None:
    trigger = place.folder / "now"
    bad = ("error-pwrite=ENOSPC", "error-pwrite-rate=100%", f"error-file={trigger}")
    with faulty(place.folder / "d", "--filter=error", *bad) as device:
        lab = lab_of_file(place.folder, Path(device.backing))
        allowed = ("--lab", lab, "--overwrite", device.backing)
        words = place.words(WRITES, device.path, "--backend", backend, *allowed)
        fails_when(trigger.touch, words)
    row = place.survived(
        f"no_space_{backend}",
        f"writes fail ({backend})",
        "nbdkit's error filter, ENOSPC",
    )
    assert row["cause"] == "device-error" and "ENOSPC" in row["message"]


@pytest.mark.long_but_first
@needs_faulty
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.promise("errors.device")
def test_a_device_that_vanishes(backend: str, place: Place) -> None:
    with faulty(place.folder / "d") as device:
        words = place.words(READS, device.path, "--backend", backend)
        took_s = fails_when(device.vanish, words)
    row = place.survived(
        f"vanished_{backend}", f"the device vanishes ({backend})", "`kill -9` of nbdkit"
    )
    assert row["cause"] == "device-error"
    assert took_s < 12, "it went on with a device that was not there"


def fails_when(happens: Callable[[], None], words: list[str | Path]) -> float:
    """Let something happen in mid-run; returns how long the run went on after it."""
    with started(*words) as run:
        run.until("progress")
        happens()
        began_s = time.monotonic()
        assert run.end() == 3, run.said
        assert run.lines[-1] == {"type": "end", "status": "failed", "verdict": "none"}
        return time.monotonic() - began_s


@pytest.mark.long
def test_a_target_that_loses_its_end(place: Place, scratch: Path) -> None:
    fails_when(lambda: os.truncate(scratch, 1 << 20), place.words(READS, scratch))
    row = place.survived(
        "shrunk", "the target shrinks while it is read", "`truncate` in mid-run"
    )
    assert row["cause"] == "device-error"


# devices that hang


def finished(
    target: TargetRequest, backend: str, limits: Limits, happens: Callable[[], object]
) -> RunOutcome:
    """A run by the runner, with limits as short as a test needs them.

    Something happens once I/O has come back in some intervals.
    """
    told = count(1)

    def on_interval(*_: object) -> bool:
        if next(told) == 5:
            happens()
        return False

    drive = find(backend).open(target)
    try:
        asked = job(
            drive.facts,
            stream(drive.facts, qd=4),
            run_ns=60 * SECOND_NS,
            interval_ns=SECOND_NS // 10,
        )
        with Interrupt() as interrupt:
            return execute(drive, asked, interrupt, on_interval, limits)
    finally:
        drive.close()


def row_of_finished(done: RunOutcome, folder: Path) -> Row:
    measured = done.measurement
    assert measured.total.ios > 0 and measured.series and measured.detail.histograms
    return {
        "status": done.status,
        "cause": done.cause,
        "message": plain(done.message, folder),
        "kept": "the run as far as it came: figures, histograms, series",
    }


@pytest.mark.long_but_first
@needs_faulty
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.promise("errors.hang")
def test_a_device_that_hangs(backend: str, place: Place) -> None:
    with pausing(place.folder / "d") as (device, pause):
        done = finished(TargetRequest(path=device.path), backend, QUICK, pause.begin)
    row = row_of_finished(done, place.folder)
    place.is_row(
        f"hangs_{backend}",
        f"the device hangs ({backend})",
        "nbdkit's pause filter, asynchronous I/O",
        row,
    )
    assert (row["status"], row["cause"]) == ("failed", "hung")


@pytest.mark.long
@needs_faulty
@NEEDS_FIO
@pytest.mark.promise("errors.stuck", "errors.stuck")
def test_a_process_that_nothing_ends_is_given_up(place: Place) -> None:
    """It hangs in a system call, in state D, and holds the target for as long."""
    with pausing(place.folder / "d") as (device, pause):
        psync = TargetRequest(path=device.path, options={"engine": "psync"})
        done = finished(psync, "fio", HASTY, pause.begin)
        again = place.words(READS, device.path)
        refused = ioplan("run", *again)
        pause.end()
        assert_usable_again(device)
    row = row_of_finished(done, place.folder)
    place.is_row(
        "stuck", "a process hangs in the kernel", "nbdkit's pause filter, `pread`", row
    )
    assert (row["status"], row["cause"]) == ("failed", "stuck")
    assert "state D" in row["message"] and "cannot be killed" in row["message"]
    row = refused_row(refused.err, place)
    place.is_row(
        "left_behind", "a run on a target that such a process holds", "the same", row
    )
    assert refused.code == 2 and "fio (process " in row["message"]


def assert_usable_again(device: Faulty) -> None:
    deadline_s = time.monotonic() + 10
    while True:
        try:
            find("io_uring").open(TargetRequest(path=device.path)).close()
            return
        except Exception:
            assert time.monotonic() < deadline_s, "the target stayed locked"
            time.sleep(0.05)


def refused_row(said: str, place: Place) -> Row:
    message = plain(said.removeprefix("error: ").strip(), place.folder)
    return {"status": "refused", "cause": "", "message": message, "kept": "all before"}


@pytest.mark.long
def test_a_backend_that_does_not_answer_any_more(place: Place, scratch: Path) -> None:
    def stop() -> None:
        os.kill(engine_of_this_process(), signal.SIGSTOP)

    done = finished(TargetRequest(path=str(scratch)), "io_uring", HASTY, stop)
    row = row_of_finished(done, place.folder)
    place.is_row("mute", "the backend falls silent", "`kill -STOP` of the engine", row)
    assert (row["status"], row["cause"]) == ("failed", "hung")
    assert "only when killed" in row["message"]


@pytest.mark.long
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_backend_that_stood_still_is_named(
    backend: str, place: Place, scratch: Path
) -> None:
    """Its largest latency is not the drive's, and looks as if it were."""
    with started(*place.words(FOUR_S, scratch, "--backend", backend)) as run:
        run.until("progress")
        os.kill(run.backend, signal.SIGSTOP)
        time.sleep(2.2)
        os.kill(run.backend, signal.SIGCONT)
        run.until("record")
        assert run.end() == 0, run.said
    record, _ = last_run(place.store)
    (late,) = [text for text in record.warnings if " s late" in text]
    assert 1.0 < float(late.split(" s late")[0].split()[-1]) < 10
    assert "stood still" in late


@pytest.mark.long
@needs_faulty
def test_a_device_that_stood_still_is_no_late_report(place: Place) -> None:
    with (
        pausing(place.folder / "d") as (device, pause),
        started(*place.words(FOUR_S, device.path)) as run,
    ):
        run.until("progress")
        pause.begin()
        time.sleep(2.2)
        pause.end()
        assert run.end() == 0, run.said
    record, _ = last_run(place.store)
    latency = record.directions["read"].latency
    assert latency and latency.max_ns > 1_000_000_000
    assert not [text for text in record.warnings if " s late" in text]


def engine_of_this_process() -> int:
    tasks = Path("/proc/self/task").glob("*/children")
    pids = [int(pid) for file in tasks for pid in file.read_text().split()]
    (engine,) = [
        pid
        for pid in pids
        if Path(f"/proc/{pid}/comm").read_text().strip() == "ioplan-engine"
    ]
    return engine


@pytest.mark.long
@needs_faulty
def test_a_signal_ends_a_session_on_a_device_that_hangs(place: Place) -> None:
    with (
        pausing(place.folder / "d") as (device, pause),
        started(*place.words(READS, device.path)) as run,
    ):
        run.until("progress")
        pause.begin()
        time.sleep(0.3)
        run.process.send_signal(signal.SIGINT)
        assert run.end() == 130, run.said
    record, _ = last_run(place.store)
    assert record.status == "interrupted" and record.total.ios > 0


# backends


@pytest.mark.long_but_first
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.promise("exit_codes.run_failed", "errors.kept", "errors.backend")
def test_a_backend_that_is_killed(backend: str, place: Place, scratch: Path) -> None:
    with started(*place.words(READS, scratch, "--backend", backend)) as run:
        run.until("progress")
        os.kill(run.backend, signal.SIGKILL)
        assert run.end() == 3
    row = place.survived(
        f"killed_{backend}",
        f"the backend crashes ({backend})",
        "`kill -9` of the engine" if backend == "io_uring" else "`kill -9` of fio",
    )
    assert row["cause"] == "backend-died" and "as far as it came" in row["kept"]


BABBLER = """#!/bin/sh
case "$1" in probe) exec {engine} "$@";; esac
{engine} "$@" | {{ head -n 2; {then}; }}
"""


@pytest.mark.long_but_first
@pytest.mark.parametrize(
    ("name", "fault", "then", "cause"),
    [
        (
            "garbage",
            "the backend prints garbage",
            "echo 'Bus error'",
            "backend-garbage",
        ),
        ("no_result", "the backend ends without a result", "true", "backend-died"),
    ],
)
@pytest.mark.promise("errors.backend")
def test_a_backend_that_breaks_its_word(
    name: str, fault: str, then: str, cause: str, place: Place, scratch: Path
) -> None:
    stand_in = place.folder / "engine"
    stand_in.write_text(BABBLER.format(engine=engine_path(), then=then))
    stand_in.chmod(0o755)
    with started(*place.words(READS, scratch), IOPLAN_ENGINE=str(stand_in)) as run:
        assert run.end() == 3
    row = place.survived(name, fault, f"its events, cut off, then `{then}`")
    assert row["cause"] == cause and "as far as it came" in row["kept"]


@pytest.mark.long
@pytest.mark.promise("errors.backend")
def test_a_backend_that_ends_early(place: Place, scratch: Path) -> None:
    with started(*place.words(READS, scratch)) as run:
        run.until("progress")
        os.kill(run.backend, signal.SIGTERM)
        assert run.end() == 3
    row = place.survived("early", "the run ends early", "`kill` of the engine")
    assert row["cause"] == "short" and "as far as it came" in row["kept"]


# ioplan itself


@pytest.mark.long_but_first
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.promise("resume.no_io_goes_on")
def test_nothing_goes_on_without_ioplan(
    backend: str, place: Place, scratch: Path
) -> None:
    with started(*place.words(READS, scratch, "--backend", backend)) as run:
        run.until("progress")
        pid = run.backend
        group = members(pid)
        assert pid in group
        run.process.kill()
        assert all(ends(one, 2.0) for one in group)
    find("io_uring").open(TargetRequest(path=str(scratch))).close()


def members(session: int) -> list[int]:
    """All processes of a session."""
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            words = file.read_text().rpartition(")")[2].split()
            if int(words[3]) == session:
                found.append(int(file.parent.name))
    return found


def test_an_engine_outlives_the_thread_that_started_it(scratch: Path) -> None:
    drive = find("io_uring").open(TargetRequest(path=str(scratch)))
    executions = []
    asked = job(drive.facts, stream(drive.facts), run_ns=SECOND_NS // 2)
    thread = threading.Thread(target=lambda: executions.append(drive.start(asked)))
    thread.start()
    thread.join()
    with executions[0] as execution:
        *_, last = execution
    drive.close()
    assert last.event == "result"


@pytest.mark.long
@needs_faulty
@NEEDS_FIO
@pytest.mark.promise("errors.stuck")
def test_what_a_killed_ioplan_left_behind_holds_the_target(place: Place) -> None:
    with pausing(place.folder / "d") as (device, pause):
        one = READS.replace("qd 4", "qd 1")
        words = place.words(one, device.path, "--backend", "fio")
        with started(*words, "--option", "engine=psync") as run:
            run.until("progress")
            pid = run.backend
            pause.begin()
            time.sleep(0.3)
            run.process.kill()
        refused = ioplan("run", *words)
        pause.end()
        assert ends(pid, 5.0)
        assert_usable_again(device)
    assert refused.code == 2 and f"fio (process {pid})" in refused.err


@pytest.mark.long
def test_two_ioplans_on_one_target(place: Place, scratch: Path) -> None:
    with started(*place.words(READS, scratch)) as run:
        run.until("progress")
        refused = ioplan("run", *place.words(READS, scratch))
        run.process.send_signal(signal.SIGINT)
        assert run.end() == 130
    row = refused_row(refused.err, place)
    row["message"] = without_program(row["message"])
    place.is_row("two", "two ioplans on one target", "a second `ioplan run`", row)
    assert refused.code == 2


def without_program(message: str) -> str:
    """Python is not called the same everywhere."""
    for name in ("python3.13", "python3.12", "python3.11", "python3", "python"):
        message = message.replace(f"{name} (", "ioplan (")
    return message


# the results


def fill(folder: Path) -> None:
    with suppress(OSError), (folder / "ballast").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


@pytest.mark.long_but_first
@needs_root
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.promise("errors.full_disk", "resume.kept")
def test_a_full_results_disk(backend: str, place: Place, scratch: Path) -> None:
    """Once more where fio's figures of a busy moment contradict each other."""
    calmly(lambda _: full_results_disk(backend, place, scratch))


def full_results_disk(backend: str, place: Place, scratch: Path) -> None:
    text = READS.replace("20s }", "1200ms vary read in 100%, 99%, 98% }")
    with tmpfs(place.folder / "small", f"{RESERVE_BYTES + (2 << 20)}") as folder:
        words = place.words(text, scratch, "--backend", backend)
        words[words.index(place.store)] = folder / "results.db"
        with started(*words) as run:
            run.until("record")
            run.until("progress")
            fill(folder)
            code = run.end()
        record, detail = last_run(folder / "results.db")
    assert record.seq == 2 and record.status == "ok" and record.total.ios > 100
    assert code == 3, run.said
    row = row_of(record, detail, place.folder)
    said = plain(run.said.strip().splitlines()[-1], place.folder)
    row["message"] = said.removeprefix("error: ")
    place.is_row(
        f"full_disk_{backend}",
        f"the results' disk is full ({backend})",
        "a tmpfs, filled in mid-run",
        row,
    )
    if backend == "fio":
        assert any("own output is not kept" in one for one in record.warnings)


@needs_root
def test_a_results_disk_without_room_from_the_first(
    place: Place, scratch: Path
) -> None:
    with tmpfs(place.folder / "small", "1M") as folder:
        words = place.words(READS, scratch)
        words[words.index(place.store)] = folder / "results.db"
        done = ioplan("run", *words)
        assert not (folder / "results.db-reserve").exists()
    row = refused_row(done.err, place) | {"kept": "nothing was measured"}
    place.is_row("no_room", "the results' disk has no room", "a tmpfs of 1 MiB", row)
    assert done.code in (2, 3)


# clocks

HOUR_NS = 3600 * SECOND_NS


@pytest.mark.promise("figures.clock")
def test_a_clock_that_jumps(
    place: Place, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the virtual machine's test, where the system's clock is set for real."""
    jumps = chain([0], repeat(HOUR_NS))

    def clocks() -> ClockPair:
        return ClockPair(wall=lambda: time.time_ns() + next(jumps))

    monkeypatch.setattr("ioplan.runner.execute.execute.ClockPair", clocks)
    done = ioplan("run", *place.words(READS.replace("20s", "500ms"), scratch))
    assert done.code == 0, done.err
    row = place.survived(
        "clock", "the clock jumps", "a stand-in for the clock, set by an hour"
    )
    assert row["status"] == "ok" and "clock moved by +3600.0 s" in row["message"]


def test_a_clock_that_goes_is_no_jump() -> None:
    for wall_ns, warned in ((0, False), (999, False), (1001, True), (-1001, True)):
        wall, steady = iter([0, 60_000 + wall_ns]), iter([0, 60_000])
        made = ClockPair(
            lambda w=wall: next(w) * 10**6,  # type: ignore[misc]
            lambda s=steady: next(s) * 10**6,  # type: ignore[misc]
        )
        assert bool(made.jump()) is warned


def test_the_document_has_the_table(renew: bool) -> None:
    check_part(DOCUMENT, "survived", table(NAMES), renew)
    assert set(NAMES) == set(FAULTS)


NAMES = [
    *("read_errors_io_uring", "read_errors_fio", "no_space_io_uring", "no_space_fio"),
    *("vanished_io_uring", "vanished_fio", "shrunk", "hangs_io_uring", "hangs_fio"),
    *("stuck", "left_behind", "mute", "killed_io_uring", "killed_fio", "garbage"),
    *("no_result", "early", "two", "full_disk_io_uring", "full_disk_fio", "no_room"),
    "clock",
]
