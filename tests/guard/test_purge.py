"""A purge erases all, proves it, and fails where it cannot."""

import os
import shlex
import signal
import struct
import time
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from command import ioplan, plan_file
from hypothesis import given
from hypothesis import strategies as st
from started import ends, is_running, started

from golden import Golden
from ioplan.backends import BackendError, TargetRequest
from ioplan.runner.devices import nvme
from ioplan.runner.devices.nvme import (
    COMMAND,
    LOG_BYTES,
    Controller,
    Layout,
    SanitizeLog,
    nsids,
    wait_for_end,
)
from ioplan.runner.guard import make_scratch, open_target
from ioplan.runner.guard.purge import kernel
from ioplan.runner.guard.purge import purge as purging
from ioplan.runner.guard.purge.nvme import action_of
from ioplan.runner.guard.purge.purge import MARKS, Marks, numbers, purge
from ioplan.target_entry import LabTarget
from targets import MIB, asked, lab_file, loop_device, needs_root, tell

PAGE = 4096
NOISE = Random(1).randbytes(16 * MIB)
"""The same each time: one noise in some thousands has an array's two-byte mark."""


@contextmanager
def scratch(folder, size_bytes=4 * MIB):
    path = folder / "scratch.bin"
    make_scratch(path, size_bytes, lambda _: None)
    target = open_target(TargetRequest(path=str(path), writes=True))
    try:
        yield target
    finally:
        target.close()


@contextmanager
def device(folder, way):
    """A loop device full of data, opened as a session does."""
    backing = folder / "disk.img"
    backing.write_bytes(NOISE)
    said = {"purge" if isinstance(way, str) else "purge.command": way}
    lab = lab_file(folder, backing_file=str(backing), writable=True, **said)
    with loop_device(backing) as node:
        given_up = {"overwrite_data": (str(backing),)}
        target = open_target(asked(lab, node).model_copy(update=given_up))
        try:
            yield target
        finally:
            target.close()


# marks


@pytest.mark.parametrize(
    ("fill", "text"),
    [
        (0, "128 marks read back as zeros"),
        (255, "128 marks read back as ones"),
        (7, "all of 128 marks are gone, 128 read back as other data"),
    ],
)
@pytest.mark.promise("purge.marks")
def test_one_mark_of_all_is_found(tmp_path, fill, text):
    """Whatever the others read as; and one sector of it is enough."""
    with scratch(tmp_path) as target:
        marks = Marks(target)
        last, mark = list(marks.marks.items())[-1]
        os.pwrite(target.fd, bytes([fill]) * 4 * MIB, 0)
        assert str(marks.read()) == text and marks.read().left == 0
        os.pwrite(target.fd, mark[-512:], last + len(mark) - 512)
        found = marks.read()
        assert (found.left, found.first_byte) == (1, last)


@given(st.integers(1, 1 << 40), st.integers(1, MARKS))
def test_marks_are_spread_over_all_of_it(blocks, most):
    count = min(blocks, most)
    found = list(numbers(blocks, count))
    assert len(set(found)) == count and found == sorted(found)
    assert found[0] == 0 or count == 1
    assert found[-1] == blocks - 1 or count == 1
    gaps = [after - before for before, after in pairwise(found)]
    assert all(gap <= 2 * -(-blocks // count) for gap in gaps)


def test_a_device_that_shrank_is_no_success(tmp_path):
    with scratch(tmp_path) as target:
        marks = Marks(target)
        os.truncate(target.fd, MIB)
        with pytest.raises(OSError, match="short read"):
            marks.read()


# files and loop devices


def test_a_file_gives_its_blocks_back(tmp_path):
    with scratch(tmp_path) as target:
        assert purge(target) == "punched out; 128 marks read back as zeros"
        assert os.fstat(target.fd).st_blocks == 0
        assert Path(target.facts.path).read_bytes() == bytes(4 * MIB)
    for pages in (1, 3, 127):
        folder = tmp_path / str(pages)
        folder.mkdir()
        with scratch(folder, pages * PAGE) as target:
            assert "read back as zeros" in purge(target)


@needs_root
@pytest.mark.parametrize(
    ("way", "how"), [("discard", "discarded"), ("zeros", "overwritten with zeros")]
)
@pytest.mark.promise("purge.marks")
def test_a_device_is_erased(tmp_path, way, how, monkeypatch):
    monkeypatch.setattr(kernel, "PART_BYTES", 6 * MIB)
    shares: list[float] = []
    with device(tmp_path, way) as target:
        assert purge(target, shares.append) == f"{how}; 128 marks read back as zeros"
        assert shares == [6 / 16, 12 / 16, 1.0]
        assert (tmp_path / "disk.img").read_bytes() == bytes(16 * MIB)


@needs_root
@pytest.mark.long
def test_a_device_that_does_not_discard_is_told_apart(tmp_path):
    """A loop device on a file system that cannot punch holes."""
    tell("mount", "-t", "ramfs", "none", tmp_path)
    try:
        with (
            device(tmp_path, "discard") as target,
            pytest.raises(BackendError) as caught,
        ):
            purge(target)
    finally:
        tell("umount", tmp_path)
    text = str(caught.value)
    assert "Operation not supported; it does not support this method" in text
    assert '"format" or "sanitize" for NVMe, or "zeros"' in text


METHODS = {
    "discard": "discard",
    "zeros": "write_zeros",
    "format": "prepare_format",
    "sanitize": "prepare_sanitize",
}


@pytest.mark.parametrize("way", METHODS)
@pytest.mark.promise("purge.method")
def test_a_device_is_erased_by_the_method_of_the_lab_only(tmp_path, way, monkeypatch):
    used = list[str]()
    for method, function in METHODS.items():

        def erase(*_, method=method):
            used.append(method)
            return lambda _: "erased"

        monkeypatch.setattr(purging, function, erase)
    with scratch(tmp_path) as target:
        target.entry = LabTarget(serial="S1", purge=way)
        target.facts = target.facts.model_copy(update={"kind": "block"})
        with pytest.raises(BackendError, match="128 of 128 marks were not erased"):
            purge(target)
    assert used == [way]


@needs_root
@pytest.mark.parametrize("way", ["format", "sanitize"])
@pytest.mark.long
def test_nvme_commands_go_to_nvme_only(tmp_path, way):
    with device(tmp_path, way) as target:
        before = (tmp_path / "disk.img").read_bytes()
        with pytest.raises(
            BackendError, match=f"by {way}: it is not an NVMe namespace"
        ):
            purge(target)
        assert (tmp_path / "disk.img").read_bytes() == before


@needs_root
@pytest.mark.promise("purge.method")
def test_the_lab_chooses_for_a_plan(tmp_path, store_path):
    backing = tmp_path / "disk.img"
    backing.write_bytes(NOISE)
    lab = lab_file(tmp_path, backing_file=str(backing), writable=True, purge="zeros")
    plan = plan_file(
        tmp_path,
        'precondition new { purge }\ntest "T" { after new\n run random 4KiB 100/0 for 1MiB }',
    )
    words = ("run", plan, "--lab", lab, "--target", "fast", "--json")
    with loop_device(backing):
        done = ioplan(*words, "--overwrite-data", backing)
    assert done.code == 0, done.err
    notes = [line["text"] for line in done.of("note")]
    expected = "purge: overwritten with zeros; 128 marks read back as zeros"
    assert expected in notes


# NVMe: what is told to a drive, and what its pages mean


def controller(oacs=0, fna=0, sanicap=0):
    page = bytearray(PAGE)
    struct.pack_into("<H", page, 256, oacs)
    struct.pack_into("<I", page, 328, sanicap)
    page[524] = fna
    return Controller.of(bytes(page))


def test_what_a_drive_can_do_is_read_from_its_pages():
    assert COMMAND.size == 72  # struct nvme_passthru_cmd
    assert not controller(oacs=0b1010).formats_all
    assert controller(fna=0b001).formats_all
    assert controller(fna=0b010).formats_all  # by the erase that is part of it
    assert not controller(fna=0b100).formats_all
    assert controller(oacs=0b10).formats and not controller(oacs=0b1101).formats
    # block erase first, and never an overwrite
    assert action_of(controller(sanicap=0b111)) == 2
    assert action_of(controller(sanicap=0b101)) == 4
    assert action_of(controller(sanicap=0b100)) is None
    assert nsids(struct.pack("<1024I", 1, 2, 7, *[0] * 1021)) == [1, 2, 7]


@given(st.integers(0, 63), st.booleans(), st.integers(0, 3), st.booleans())
def test_a_format_changes_no_layout(lba_format, extended, protection, first):
    page = bytearray(PAGE)
    page[26] = lba_format & 15 | extended << 4 | (lba_format >> 4) << 5
    page[29] = protection | first << 3
    word = Layout.of(bytes(page)).cdw10(erase=1)
    assert word & 15 | (word >> 12 & 3) << 4 == lba_format
    assert word >> 4 & 1 == extended
    assert word >> 5 & 7 == protection
    assert word >> 8 & 1 == first
    assert word >> 9 & 7 == 1


# as real drives gave them to nvme-cli, two Intel 660p: one stuck, one done
LOGS = Golden("sanitize_logs")


def page_of(log):
    page = struct.pack("<HH", log["sprog"], log["sstat"])
    return page.ljust(LOG_BYTES, b"\0")


@pytest.mark.parametrize("case", LOGS)
def test_a_recorded_sanitize_log(case, golden):
    log = SanitizeLog.of(page_of(LOGS[case].input))
    golden(LOGS, case, {"under_way": log.under_way, "erased": not log.trouble})


def test_a_failed_sanitize_says_what_frees_the_drive():
    assert "--sanact=exit-failure" in SanitizeLog(65535, 3).trouble
    assert "state 0" in SanitizeLog(65535, 0).trouble  # as if it had never begun


def test_each_share_is_told_once(monkeypatch):
    monkeypatch.setattr(nvme, "POLL_S", 0.0)
    shares = [0, 100, 32768, 32768, 65000]
    logs = iter([*(SanitizeLog(share, 2) for share in shares), SanitizeLog(65535, 1)])
    told: list[float] = []
    assert wait_for_end(lambda: next(logs), told.append) == ""
    assert told == [share / 65536 for share in (0, 100, 32768, 65000)]


def test_a_sanitize_that_stands_still_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(nvme, "POLL_S", 0.01)
    monkeypatch.setattr(nvme, "STALL_S", 0.05)
    stuck = SanitizeLog.of(page_of(next(iter(LOGS.values())).input))
    text = wait_for_end(lambda: stuck, lambda _: None)
    assert "its sanitize has been at 1.0% for" in text


# a program of the lab

ZEROS = "dd if=/dev/zero of={device} bs=1M count=16 conv=fsync"
KILLED = "bash -c ': {device}; kill -9 $$'"


@pytest.mark.long_but_first
@needs_root
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("true {device}", "was erased by true, and reported success, but 128"),
        (ZEROS.replace("count=16", "count=15"), "but 8 of 128 marks were not erased"),
        ("dd of={device} if=/nowhere", "dd exited with 1: dd: failed to open"),
        ("/nowhere {device}", "/nowhere exited with 127: No such file"),
        (KILLED, "bash exited with 137: no output"),
    ],
)
@pytest.mark.promise("purge.marks")
def test_nor_is_a_program_trusted(command, message, tmp_path):
    with (
        device(tmp_path, shlex.split(command)) as target,
        pytest.raises(BackendError, match=message),
    ):
        purge(target)


def in_shell(text):
    return ["bash", "-c", text.replace("ZEROS", ZEROS)]


@needs_root
def test_the_target_stays_open_in_the_program(tmp_path):
    """So it is locked for as long as anything of it goes on."""
    look = "for fd in /proc/$$/fd/*; do [ $fd -ef {device} ] && exec ZEROS; done"
    with device(tmp_path, in_shell(f"{look}; exit 5")) as target:
        told = "erased by bash; 128 marks read back as zeros"
        assert purge(target) == told


WRITER = """(while :; do ZEROS; done) >/dev/null 2>&1 &
echo $! >PID.part; mv PID.part PID
"""
"""A child that writes for ever."""


@needs_root
@pytest.mark.long
@pytest.mark.promise("purge.killed")
def test_what_a_program_leaves_running_is_ended(tmp_path):
    told = tmp_path / "pid"
    command = in_shell(WRITER.replace("PID", str(told)) + "ZEROS")
    with device(tmp_path, command) as target:
        assert purge(target).startswith("erased by bash")
        check_ends(int(told.read_text()))


@pytest.mark.long_but_first
@needs_root
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.promise("purge.killed")
def test_nothing_is_erased_for_who_is_gone(tmp_path, store_path, how):
    backing, told = tmp_path / "disk.img", tmp_path / "pid"
    backing.write_bytes(NOISE)
    command = in_shell(WRITER.replace("PID", str(told)) + "wait; true")
    lab = lab_file(
        tmp_path, backing_file=str(backing), writable=True, **{"purge.command": command}
    )
    plan = plan_file(
        tmp_path,
        'precondition new { purge }\ntest "T" { after new\n run random 4KiB 100/0 for 1MiB }',
    )
    words = (plan, "--lab", lab, "--target", "fast", "--overwrite-data", backing)
    with loop_device(backing), started(*words) as call:
        while not told.exists():
            assert is_running(call.process.pid), call.process.communicate()
            time.sleep(0.01)
        writer = int(told.read_text())
        call.process.send_signal(how)
        call.process.communicate()
        check_ends(writer)


def check_ends(writer):
    """It is ended in any case, so that a test that fails leaves none."""
    try:
        assert ends(writer, 60)
    finally:
        with suppress(ProcessLookupError):
            os.kill(writer, signal.SIGKILL)
