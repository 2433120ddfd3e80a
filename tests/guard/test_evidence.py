"""What proves that nothing has written to a target, on real loop devices."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ioplan.backends import TargetFacts
from ioplan.runner import Device, write_counters
from targets import MIB, loop_device, mounted, needs_root, tell


def block(path: Path) -> TargetFacts:
    return TargetFacts(
        path=str(path), kind="block", capacity_bytes=8 * MIB, block_bytes=512
    )


@pytest.fixture
def backing(tmp_path: Path) -> Path:
    path = tmp_path / "disk.img"
    path.write_bytes(bytes(8 * MIB))
    return path


@contextmanager
def set_up_again(loop: Path, backing: Path, *options: str) -> Iterator[None]:
    """The same loop device; others may have it for a while."""
    command = ["losetup", *options, str(loop), str(backing)]
    while subprocess.run(command, capture_output=True, check=False).returncode:
        time.sleep(0.05)
    try:
        yield
    finally:
        tell("losetup", "-d", loop)


def overwrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"x")
        os.fsync(file.fileno())


@needs_root
class TestLoopDevice:
    """It counts its own writes only, and goes on counting when it is set up anew."""

    @pytest.fixture
    def loop(self, backing: Path) -> Iterator[Path]:
        with loop_device(backing) as device:
            yield device

    def test_a_rest_changes_nothing(self, loop: Path) -> None:
        before = write_counters(block(loop))
        assert before and before == write_counters(block(loop))

    def test_a_write_to_the_file_below_counts(self, loop: Path, backing: Path) -> None:
        before = write_counters(block(loop))
        overwrite(backing)
        assert write_counters(block(loop)) != before

    def test_so_does_one_while_it_is_not_set_up(self, backing: Path) -> None:
        with loop_device(backing) as loop:
            before = write_counters(block(loop))
        overwrite(backing)
        with set_up_again(loop, backing):
            assert write_counters(block(loop)) != before

    def test_another_part_of_the_file_is_another_state(self, backing: Path) -> None:
        with loop_device(backing, "--sizelimit", str(MIB)) as loop:
            before = write_counters(block(loop))
        with set_up_again(loop, backing, "-o", str(MIB), "--sizelimit", str(MIB)):
            assert write_counters(block(loop)) != before

    def test_a_file_without_a_name_proves_nothing(
        self, loop: Path, backing: Path
    ) -> None:
        backing.unlink()
        assert write_counters(block(loop)) == {}

    def test_a_mount_in_between_counts(self, loop: Path, tmp_path: Path) -> None:
        tell("mkfs.ext4", "-q", loop)
        before = write_counters(block(loop))
        with mounted(loop, tmp_path / "mnt") as folder:
            (folder / "file").write_text("x")
        assert write_counters(block(loop)) != before


def test_what_is_stacked_upon_disks_has_their_counters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tree as sysfs has it for a mapping on a partition and on a disk."""
    mapping, part, disk = (tmp_path / name for name in ("dm-0", "sda/sda1", "sdb"))
    for folder in (mapping, part, disk):
        folder.mkdir(parents=True)
    (part / "partition").write_text("1\n")
    (mapping / "slaves").mkdir()
    for one in (part, disk):
        (mapping / "slaves" / one.name).symlink_to(one)
    monkeypatch.setattr(Device, "numbered", classmethod(lambda cls, _: cls(mapping)))
    (tmp_path / "node").touch()
    for folder in (mapping, part.parent, disk):
        count(folder, 0)
    assert written(tmp_path) == "sda 0 0, sdb 0 0"
    count(part.parent, 2)
    count(disk, 3)
    assert written(tmp_path) == "sda 2 0, sdb 3 0"
    assert Device(mapping).below == [Device(part), Device(disk), Device(part.parent)]


def written(folder: Path) -> str:
    return write_counters(block(folder / "node"))["written"]


def count(folder: Path, written: int) -> None:
    fields = ["0"] * 17
    fields[6] = str(written)
    (folder / "stat").write_text(" ".join(fields) + "\n")
