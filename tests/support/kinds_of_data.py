"""Kinds of targets with data that no signature tells of; all must be refused.

Each request says `--overwrite`, which names the target: the data is what stops it.
"""

import sqlite3
import tarfile
from pathlib import Path

from kinds import DEVICES, FILES, Make, file
from msgspec import Struct
from paths import ROOT

from targets import MIB, asked, faulty, lab_of_file, loop_device, tell


def put(path, offset, data):
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def holding(path, data, offset=0):
    put(path, offset, data)
    return path


def database(folder):
    """Some pages of SQLite."""
    path = folder / "customers.db"
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE customers (number, name)")
        rows = ((number, f"customer {number}") for number in range(1000))
        made.executemany("INSERT INTO customers VALUES (?, ?)", rows)
    return path.read_bytes()


def archive(at):
    with tarfile.open(device := at.loop(), "w") as packed:
        packed.add(ROOT / "docs/language.md", "letters")
    return at.allowed(device)


def virtual_disk(at):
    device, image = at.loop(mib=64), at.folder / "vm.img"
    image.write_bytes(database(at.folder) * 10)
    tell("qemu-img", "convert", "-O", "qcow2", image, at.folder / "vm.qcow2")
    return at.allowed(holding(device, (at.folder / "vm.qcow2").read_bytes()))


def zapped_gpt(at):
    path = at.disk(256)
    tell("sgdisk", "--new", "1:1MiB:200MiB", path)
    with loop_device(path, "--offset", str(MIB), "--sizelimit", str(199 * MIB)) as one:
        tell("mkfs.ext4", "-q", one)
    tell("sgdisk", "--zap-all", path)
    return at.allowed(at.stack.enter_context(loop_device(path)))


def lvm_without_its_label(at):
    device = at.formatted("pvcreate", "--quiet", "--force")
    return at.allowed(holding(device, bytes(4096)))


def inside_an_image(at):
    path = holding(at.disk(64), database(at.folder))
    part = loop_device(path, "--offset", str(32 * MIB))
    return at.allowed(at.stack.enter_context(part))


def unreadable_start(at):
    fails, how = at.folder / "fails", ("--filter=error", "error-pread=EIO")
    when = ("error-pread-rate=100%", f"error-file={fails}")
    one = at.stack.enter_context(faulty(at.folder / "faulty", *how, *when))
    tell("mkfs.ext4", "-q", one.path)
    tell("blockdev", "--flushbufs", one.path)
    fails.touch()
    return asked(lab_of_file(at.folder, Path(one.backing)), one.path, one.backing)


DEVICES_WITH_DATA = {
    "device with an archive": archive,
    "device with a database": lambda at: at.allowed(holding(at.loop(), database(at.folder))),
    "device with database pages": lambda at: at.allowed(holding(at.loop(), database(at.folder) * 40, 5000 << 10)),
    "device with a virtual disk": virtual_disk,
    "device with an ext4 that lost its start": lambda at: at.allowed(holding(at.formatted(mib=256), bytes(4 * MIB))),
    "device with an ext4 behind a zapped gpt": zapped_gpt,
    "device with lvm that lost its label": lvm_without_its_label,
    "loop device inside an image": inside_an_image,
    "device whose start cannot be read": unreadable_start,
}  # fmt: skip
FILES_WITH_DATA = {
    "file with a database": lambda at: file(holding(at.disk(), database(at.folder))),
    "scratch file with a database": lambda at: asked(
        None, holding(at.left(), database(at.folder))
    ),
}


class Kind(Struct, frozen=True):
    """How it is made by hand, its golden case has; block devices are made by root."""

    name: str
    make: Make
    root: bool


ALL_KINDS = [
    Kind(name, make, root)
    for table, root in (
        *((DEVICES, True), (FILES, False)),
        *((DEVICES_WITH_DATA, True), (FILES_WITH_DATA, False)),
    )
    for name, make in table.items()
]
"""Those of `kinds`, then those with data."""
