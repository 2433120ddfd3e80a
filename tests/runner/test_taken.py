"""Something else uses a target in the middle of a session, or another one has its name."""

import os
import subprocess
import sys
import time
from contextlib import ExitStack

import pytest
from command import ioplan, plan_file
from fio_jobs import NEEDS_FIO
from refused import refused
from started import started

from ioplan import Cause, TargetFault
from ioplan.backends import TargetRequest
from ioplan.results.store import Store, default_path
from ioplan.runner.guard import make_scratch, open_target
from targets import (
    MIB,
    lab_of_file,
    loop_device,
    mounted,
    needs_root,
    remove_partition,
    sparse,
    tell,
)

pytestmark = pytest.mark.slow

RUNS = 'test "W" { run random 4KiB 0/100 for 300ms vary qd in 1..32 doubling }'
HOLD = """
import mmap, os, sys, time
fd = os.open(sys.argv[1], getattr(os, sys.argv[2]) | getattr(os, sys.argv[3], 0))
if sys.argv[3] == "mapped":
    held = mmap.mmap(fd, 4096)
    os.close(fd)
print("ready", flush=True)
time.sleep(float(sys.argv[4]))
"""
BACKENDS = pytest.mark.parametrize(
    "backend", ["io_uring", pytest.param("fio", marks=NEEDS_FIO)]
)


def opened(target, *how, lasts_s=60):
    """Another program that has it open; `how` are two flags."""
    words = (sys.executable, "-c", HOLD, str(target), *how, str(lasts_s))
    made = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert made.stdout and made.stdout.readline() == "ready\n"
    return made


def loop_over(target, folder, stack):
    return stack.enter_context(loop_device(target))


def file_system_over(target, folder, stack):
    device = loop_over(target, folder, stack)

    def take():
        tell("mkfs.ext4", "-q", "-F", device)
        stack.enter_context(mounted(device, folder / "mnt"))

    until_taken(take)


def until_taken(take, patience_s=30):
    """What the run writes may fall on what was made, before it is used."""
    deadline_s = time.monotonic() + patience_s
    while True:
        try:
            return take()
        except AssertionError:
            if time.monotonic() > deadline_s:
                raise


def swap_over(target, folder, stack):
    device = loop_over(target, folder, stack)

    def take():
        tell("mkswap", device)
        tell("swapon", device)

    until_taken(take)
    stack.callback(tell, "swapoff", device)


def swap_file(target, folder, stack):
    target.chmod(0o600)
    tell("mkswap", target)
    tell("swapon", target)
    stack.callback(tell, "swapoff", target)


def partitions(target, folder, stack):
    tell("addpart", target, "1", "2048", "4096")
    stack.callback(remove_partition, target, 1)


def loop_beside(target, folder, stack):
    """On the file that the target has its data in."""
    loop_over(folder.parent / "disk.img", folder, stack)


def opener(*how):
    def take(target, folder, stack):
        made = opened(target, *how)
        stack.callback(made.communicate)
        stack.callback(made.kill)

    return take


ON_FILES = {
    "losetup": (loop_over, "is used by the loop device"),
    "mkfs and mount": (file_system_over, "is used by the loop device"),
    "swapon": (swap_file, "is used as swap"),
    "open": (opener("O_RDWR", ""), "is open for writing by"),
    "open O_EXCL": (opener("O_WRONLY", "O_EXCL"), "is open for writing by"),
    "mmap": (opener("O_RDWR", "mapped"), "is mapped for writing by"),
}
ON_DEVICES = {
    "losetup": (loop_over, "is used by the loop device"),
    "losetup of its file": (loop_beside, "shares its file"),
    "mkfs and mount": (file_system_over, "is used by the loop device"),
    "swapon": (swap_over, "is used by the loop device"),
    "addpart": (partitions, "has partitions"),
    "open": (opener("O_RDWR", ""), "is open for writing by"),
    "mmap": (opener("O_RDWR", "mapped"), "is mapped for writing by"),
}


@pytest.fixture
def scratch(tmp_path):
    path = tmp_path / "scratch"
    make_scratch(path, 8 * MIB, lambda _: None)
    return path


@pytest.fixture
def device(tmp_path):
    image = sparse(tmp_path / "disk.img", 16 * MIB)
    with loop_device(image) as node:
        yield node


@pytest.fixture
def plan(tmp_path, store_path):
    return plan_file(tmp_path, RUNS)


def allowed(device, folder):
    """The words that let it be written."""
    image = folder / "disk.img"
    lab = lab_of_file(folder, image)
    return ("--target", device, "--lab", lab, "--overwrite", image)


def check_ended(run, text):
    """It says what it is, keeps what was finished, and begins nothing more."""
    assert run.end() == 3, run.lines[-1]
    records = [line["record"] for line in run.lines if line["type"] == "record"]
    assert [one["status"] for one in records] in (["ok"], ["ok", "failed"])
    assert {one["cause"] for one in records[1:]} <= {Cause.TAKEN}
    (failed,) = [line for line in run.lines if line["type"] == "error"]
    assert (failed["kind"], text in failed["text"]) == (Cause.TAKEN, True), failed
    with Store.open(default_path()) as store:
        kept = list(store.records(next(iter(store.sessions())).id))
    assert [one.status for one in kept] == [one["status"] for one in records]


@pytest.mark.long_but_first
@needs_root
@pytest.mark.parametrize(
    ("how", "backend"),
    [
        *((how, "io_uring") for how in ON_FILES),
        *(pytest.param(how, "fio", marks=NEEDS_FIO) for how in ("losetup", "open")),
    ],
)
@pytest.mark.promise("safety.taken")
def test_a_file_is_taken(how, backend, scratch, plan, tmp_path):
    take, text = ON_FILES[how]
    (folder := tmp_path / "taken").mkdir()
    words = ("--target", scratch, "--backend", backend)
    with ExitStack() as stack, started(plan, *words) as run:
        run.until("record")
        take(scratch, folder, stack)
        check_ended(run, text)


@pytest.mark.long_but_first
@needs_root
@pytest.mark.parametrize("how", ON_DEVICES)
@pytest.mark.promise("safety.taken")
def test_a_device_is_taken(how, device, plan, tmp_path):
    take, text = ON_DEVICES[how]
    (folder := tmp_path / "taken").mkdir()
    with ExitStack() as stack, started(plan, *allowed(device, tmp_path)) as run:
        run.until("record")
        take(device, folder, stack)
        check_ended(run, text)


@needs_root
@pytest.mark.long
@pytest.mark.promise("safety.taken")
def test_a_plan_that_goes_on_after_failures_ends_too(scratch, tmp_path, store_path):
    plan = plan_file(tmp_path, f"on failure continue\n{RUNS}")
    (folder := tmp_path / "taken").mkdir()
    with ExitStack() as stack, started(plan, "--target", scratch) as run:
        run.until("record")
        loop_over(scratch, folder, stack)
        check_ended(run, "is used by the loop device")


@pytest.mark.long
@needs_root
@pytest.mark.promise("safety.taken_content")
def test_what_was_made_on_it_is_not_taken_for_ours(scratch, plan, tmp_path):
    (folder := tmp_path / "taken").mkdir()
    with started(plan, "--target", scratch) as run:
        run.until("record")
        with ExitStack() as stack:
            device = loop_over(scratch, folder, stack)
            check_ended(run, "is used by the loop device")
            again = ioplan("resume", "last")
            assert "is used by the loop device" in again.err and again.code == 2
            tell("mkfs.ext4", "-q", "-F", device)
    again = ioplan("resume", "last")
    assert (
        "another program has written to" in again.err
        and "ext4 at byte 0" in again.err
        and again.code == 2
    )
    gone = ioplan("resume", "last", "--overwrite-data", scratch)
    assert gone.code == 0, gone.err


@pytest.mark.long
@BACKENDS
def test_who_only_reads_or_looks_for_a_moment_ends_nothing(backend, scratch, plan):
    with started(plan, "--target", scratch, "--backend", backend) as run:
        run.until("record")
        reads = opened(scratch, "O_RDONLY", "")
        probes = opened(scratch, "O_RDWR", "", lasts_s=0.5)
        assert run.end() == 0, run.said
        for one in (reads, probes):
            one.kill()
            one.communicate()


@pytest.mark.long_but_first
@needs_root
@BACKENDS
def test_a_session_does_not_take_its_own_programs_for_others(
    backend, device, plan, tmp_path
):
    plan.write_text(RUNS.replace("300ms", "50ms").replace("1..32 doubling", "1, 2"))
    words = (*allowed(device, tmp_path), "--backend", backend)
    with started(plan, *words) as run:
        assert run.end() == 0, run.said


# a target whose name leads elsewhere in the middle of a session

PAUSED = 'test "W" { run random 4KiB 0/100, pause 2ms every 8 for 300ms vary qd in 1..8 doubling }'


@pytest.mark.long_but_first
@pytest.mark.parametrize("backend", ["io_uring", pytest.param("fio", marks=NEEDS_FIO)])
@pytest.mark.promise("safety.open_device")
def test_what_was_checked_is_what_is_written(backend, tmp_path, store_path):
    """Whoever may write in the folder does not choose what is overwritten."""
    target, other = tmp_path / "scratch", tmp_path / "other"
    precious = os.urandom(8 * MIB)
    other.write_bytes(precious)
    words = (plan_file(tmp_path, PAUSED), "--target", target, "--create", "8MiB")
    with started(*words, "--backend", backend) as run:
        run.until("record")
        target.rename(tmp_path / "moved")
        other.rename(target)
        before = (tmp_path / "moved").read_bytes()
        run.until("record", times=2)
        assert run.end() == 0
    assert target.read_bytes() == precious
    assert (tmp_path / "moved").read_bytes() != before


def test_who_opens_by_name_is_told_of_the_change(tmp_path):
    path = tmp_path / "scratch"
    make_scratch(path, MIB, lambda _: None)
    target = open_target(TargetRequest(path=str(path), writes=True))
    try:
        target.check_name()
        path.rename(tmp_path / "moved")
        with refused(TargetFault.REPLACED, "is gone"):
            target.check_name()
        path.write_bytes(bytes(MIB))
        with refused(TargetFault.REPLACED, "was replaced"):
            target.check_name()
    finally:
        target.close()
