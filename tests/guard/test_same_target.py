"""Whether a target is the one that a session began on, or that ioplan made, untouched."""

import os
import subprocess
import time
from contextlib import contextmanager

import pytest
from refused import refused

from ioplan import TargetFault
from ioplan.backends import TargetFacts, TargetRequest
from ioplan.records import Resolved, Session
from ioplan.runner import Device, is_session_target, target_key, write_counters
from ioplan.runner.guard import make_scratch, open_target
from targets import MIB, loop_device, mounted, needs_root, sparse, tell


def facts(path, kind="block", **identity):
    return TargetFacts(
        path=path, kind=kind, capacity_bytes=MIB, block_bytes=512, identity=identity
    )


def test_a_partition_of_another_nameless_disk_is_another_target():
    first, second = (facts(f"/dev/{name}", partition="1") for name in ("vdb1", "vdc1"))
    assert target_key(first) != target_key(second)
    model = facts("/dev/vdb", model="VIRTUAL-DISK")
    assert target_key(model) != target_key(facts("/dev/vdc", model="VIRTUAL-DISK"))


@pytest.mark.parametrize("name", ["serial", "wwid", "backing_file", "inode"])
def test_a_lasting_name_goes_without_the_path(name):
    first, second = (facts(f"/dev/{one}", **{name: "x"}) for one in ("vdb", "vdc"))
    assert target_key(first) == target_key(second)


@needs_root
class TestInodeThatIsUsedAgain:
    """On a file system of its own, the next file gets the number of the last."""

    @pytest.fixture
    def folder(self, tmp_path):
        image = sparse(tmp_path / "image", 160 * MIB)
        with loop_device(image) as device:
            tell("mkfs.ext4", "-q", "-I", "256", device)
            with mounted(device, tmp_path / "mnt") as mount:
                yield mount

    @pytest.mark.promise("resume.same_target")
    def test_the_next_file_is_not_the_sessions_target(self, folder):
        path = folder / "data"
        before = kept(path)
        path.unlink()
        after = kept(path)
        assert before.identity["inode"] == after.identity["inode"]
        assert target_key(before) != target_key(after)

    def test_nor_a_scratch_file(self, folder):
        path = folder / "data"
        make_scratch(path, MIB, lambda _: None)
        open_target(TargetRequest(path=str(path), writes=True)).close()
        before = path.stat()
        path.unlink()
        path.write_bytes(bytes(MIB))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert path.stat().st_ino == before.st_ino
        with refused(TargetFault.NO_CONSENT, "did not create"):
            open_target(TargetRequest(path=str(path), writes=True))

    def test_without_a_time_of_birth_the_generation_tells(self, folder, monkeypatch):
        monkeypatch.setattr("ioplan.runner.devices.file_id._birth_time", lambda _: "")
        path = folder / "data"
        before = kept(path).identity
        path.unlink()
        after = kept(path).identity
        assert before["inode"] == after["inode"]
        assert before["born"].startswith("generation-")
        assert before["born"] != after["born"]


def kept(path):
    """A new file's facts."""
    target = open_target(TargetRequest(path=str(sparse(path, MIB))))
    target.close()
    return target.facts


def test_without_attributes_and_births_a_scratch_file_is_known(tmp_path, monkeypatch):
    """As on ramfs, and with musl's Python."""
    for name in ("setxattr", "getxattr", "removexattr"):
        monkeypatch.delattr(os, name)
    monkeypatch.setattr("ioplan.runner.devices.facts.birth", lambda _: "")
    path = tmp_path / "s.bin"
    make_scratch(path, MIB, lambda _: None)
    for _ in range(2):
        open_target(TargetRequest(path=str(path), writes=True)).close()
    path.write_bytes(os.urandom(MIB))
    with refused(TargetFault.DATA, "another program has written to"):
        open_target(TargetRequest(path=str(path), writes=True))


# what proves that nothing has written to a target, on real loop devices


def block(path):
    return TargetFacts(
        path=str(path), kind="block", capacity_bytes=8 * MIB, block_bytes=512
    )


@pytest.fixture
def backing(tmp_path):
    path = tmp_path / "disk.img"
    path.write_bytes(bytes(8 * MIB))
    return path


@contextmanager
def set_up_again(loop, backing, *options):
    """The same loop device; others may have it for a while."""
    command = ["losetup", *options, str(loop), str(backing)]
    while subprocess.run(command, capture_output=True, check=False).returncode:
        time.sleep(0.05)
    try:
        yield
    finally:
        tell("losetup", "-d", loop)


def overwrite(path):
    with path.open("r+b") as file:
        file.write(b"x")
        os.fsync(file.fileno())


@needs_root
class TestLoopDevice:
    """It counts its own writes only, and goes on counting when it is set up anew."""

    @pytest.fixture
    def loop(self, backing):
        with loop_device(backing) as device:
            yield device

    def test_a_rest_changes_nothing(self, loop):
        before = write_counters(block(loop))
        assert before and before == write_counters(block(loop))

    def test_a_write_to_the_file_below_counts(self, loop, backing):
        before = write_counters(block(loop))
        overwrite(backing)
        assert write_counters(block(loop)) != before

    def test_so_does_one_while_it_is_not_set_up(self, backing):
        with loop_device(backing) as loop:
            before = write_counters(block(loop))
        overwrite(backing)
        with set_up_again(loop, backing):
            assert write_counters(block(loop)) != before

    def test_another_part_of_the_file_is_another_state(self, backing):
        with loop_device(backing, "--sizelimit", str(MIB)) as loop:
            before = write_counters(block(loop))
        with set_up_again(loop, backing, "-o", str(MIB), "--sizelimit", str(MIB)):
            assert write_counters(block(loop)) != before

    def test_a_file_without_a_name_proves_nothing(self, loop, backing):
        backing.unlink()
        assert write_counters(block(loop)) == {}

    def test_a_mount_in_between_counts(self, loop, tmp_path):
        tell("mkfs.ext4", "-q", loop)
        before = write_counters(block(loop))
        with mounted(loop, tmp_path / "mnt") as folder:
            (folder / "file").write_text("x")
        assert write_counters(block(loop)) != before


def test_what_is_stacked_upon_disks_has_their_counters(tmp_path, monkeypatch):
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


def written(folder):
    return write_counters(block(folder / "node"))["written"]


def count(folder, written):
    fields = ["0"] * 17
    fields[6] = str(written)
    (folder / "stat").write_text(" ".join(fields) + "\n")


def session(target, target_key):
    return Session(
        id="s",
        plan="p",
        plan_file="p.ioplan",
        plan_text="",
        started_at="2026-01-01T00:00:00",
        backend="io_uring",
        target=target,
        resolved=Resolved(target_key=target_key),
    )


@pytest.mark.promise("resume.same_target")
def test_a_session_goes_on_only_on_the_target_of_its_key():
    nameless = facts("/dev/vdb1", partition="1")
    begun = session("/dev/vdb1", target_key(nameless))
    assert is_session_target(begun, nameless)
    assert not is_session_target(begun, facts("/dev/vdc1", partition="1"))
