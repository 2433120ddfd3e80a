"""What a map says of a drive: real file systems, whole and with their beginning gone."""

from __future__ import annotations

import errno
import json
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from command import ioplan

from ioplan.runner.content.file_kinds import KINDS, kind_of
from ioplan.runner.content.scan import BLOCK, drawn, draws, is_constant, reads
from ioplan.runner.content.superblocks import REACH_BYTES, SUPERBLOCKS
from ioplan.runner.content.target_map import TargetMap, map_of
from targets import MIB, loop_device, needs_root, sparse, tell

GB = 10**9
SEEDS = range(2)
MAKERS = {
    "ext4": ("mkfs.ext4", "-q", "-L", "photos"),
    "xfs": ("mkfs.xfs", "-q", "-K", "-L", "photos"),
    "btrfs": ("mkfs.btrfs", "-q", "-K", "-L", "photos"),
}


def mapped(path: Path, seed: int = 1) -> TargetMap:
    fd = os.open(path, os.O_RDONLY)
    try:
        return map_of(fd, os.lseek(fd, 0, os.SEEK_END), seed)
    finally:
        os.close(fd)


def zero(path: Path, length: int, at: int = 0) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(bytes(length))


def made(image: Path, kind: str, at: int) -> Path:
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
        *(("btrfs", MIB), ("xfs", 7 * MIB), ("ext4", 20 * MIB)),
    ],
)
def test_a_file_system_is_found_where_it_begins(
    kind: str, at: int, tmp_path: Path
) -> None:
    image = made(sparse(tmp_path / "disk.img", 64 * GB), kind, at)
    if at:
        zero(image, 512)
    if at % BLOCK and kind != "ext4":
        assert not mapped(image).is_empty
        return
    (found,) = mapped(image).found
    assert found.at_bytes == at and found.what.startswith(f"{kind} (")
    assert "label photos" in found.what


@pytest.mark.long_but_first
@needs_root
@pytest.mark.slow
@pytest.mark.parametrize("kind", MAKERS)
def test_a_copy_is_found_when_the_first_16_mib_are_gone(
    kind: str, tmp_path: Path
) -> None:
    image = made(sparse(tmp_path / "disk.img", 64 * GB), kind, MIB)
    zero(image, 16 * MIB)
    for seed in SEEDS:
        whole = mapped(image, seed)
        assert not whole.is_empty and kind in whole.found[0].what


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("sgdisk"), reason="LEFT OUT: sgdisk is missing")
@pytest.mark.long
def test_a_gpt_is_found_by_its_copy(tmp_path: Path) -> None:
    image = sparse(tmp_path / "disk.img", 64 * GB)
    tell("sgdisk", "-n", "1:0:+10G", "-n", "2:0:0", image)
    assert mapped(image).tables == ["GPT with 2 partitions"]
    zero(image, MIB)
    assert mapped(image).tables == ["GPT (its copy at the end) with 2 partitions"]
    os.truncate(image, 64 * GB + 4 * MIB)  # the drive has grown, its copy has not moved
    assert mapped(image).tables == ["GPT (its copy at the end) with 2 partitions"]


def noise_on(share: float) -> Callable[[Path], None]:
    """Extents of 1 MiB of incompressible data, which hold that share of the drive."""

    def write(image: Path) -> None:
        step = int(MIB / share)
        noise = os.urandom(MIB)
        with image.open("r+b") as file:
            for at in range(80 * MIB, 3 * GB, step):
                file.seek(at)
                file.write(noise)

    return write


@pytest.mark.long_but_first
@pytest.mark.slow
@pytest.mark.parametrize("share", [0.01, 0.4])
@pytest.mark.promise("safety.noise")
def test_noise_is_data_and_its_share_is_estimated(share: float, tmp_path: Path) -> None:
    image = sparse(tmp_path / "disk.img", 3 * GB)
    noise_on(share)(image)
    for seed in SEEDS:
        found = mapped(image, seed)
        assert not found.is_empty
        assert found.share == pytest.approx(share, abs=4 * (share / 1000) ** 0.5)


@pytest.mark.long
def test_nothing_is_nothing(tmp_path: Path) -> None:
    found = mapped(sparse(tmp_path / "disk.img", 1000 * GB))
    assert found.is_empty and found.share == 0 and found.drawn == 4000
    assert str(found).startswith("1.00 TB: no partition table; no data in the ")
    ones = tmp_path / "ones.img"
    ones.write_bytes(b"\xff" * 8 * MIB)
    assert mapped(ones).is_empty


@pytest.mark.parametrize("size", [2, 511, 512, 5000, MIB + 1, 63 * MIB, 81 * MIB + 513])
def test_each_size_is_read_to_its_end(size: int, tmp_path: Path) -> None:
    image = sparse(tmp_path / "disk.img", size)
    with image.open("r+b") as file:
        file.seek(size - 2)
        file.write(b"xy")
    assert not mapped(image).is_empty


def test_a_place_that_cannot_be_read_is_not_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = os.preadv

    def fails(fd: int, buffers: list[memoryview], at: int) -> int:
        if at == MIB:
            raise OSError(errno.EIO, "Input/output error")
        return read(fd, buffers, at)

    monkeypatch.setattr(os, "preadv", fails)
    found = mapped(sparse(tmp_path / "disk.img", 8 * MIB))
    assert found.unreadable == [MIB] and not found.is_empty
    assert "1 place cannot be read, the first at 1 MiB" in str(found)


def test_a_file_on_a_bare_device_has_a_name(tmp_path: Path) -> None:
    image = tmp_path / "disk.img"
    with tarfile.open(image, "w") as archive:
        archive.add(__file__, arcname="test.py")
    (found,) = mapped(image).found
    assert found.at_bytes == 0 and found.what == "tar archive"


def test_tables_have_no_two_of_a_name_and_nothing_beyond_what_is_read() -> None:
    names = [one.name for one in SUPERBLOCKS]
    assert len(set(names)) == len(names)
    for one in SUPERBLOCKS:
        assert all(at + len(magic) <= REACH_BYTES for at, magic in one.magics)
    for name, at, magic in KINDS:
        block = bytes(at) + magic + bytes(BLOCK - at - len(magic))
        assert kind_of(block) == name


def test_draws_grow_with_the_drive_and_reads_stay_bounded() -> None:
    assert [draws(size * GB) for size in (1, 64, 1000, 4000, 100_000)] == [
        1000, 1011, 4000, 8000, 16_000,
    ]  # fmt: skip
    for size in (64 * GB, 1000 * GB, 4000 * GB, 30_000 * GB):
        assert sum(1 for _ in reads(size)) < 25_000
        assert all(at >= 0 and at + n <= size for at, n in reads(size))
        offsets = list(drawn(size, 1))
        assert len(offsets) == draws(size) and offsets == sorted(set(offsets))


def test_constant_is_one_value() -> None:
    assert is_constant(b"\0" * 4096) and is_constant(b"\xff" * 512)
    assert not is_constant(b"\0" * 4095 + b"\1")


def test_the_command_prints_the_map_and_writes_nothing(tmp_path: Path) -> None:
    image = tmp_path / "disk.img"
    image.write_bytes(bytes(MIB) + b"SQLite format 3\0" + bytes(MIB))
    before = image.stat()
    done = ioplan("targets", "--map", image)
    assert "sqlite database at 1 MiB" in done.out, done.err
    document = json.loads(ioplan("targets", "--map", image, "--json").out)
    assert document["found"] == [{"at_bytes": MIB, "what": "sqlite database"}]
    assert image.stat().st_mtime_ns == before.st_mtime_ns
    gone = ioplan("targets", "--map", tmp_path / "gone")
    assert gone.code == 2 and "gone" in gone.err
