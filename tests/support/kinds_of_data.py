"""Kinds of targets with data that no signature tells of; all must be refused.

Each request says `--overwrite`, which names the target: the data is what stops it.
"""

from __future__ import annotations

import sqlite3
import tarfile
from contextlib import ExitStack
from pathlib import Path

from killed import left_unknown
from kinds import KINDS, allowed, disk, kind, loop
from paths import ROOT

from ioplan.backends import TargetRequest
from ioplan.runner.guard import make_scratch
from targets import MIB, asked, faulty, lab_of_file, loop_device, tell


def put(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def database(folder: Path) -> bytes:
    """Some pages of SQLite."""
    path = folder / "customers.db"
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE customers (number, name)")
        rows = ((number, f"customer {number}") for number in range(1000))
        made.executemany("INSERT INTO customers VALUES (?, ?)", rows)
    return path.read_bytes()


@kind("`tar cf /dev/loop0 letters`")
def device_with_an_archive(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack)
    with tarfile.open(device, "w") as archive:
        archive.add(ROOT / "docs/language.md", "letters")
    return allowed(folder, device)


@kind("`cp customers.db /dev/loop0`")
def device_with_a_database(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack)
    put(device, 0, database(folder))
    return allowed(folder, device)


@kind("`dd if=customers.db of=/dev/loop0 seek=5000 bs=1k`: pages far behind")
def device_with_database_pages(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack)
    put(device, 5000 << 10, database(folder) * 40)
    return allowed(folder, device)


@kind("`qemu-img convert -O qcow2 vm.img /dev/loop0`", "qemu-img")
def device_with_a_virtual_disk(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack, mib=64)
    (folder / "vm.img").write_bytes(database(folder) * 10)
    tell("qemu-img", "convert", "-O", "qcow2", folder / "vm.img", folder / "vm.qcow2")
    put(device, 0, (folder / "vm.qcow2").read_bytes())
    return allowed(folder, device)


@kind("`mkfs.ext4 /dev/loop0`, and its first 4 MiB are lost", "mkfs.ext4")
def device_with_an_ext4_that_lost_its_start(
    folder: Path, stack: ExitStack
) -> TargetRequest:
    device = loop(folder, stack, mib=256)
    tell("mkfs.ext4", "-q", device)
    put(device, 0, bytes(4 * MIB))
    return allowed(folder, device)


@kind("`mkfs.ext4` behind a GPT, then `sgdisk --zap-all`", "mkfs.ext4", "sgdisk")
def device_with_an_ext4_behind_a_zapped_gpt(
    folder: Path, stack: ExitStack
) -> TargetRequest:
    path = disk(folder, 256)
    tell("sgdisk", "--new", "1:1MiB:200MiB", path)
    with loop_device(path, "--offset", str(MIB), "--sizelimit", str(199 * MIB)) as one:
        tell("mkfs.ext4", "-q", one)
    tell("sgdisk", "--zap-all", path)
    return allowed(folder, stack.enter_context(loop_device(path)))


@kind("`pvcreate /dev/loop0`, and its first block is lost", "pvcreate")
def device_with_lvm_that_lost_its_label(
    folder: Path, stack: ExitStack
) -> TargetRequest:
    device = loop(folder, stack)
    tell("pvcreate", "--quiet", "--force", device)
    put(device, 0, bytes(4096))
    return allowed(folder, device)


@kind("`losetup --offset 32MiB /dev/loop0 vm.img`, and data is before that")
def loop_device_inside_an_image(folder: Path, stack: ExitStack) -> TargetRequest:
    path = disk(folder, 64)
    put(path, 0, database(folder))
    device = stack.enter_context(loop_device(path, "--offset", str(32 * MIB)))
    return asked(lab_of_file(folder, path), device, path)


@kind("reading fails with EIO at the first 64 KiB of an ext4", "mkfs.ext4", "nbdkit")
def device_whose_start_cannot_be_read(folder: Path, stack: ExitStack) -> TargetRequest:
    fails, how = folder / "fails", ("--filter=error", "error-pread=EIO")
    when = ("error-pread-rate=100%", f"error-file={fails}")
    one = stack.enter_context(faulty(folder / "faulty", *how, *when))
    tell("mkfs.ext4", "-q", one.path)
    tell("blockdev", "--flushbufs", one.path)
    fails.touch()
    return asked(lab_of_file(folder, Path(one.backing)), one.path, one.backing)


@kind("a database, and `--overwrite` names it", root=False)
def file_with_a_database(folder: Path, stack: ExitStack) -> TargetRequest:
    path = disk(folder)
    put(path, 0, database(folder))
    return asked(None, path, path)


@kind("`cp customers.db F`, after a session on F was killed", root=False)
def scratch_file_with_a_database(folder: Path, stack: ExitStack) -> TargetRequest:
    scratch = folder / "scratch"
    make_scratch(scratch, MIB, lambda _: None)
    left_unknown(scratch)
    put(scratch, 0, database(folder))
    return asked(None, scratch)


ALL_KINDS = KINDS
"""Those of `kinds`, then those with data."""
