"""Faults of devices, backends, disks and clocks, really made: what the record says then.

Each leaves a record with its cause, and what was measured. The rows of the table in
docs/faults.md are made here.
"""

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from command import ioplan, plan_file
from faults import Fault, Strike
from fio_jobs import NEEDS_FIO
from generated import check_part
from hour_ahead import hour_ahead
from msgspec import Struct
from started import Started, ends, started
from survived import DOCUMENT, FAULTS, last_run, plain, row_of, table

from ioplan.backends import TargetRequest, find
from ioplan.job import SECOND_NS
from ioplan_io_uring import engine_path
from ioplan_testing import calmly, job, stream
from targets import (
    NEEDS_FAULTY,
    faulty,
    fill_up,
    lab_of_file,
    needs_faulty,
    needs_root,
    pausing,
    tmpfs,
)

pytestmark = pytest.mark.slow

READS = 'test "T" { run random 4KiB 100/0, qd 4, pause 2ms every 8 for 20s }'
WRITES = READS.replace("100/0", "0/100")
FOUR_S = 'test "T" { run random 4KiB 100/0, qd 4 for 4s }'
BACKENDS = ["io_uring", pytest.param("fio", marks=NEEDS_FIO)]
SILENCE = "silence_s = 3\n"


class Scene(Struct):
    """A run on a target that may fail; the last run of its store becomes a row."""

    folder: Path
    target: str | Path
    device: Any = None
    pause: Any = None
    text: str = READS
    more: tuple[str | Path, ...] = ()
    environment: dict[str, str] = {}
    run: Started | Any = None
    code: int = 0
    took_s: float = 0.0
    """How long the run went on after it was struck."""

    @property
    def store(self):
        return self.folder / "results.db"

    @property
    def trigger(self):
        """From when it is there on, the device fails, or the clock is ahead."""
        return self.folder / "now"

    @property
    def words(self):
        plan = plan_file(self.folder, self.text)
        return [plan, "--target", self.target, "--store", self.store, *self.more]

    def row(self):
        return row_of(*last_run(self.store), self.folder)

    def refused(self, said):
        message = plain(said.removeprefix("error: ").strip(), self.folder)
        kept = {"status": "refused", "cause": "", "kept": "all before"}
        return kept | {"message": message}


def running(scene, strike):
    """Once I/O has come back."""
    with started(*scene.words, **scene.environment) as scene.run:
        scene.run.until("progress")
        strike(scene)
        began_s = time.monotonic()
        scene.code = scene.run.end()
        scene.took_s = time.monotonic() - began_s


# what it happens to


@contextmanager
def scratch_file(folder):
    """A file that ioplan has made."""
    scene = Scene(folder, folder / "scratch.bin")
    scene.text = 'test "T" { run random 4KiB 100/0 for 10ms }'
    done = ioplan("run", *scene.words, "--create", "16MiB", "--json")
    assert done.code == 0, done.err
    scene.store.unlink()
    scene.text = READS
    yield scene


def failing(call, error, percent):
    """A device that does so from its trigger on, and may be written."""

    @contextmanager
    def made(folder):
        scene = Scene(folder, "")
        bad = (f"error-{call}={error}", f"error-{call}-rate={percent}%")
        filters = ("--filter=error", *bad, f"error-file={scene.trigger}")
        with faulty(folder / "d", *filters) as scene.device:
            scene.target, backing = scene.device.path, scene.device.backing
            if call == "pwrite":
                scene.text, lab = WRITES, lab_of_file(folder, Path(backing))
                scene.more = ("--lab", lab, "--overwrite", backing)
            yield scene

    return made


@contextmanager
def hanging(folder):
    """A device that answers nothing from `pause.begin` on."""
    lab = folder / "lab.toml"
    lab.write_text(SILENCE)
    with pausing(folder / "d") as (device, pause):
        yield Scene(folder, device.path, device, pause, more=quick(lab))


@contextmanager
def watched_closely(folder):
    """A scratch file whose silence is noticed as soon."""
    with scratch_file(folder) as scene:
        lab = folder / "lab.toml"
        lab.write_text(SILENCE)
        scene.more = quick(lab)
        yield scene


def quick(lab):
    return ("--lab", lab, "--interval", "100ms")


def speaking(then):
    """An engine whose events are cut off, and what it does then."""

    @contextmanager
    def made(folder):
        with scratch_file(folder) as scene:
            engine = folder / "engine"
            engine.write_text(BABBLER.format(engine=engine_path(), then=then))
            engine.chmod(0o755)
            scene.environment = {"IOPLAN_ENGINE": str(engine)}
            yield scene

    return made


BABBLER = """#!/bin/sh
case "$1" in probe) exec {engine} "$@";; esac
{engine} "$@" | {{ head -n 2; {then}; }}
"""


# the table


def triggered(scene):
    scene.trigger.touch()


def nothing(scene):
    """It happens by itself."""


def to_backend(number):
    return lambda scene: os.kill(scene.run.backend, number)


class Row(Struct, frozen=True):
    """What is struck, as the table calls it and how it is made, and what comes of it."""

    fault: str
    how: str
    place: Callable[[Path], Any]
    strike: Strike
    cause: str
    says: str = ""
    backends: tuple[str, ...] = ("io_uring", "fio")


BY_ENGINE = ("io_uring",)
PAUSED = "nbdkit's pause filter, asynchronous I/O"
ROWS = {
    "read_errors": Row(
        "reads fail", "nbdkit's error filter, EIO",
        failing("pread", "EIO", 10), triggered, "device-error", "EIO",
    ),
    "no_space": Row(
        "writes fail", "nbdkit's error filter, ENOSPC",
        failing("pwrite", "ENOSPC", 100), triggered, "device-error", "ENOSPC",
    ),
    "vanished": Row(
        "the device vanishes", "`kill -9` of nbdkit",
        failing("pread", "EIO", 0), lambda scene: scene.device.vanish(), "device-error",
    ),
    "shrunk": Row(
        "the target shrinks while it is read", "`truncate` in mid-run",
        scratch_file, lambda scene: os.truncate(scene.target, 1 << 20), "device-error",
        backends=BY_ENGINE,
    ),
    "hangs": Row(
        "the device hangs", PAUSED,
        hanging, lambda scene: scene.pause.begin(), "hung", "ended on request",
    ),
    "mute": Row(
        "the backend falls silent", "`kill -STOP` of the engine",
        watched_closely, to_backend(signal.SIGSTOP), "hung", "only when killed",
        backends=BY_ENGINE,
    ),
    "killed": Row(
        "the backend crashes", "`kill -9` of {}",
        scratch_file, to_backend(signal.SIGKILL), "backend-died",
    ),
    "garbage": Row(
        "the backend prints garbage", "its events, cut off, then `echo 'Bus error'`",
        speaking("echo 'Bus error'"), nothing, "backend-garbage", backends=BY_ENGINE,
    ),
    "no_result": Row(
        "the backend ends without a result", "its events, cut off, then `true`",
        speaking("true"), nothing, "backend-died", backends=BY_ENGINE,
    ),
    "early": Row(
        "the run ends early", "`kill` of the engine",
        scratch_file, to_backend(signal.SIGTERM), "short", backends=BY_ENGINE,
    ),
}  # fmt: skip
IN_SHORT = {
    f"{name}_io_uring" for name in ("read_errors", "vanished", "hangs", "killed")
}
"""What `make test` tries."""


def cases():
    """Each row with each of its backends, by the names that golden rows have."""
    for name, row in ROWS.items():
        for backend in row.backends:
            case = f"{name}_{backend}" if len(row.backends) > 1 else name
            marks = [] if row.place in (scratch_file, watched_closely) else NEEDS_FAULTY
            marks = [*marks, *[NEEDS_FIO][: backend == "fio"]]
            marks += [pytest.mark.long][: case not in IN_SHORT]
            yield pytest.param(case, row, backend, marks=marks, id=case)


@pytest.mark.parametrize(("case", "row", "backend"), [*cases()])
@pytest.mark.promise(
    "errors.device",
    "errors.kept",
    "errors.backend",
    "errors.hang",
    "exit_codes.run_failed",
)
def test_a_run_fails_with_its_cause_and_what_was_measured(
    case, row, backend, tmp_path, golden
):
    with row.place(tmp_path) as scene:
        scene.more += ("--backend", backend)
        Fault(row.strike, running).happen(scene)
    assert scene.code == 3, scene.run.said
    last = {"type": "end", "status": "failed", "verdict": "none"}
    assert scene.run.lines[-1] == last
    assert scene.took_s < 30, "it went on with what could not go on"
    found = scene.row()
    whose = "the engine" if backend == "io_uring" else backend
    both = f" ({backend})" if len(row.backends) > 1 else ""
    head = {"fault": row.fault + both, "how": row.how.format(whose)}
    golden(FAULTS, case, head | found)
    assert found["cause"] == row.cause and row.says in found["message"]
    assert "as far as it came" in found["kept"]


# what hangs in the kernel, or stands still


@pytest.mark.long
@needs_faulty
@NEEDS_FIO
@pytest.mark.promise("errors.stuck")
def test_a_process_that_nothing_ends_is_given_up(tmp_path, golden):
    """It hangs in a system call, in state D, and holds the target for as long."""
    with hanging(tmp_path) as scene:
        scene.text = READS.replace("qd 4", "qd 1")
        scene.more += ("--backend", "fio", "--option", "engine=psync")
        Fault(lambda scene: scene.pause.begin(), running).happen(scene)
        row = scene.row()
        refused = ioplan("run", *Scene(tmp_path, scene.target).words)
        scene.pause.end()
        assert_usable_again(scene.target)
    head = {"fault": "a process hangs in the kernel"}
    golden(FAULTS, "stuck", head | {"how": "nbdkit's pause filter, `pread`"} | row)
    assert (row["status"], row["cause"]) == ("failed", "stuck")
    assert "state D" in row["message"] and "cannot be killed" in row["message"]
    head = {"fault": "a run on a target that such a process holds", "how": "the same"}
    row = scene.refused(refused.err)
    golden(FAULTS, "left_behind", head | row)
    assert refused.code == 2 and "fio (process " in row["message"]


def assert_usable_again(target):
    deadline_s = time.monotonic() + 10
    while True:
        try:
            find("io_uring").open(TargetRequest(path=str(target))).close()
            return
        except Exception:
            assert time.monotonic() < deadline_s, "the target stayed locked"
            time.sleep(0.05)


@pytest.mark.long
@needs_faulty
@NEEDS_FIO
@pytest.mark.promise("errors.stuck")
def test_what_a_killed_ioplan_left_behind_holds_the_target(tmp_path):
    def strike(scene):
        scene.pause.begin()
        time.sleep(0.3)
        pids.append(scene.run.backend)
        scene.run.process.kill()

    pids = []
    with hanging(tmp_path) as scene:
        scene.text = READS.replace("qd 4", "qd 1")
        scene.more += ("--backend", "fio", "--option", "engine=psync")
        Fault(strike, running).happen(scene)
        refused = ioplan("run", *scene.words)
        scene.pause.end()
        assert ends(pids[0], 5.0)
        assert_usable_again(scene.target)
    assert refused.code == 2 and f"fio (process {pids[0]})" in refused.err


@pytest.mark.long
@needs_faulty
def test_a_signal_ends_a_session_on_a_device_that_hangs(tmp_path):
    def strike(scene):
        scene.pause.begin()
        time.sleep(0.3)
        scene.run.process.send_signal(signal.SIGINT)

    with hanging(tmp_path) as scene:
        Fault(strike, running).happen(scene)
    assert scene.code == 130, scene.run.said
    record, _ = last_run(scene.store)
    assert record.status == "interrupted" and record.total.ios > 0


STILL_S = 2.2


def stands_still(scene):
    for number in (signal.SIGSTOP, signal.SIGCONT):
        os.kill(scene.run.backend, number)
        time.sleep(STILL_S * (number == signal.SIGSTOP))


def device_stands_still(scene):
    scene.pause.begin()
    time.sleep(STILL_S)
    scene.pause.end()


@pytest.mark.long
@pytest.mark.parametrize(
    ("place", "strike", "backend"),
    [
        (scratch_file, stands_still, "io_uring"),
        pytest.param(scratch_file, stands_still, "fio", marks=NEEDS_FIO),
        pytest.param(hanging, device_stands_still, "io_uring", marks=NEEDS_FAULTY),
    ],
)
def test_who_stood_still_is_named(place, strike, backend, tmp_path):
    """A backend's largest latency is not the drive's then, and looks as if it were."""
    with place(tmp_path) as scene:
        scene.text, scene.more = FOUR_S, ("--backend", backend)
        Fault(strike, running).happen(scene)
    assert scene.code == 0, scene.run.said
    record, _ = last_run(scene.store)
    latency = record.directions["read"].latency
    assert latency and latency.max_ns > SECOND_NS
    late = [text for text in record.warnings if " s late" in text]
    assert len(late) == (strike is stands_still)
    for text in late:
        assert 1.0 < float(text.split(" s late")[0].split()[-1]) < 10
        assert "stood still" in text


# ioplan itself


@pytest.mark.long_but_first
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.promise("resume.no_io_goes_on")
def test_nothing_goes_on_without_ioplan(backend, tmp_path):
    def strike(scene):
        group.extend(members(scene.run.backend))
        assert scene.run.backend in group
        scene.run.process.kill()
        assert all(ends(one, 2.0) for one in group)

    group = []
    with scratch_file(tmp_path) as scene:
        scene.more = ("--backend", backend)
        Fault(strike, running).happen(scene)
    find("io_uring").open(TargetRequest(path=str(scene.target))).close()


def members(session):
    """All processes of a session."""
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            words = file.read_text().rpartition(")")[2].split()
            if int(words[3]) == session:
                found.append(int(file.parent.name))
    return found


def test_an_engine_outlives_the_thread_that_started_it(tmp_path):
    (tmp_path / "file").write_bytes(bytes(1 << 20))
    drive = find("io_uring").open(TargetRequest(path=str(tmp_path / "file")))
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
def test_two_ioplans_on_one_target(tmp_path, golden):
    def strike(scene):
        refused.append(ioplan("run", *scene.words))
        scene.run.process.send_signal(signal.SIGINT)

    refused = []
    with scratch_file(tmp_path) as scene:
        Fault(strike, running).happen(scene)
    assert (refused[0].code, scene.code) == (2, 130)
    head = {"fault": "two ioplans on one target", "how": "a second `ioplan run`"}
    row = scene.refused(refused[0].err)
    row["message"] = without_program(row["message"])
    golden(FAULTS, "two", head | row)


def without_program(message):
    """Python is not called the same everywhere."""
    for name in ("python3.13", "python3.12", "python3.11", "python3", "python"):
        message = message.replace(f"{name} (", "ioplan (")
    return message


# the results' disk, and the clock


class OnSmallDisk(Scene):
    """Its store lies on a disk of its own."""

    @property
    def store(self):
        return self.folder / "small/results.db"


@pytest.mark.long_but_first
@needs_root
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.promise("errors.full_disk", "resume.kept")
def test_a_full_results_disk(backend, tmp_path, golden):
    """Once more where fio's figures of a busy moment contradict each other."""
    calmly(lambda _: full_results_disk(backend, tmp_path, golden))


def in_the_second_run(scene, strike):
    def after_a_record(scene):
        scene.run.until("record")
        scene.run.until("progress")
        strike(scene)

    running(scene, after_a_record)


def full_results_disk(backend, folder, golden):
    with ExitStack() as stack:
        made = stack.enter_context(scratch_file(folder))
        small = stack.enter_context(tmpfs(folder / "small", "10M"))
        cells = READS.replace("20s }", "1200ms vary read in 100%, 99%, 98% }")
        words = ("--backend", backend)
        scene = OnSmallDisk(folder, made.target, text=cells, more=words)
        Fault(lambda _: fill_up(small), in_the_second_run).happen(scene)
        record, detail = last_run(scene.store)
        row = row_of(record, detail, folder)
    assert record.seq == 2 and record.status == "ok" and record.total.ios > 100
    assert scene.code == 3, scene.run.said
    said = plain(scene.run.said.strip().splitlines()[-1], folder)
    row["message"] = said.removeprefix("error: ")
    fault = f"the results' disk is full ({backend})"
    head = {"fault": fault, "how": "a tmpfs, filled in mid-run"}
    golden(FAULTS, f"full_disk_{backend}", head | row)
    if backend == "fio":
        assert any("own output is not kept" in one for one in record.warnings)


@needs_root
def test_a_results_disk_without_room_from_the_first(tmp_path, golden):
    with scratch_file(tmp_path) as made, tmpfs(tmp_path / "small", "1M"):
        scene = OnSmallDisk(tmp_path, made.target)
        done = ioplan("run", *scene.words)
        assert not (tmp_path / "small/results.db-reserve").exists()
    row = scene.refused(done.err) | {"kept": "nothing was measured"}
    head = {"fault": "the results' disk has no room", "how": "a tmpfs of 1 MiB"}
    golden(FAULTS, "no_room", head | row)
    assert done.code in (2, 3)


@pytest.mark.promise("figures.clock")
def test_a_clock_that_jumps(tmp_path, golden):
    """Beside the virtual machine's test, where the system's clock is set for real."""
    with scratch_file(tmp_path) as scene:
        scene.text = READS.replace("20s", "1500ms")
        scene.environment = hour_ahead(tmp_path, scene.trigger)
        Fault(triggered, running).happen(scene)
    assert scene.code == 0, scene.run.said
    row = scene.row()
    how = "a stand-in for the clock, set by an hour"
    golden(FAULTS, "clock", {"fault": "the clock jumps", "how": how} | row)
    assert row["status"] == "ok" and "clock moved by +3600.0 s" in row["message"]


def test_the_document_has_the_table(renew):
    check_part(DOCUMENT, "survived", table(NAMES), renew)
    assert set(NAMES) == set(FAULTS)


NAMES = [
    *("read_errors_io_uring", "read_errors_fio", "no_space_io_uring", "no_space_fio"),
    *("vanished_io_uring", "vanished_fio", "shrunk", "hangs_io_uring", "hangs_fio"),
    *("stuck", "left_behind", "mute", "killed_io_uring", "killed_fio", "garbage"),
    *("no_result", "early", "two", "full_disk_io_uring", "full_disk_fio", "no_room"),
    "clock",
]
