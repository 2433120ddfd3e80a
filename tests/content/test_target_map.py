"""What a map says of a drive: real file systems, whole and with their beginning gone."""

import errno
import json
import os
import shutil
import tarfile
from typing import Any, NamedTuple

import pytest
from command import ioplan, refuse

from targets import MIB, loop_device, needs_root, sparse, tell

GB = 10**9
MAKERS = {
    "ext4": ("mkfs.ext4", "-q", "-L", "photos"),
    "xfs": ("mkfs.xfs", "-q", "-K", "-L", "photos"),
    "btrfs": ("mkfs.btrfs", "-q", "-K", "-L", "photos"),
}


class Mapped(NamedTuple):
    """What `ioplan targets --map` says of a drive: for programs, and for people."""

    document: dict[str, Any]
    text: str

    @property
    def found(self):
        return list(self.document["found"])

    @property
    def is_empty(self):
        first = self.document["first_data_bytes"]
        there = ("found", "tables", "share", "unreadable")
        return first is None and not any(self.document[name] for name in there)


def mapped(path):
    calls = [ioplan("targets", "--map", path, *more) for more in (("--json",), ())]
    assert {done.code for done in calls} == {0}, calls
    return Mapped(json.loads(calls[0].out), " ".join(calls[1].out.split()))


def zero(path, length, at=0):
    with path.open("r+b") as file:
        file.seek(at)
        file.write(bytes(length))


def made(image, kind, at):
    """A real file system that begins there."""
    if shutil.which(MAKERS[kind][0]) is None:
        pytest.skip(f"LEFT OUT: {MAKERS[kind][0]} is not installed")
    with loop_device(image, "-o", str(at)) as device:
        tell(*MAKERS[kind], device)
    return image


@pytest.mark.long_but_first
@needs_root
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "at"),
    [
        *(("ext4", 0), ("xfs", 0), ("btrfs", 0), ("ext4", 63 * 512), ("xfs", 63 * 512)),
        *(("btrfs", MIB), ("xfs", 7 * MIB), ("ext4", 20 * MIB), ("ext4", 200 * MIB)),
    ],
)
def test_a_file_system_is_found_where_it_begins(kind, at, tmp_path):
    image = made(sparse(tmp_path / "disk.img", 64 * GB), kind, at)
    if at:
        zero(image, 512)
    if at % 4096 and kind != "ext4":
        assert not mapped(image).is_empty
        return
    (found,) = mapped(image).found
    assert found["at_bytes"] == at and found["what"].startswith(f"{kind} (")
    assert "label photos" in found["what"]


@pytest.mark.long_but_first
@needs_root
@pytest.mark.slow
@pytest.mark.parametrize("kind", MAKERS)
def test_a_copy_is_found_when_the_first_16_mib_are_gone(kind, tmp_path):
    image = made(sparse(tmp_path / "disk.img", 64 * GB), kind, MIB)
    zero(image, 16 * MIB)
    assert kind in mapped(image).found[0]["what"]


def gpt(image):
    (table,) = mapped(image).document["tables"]
    return str(table)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("sgdisk"), reason="LEFT OUT: sgdisk is missing")
@pytest.mark.long
def test_a_gpt_is_found_by_its_copy(tmp_path):
    image = sparse(tmp_path / "disk.img", 64 * GB)
    tell("sgdisk", "-n", "1:0:+10G", "-n", "2:0:0", image)
    assert gpt(image) == "GPT with 2 partitions"
    zero(image, MIB)
    assert gpt(image) == "GPT (its copy at the end) with 2 partitions"
    os.truncate(image, 64 * GB + 4 * MIB)  # the drive has grown, its copy has not moved
    assert gpt(image) == "GPT (its copy at the end) with 2 partitions"


@pytest.mark.long_but_first
@pytest.mark.slow
@pytest.mark.parametrize("share", [0.01, 0.4])
@pytest.mark.promise("safety.noise")
def test_noise_is_data_and_its_share_is_estimated(share, tmp_path):
    """Extents of 1 MiB of incompressible data, which hold that share of the drive."""
    image, noise = sparse(tmp_path / "disk.img", 3 * GB), os.urandom(MIB)
    with image.open("r+b") as file:
        for at in range(80 * MIB, 3 * GB, int(MIB / share)):
            file.seek(at)
            file.write(noise)
    found = mapped(image)
    assert not found.is_empty
    near = 4 * (share / 1000) ** 0.5
    assert found.document["share"] == pytest.approx(share, abs=near)


@pytest.mark.parametrize("size", [512, 5120, MIB + 512, 63 * MIB, 81 * MIB + 512])
def test_each_size_is_read_to_its_end(size, tmp_path):
    image = sparse(tmp_path / "disk.img", size)
    with image.open("r+b") as file:
        file.seek(size - 2)
        file.write(b"xy")
    assert not mapped(image).is_empty


def test_a_place_that_cannot_be_read_is_not_empty(tmp_path, monkeypatch):
    read = os.preadv

    def fails(fd, buffers, at):
        if at == MIB:
            raise OSError(errno.EIO, "Input/output error")
        return read(fd, buffers, at)

    monkeypatch.setattr(os, "preadv", fails)
    found = mapped(sparse(tmp_path / "disk.img", 8 * MIB))
    assert found.document["unreadable"] == [MIB]
    assert "1 place cannot be read, the first at 1 MiB" in found.text


def test_a_file_on_a_bare_device_has_a_name(tmp_path):
    image = tmp_path / "disk.img"
    with tarfile.open(image, "w") as archive:
        archive.add(__file__, arcname="test.py")
    (found,) = mapped(image).found
    assert found == {"at_bytes": 0, "what": "tar archive"}


def test_the_command_prints_the_map_and_writes_nothing(tmp_path):
    image = tmp_path / "disk.img"
    image.write_bytes(bytes(MIB) + b"SQLite format 3\0" + bytes(MIB))
    before = image.stat()
    done = ioplan("targets", "--map", image)
    assert "sqlite database at 1 MiB" in done.out, done.err
    document = json.loads(ioplan("targets", "--map", image, "--json").out)
    assert document["found"] == [{"at_bytes": MIB, "what": "sqlite database"}]
    assert image.stat().st_mtime_ns == before.st_mtime_ns
    refuse("gone", "targets", "--map", tmp_path / "gone")
