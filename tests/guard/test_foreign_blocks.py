"""What a killed session cannot have written, against data that is really there."""

from __future__ import annotations

import base64
import os
import random
import shutil
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from command import ioplan, plan_file
from kinds_of_data import database, put
from labs import MIB, tell
from paths import ROOT

from ioplan.runner.content.judge import is_foreign, is_structured
from ioplan.runner.content.scan import blocks_at
from ioplan.runner.content.scan import scan as scanned

pytestmark = pytest.mark.slow

SIZE = 512 * MIB
DATA = (
    *("data random", "data zeros", "data compressible 50%", "data compressible 20%"),
    "data compressible 80%",
)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "image"
    with path.open("wb") as file:
        file.truncate(SIZE)
    return path


def seen(path: Path, seed: int = 1) -> tuple[int, ...]:
    fd = os.open(path, os.O_RDONLY)
    try:
        found = sorted(scanned(fd, path.stat().st_size, seed).data)
        blocks = zip(found, blocks_at(fd, found, 4096), strict=True)
        return tuple(at for at, block in blocks if is_foreign(block))
    finally:
        os.close(fd)


def tar(image: Path) -> None:
    """As `tar cf /dev/sdb` writes it: no signature that wipefs knows."""
    with tarfile.open(image.with_suffix(".tar"), "w") as archive:
        archive.add(ROOT / "docs/language.md")
    put(image, 0, image.with_suffix(".tar").read_bytes())


def sqlite(image: Path) -> None:
    put(image, 0, database(image.parent))


def csv(image: Path) -> None:
    put(image, 0, b"name,price\n" + b"".join(b"a%d,%d\n" % (n, n) for n in range(9000)))


def zapped_ext4(image: Path) -> None:
    tell("mkfs.ext4", "-q", "-F", image)
    put(image, 0, bytes(4 * MIB))


def zapped_xfs(image: Path) -> None:
    tell("mkfs.xfs", "-q", "-f", image)
    put(image, 0, bytes(4 * MIB))
    put(image, SIZE - 4 * MIB, bytes(4 * MIB))


def zapped_btrfs(image: Path) -> None:
    tell("mkfs.btrfs", "-q", "-f", image)
    put(image, 0, bytes(4 * MIB))


def qcow2(image: Path) -> None:
    inner = image.with_suffix(".qcow2")
    tell("qemu-img", "create", "-q", "-f", "qcow2", inner, "64M")
    put(image, 0, inner.read_bytes())


def database_pages(image: Path) -> None:
    """In the middle, with a header and rows, half of it free; a tenth of the disk."""
    page = (
        b"\0\0\x0c\x10\x05"
        + bytes(2000)
        + b"".join(b"row %06d|" % n for n in range(200))
    )
    put(image, 200 * MIB, page.ljust(8192, b"\0") * (SIZE // 10 // 8192))


NEEDS = {
    "zapped_ext4": "mkfs.ext4",
    "zapped_xfs": "mkfs.xfs",
    "zapped_btrfs": "mkfs.btrfs",
    "qcow2": "qemu-img",
}
SOMEBODYS = (
    *(tar, sqlite, csv, zapped_ext4, zapped_xfs, zapped_btrfs, qcow2, database_pages),
)


@pytest.mark.slow
@pytest.mark.parametrize("make", SOMEBODYS, ids=lambda make: make.__name__)
def test_somebodys_data_is_seen(make: Callable[[Path], None], image: Path) -> None:
    program = NEEDS.get(make.__name__)
    if program and not shutil.which(program):
        pytest.skip(f"LEFT OUT: {program} is not installed")
    make(image)
    assert seen(image)


@pytest.mark.long
def test_nothing_is_seen_in_zeros_and_noise(image: Path) -> None:
    assert seen(image) == ()
    put(image, 0, os.urandom(8 * MIB))
    put(image, 100 * MIB, b"\xff" * (8 * MIB))
    put(image, SIZE - 8 * MIB, os.urandom(8 * MIB))
    assert seen(image) == ()


@pytest.mark.long_but_first
@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "clause"),
    [
        *(("io_uring", clause) for clause in (*DATA, "verify")),
        *(("fio", clause) for clause in DATA),
    ],
)
def test_what_ioplan_writes_is_not_taken_for_somebodys(
    backend: str, clause: str, tmp_path: Path, store_path: Path
) -> None:
    if not shutil.which(backend) and backend == "fio":
        pytest.skip("LEFT OUT: fio is not installed")
    scratch = tmp_path / "scratch"
    text = (
        f'test "T" {{ run sequential 16KiB 0/100, qd 4, {clause}, 1 pass\n'
        f"run random 4KiB 0/100, qd 4, {clause} for 100ms }}"
    )
    words = ("--target", scratch, "--create", "16MiB", "--backend", backend)
    done = ioplan("run", plan_file(tmp_path, text), *words)
    assert done.code == 0, done.err
    assert seen(scratch) == ()


@pytest.mark.long
def test_seeds_draw_other_blocks_and_the_same_again(image: Path) -> None:
    put(image, 100 * MIB, b"text " * (SIZE // 50))
    assert seen(image, 1) == seen(image, 1) != seen(image, 2)


def test_blocks() -> None:
    noise = random.Random(1).randbytes(4096)
    assert not is_structured(noise) and not is_structured(bytes(4096))
    assert not is_structured(noise[:1000] + bytes(3096))
    assert not is_structured(bytes(1000) + noise[:3096])
    letters = base64.b64encode(noise)
    assert is_structured(letters[:4096]), "0.76 of it"
    assert is_structured(b"hello".ljust(4096, b"\0"))
    assert is_structured(noise[:2048] + b"text " * 409)
    assert is_structured(bytes(range(256)) * 16)


def test_it_takes_well_under_a_second(image: Path) -> None:
    """A bound of ten times what it takes, for a busy machine."""
    began = time.process_time()
    seen(image)
    assert time.process_time() - began < 2
