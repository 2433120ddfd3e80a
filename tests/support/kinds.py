"""Kinds of targets that must be refused, and how each is really made.

Each takes an empty folder and gives the request of a writing plan, with the lab
and the words that would let it be written if it were a free device.
"""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from killed import left_unknown
from msgspec import Struct

from ioplan.backends import TargetRequest
from ioplan.runner import Host
from ioplan.runner.guard import make_scratch, open_target
from targets import (
    MIB,
    asked,
    lab_file,
    lab_of_file,
    loop_device,
    mounted,
    put_over,
    remove_partition,
    sparse,
    tell,
)


class Place(Struct, frozen=True):
    """A folder, and what is given back at the end."""

    folder: Path
    stack: ExitStack

    @property
    def image(self):
        """What the loop device stands on."""
        return self.folder / "disk.img"

    def disk(self, mib=16):
        return sparse(self.image, mib * MIB)

    def loop(self, *options, mib=16):
        """A free block device."""
        return self.stack.enter_context(loop_device(self.disk(mib), *options))

    def formatted(self, *command, mib=16):
        """A loop device on which a program was called."""
        device = self.loop(mib=mib)
        tell(*(command or ("mkfs.ext4", "-q")), device)
        return device

    def partitioned(self, label):
        device, table = self.loop(), f"label: {label}\n,4M\n,4M\n"
        command = ["sfdisk", "-q", "--no-reread", device]
        subprocess.run(command, input=table.encode(), check=True, capture_output=True)
        return device

    def part(self, device, number=1):
        """A partition that the kernel knows."""
        tell("addpart", device, str(number), "2048", "20480")
        self.stack.callback(remove_partition, device, number)
        return Path(f"{device}p{number}")

    def also(self, target, other):
        """The target, while something else is done with it."""
        self.stack.enter_context(other)
        return target

    def mounted(self, device):
        return self.also(device, mounted(device, self.folder / "mnt"))

    def swapped(self, target):
        tell("swapon", target)
        self.stack.callback(tell, "swapoff", target)
        return target

    def scratch(self):
        """A scratch file of ioplan's."""
        path = self.folder / "scratch"
        make_scratch(path, MIB, lambda _: None)
        return path

    def left(self):
        """A scratch file on which a session was killed."""
        left_unknown(path := self.scratch())
        return path

    def link(self, to):
        (self.folder / "link").symlink_to(to)
        return self.folder / "link"

    def lab(self, **said):
        return lab_file(self.folder, **said)

    def allowed(self, device):
        """With all that lets the loop device be written."""
        return asked(lab_of_file(self.folder, self.image), device, self.image)

    def part_allowed(self, first):
        lab = self.lab(backing_file=str(self.image), partition=1, writable=True)
        return asked(lab, first, f"{self.image}-part1")


def file(path):
    """With the word that lets a file be written."""
    return asked(None, path, path)


def held(path, flags="os.O_RDWR"):
    """Another program has it open."""
    return _python(f"import os; os.open({str(path)!r}, {flags})")


def mapped(path):
    opened = f"os.open({str(path)!r}, os.O_RDWR)"
    return _python(
        f"import mmap, os; kept = mmap.mmap({opened}, 4096); os.closerange(3, 64)"
    )


def _python(code):
    ready = f"{code}; print('ready', flush=True); input()"
    return _program(sys.executable, "-c", ready)


@contextmanager
def _program(*command):
    """Another program, which says when it is ready, and ends when it is told."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin and process.stdout
        assert process.stdout.readline() == "ready\n"
        try:
            yield
        finally:
            process.stdin.write("end\n")
            process.stdin.flush()
            process.wait(10)


def mounted_elsewhere(at):
    device = at.formatted()
    (at.folder / "mnt").mkdir()
    inside = f"mount {device} {at.folder}/mnt && echo ready && read line"
    program = _program("unshare", "--mount", "sh", "-c", inside)
    return at.allowed(at.also(device, program))


def part_mounted(at):
    first = at.part(device := at.loop())
    tell("mkfs.ext4", "-q", first)
    at.mounted(first)
    return at.allowed(device)


def second_of_btrfs(at):
    device = at.loop(mib=128)
    other = sparse(at.folder / "other.img", 128 * MIB)
    first = at.stack.enter_context(loop_device(other))
    tell("mkfs.btrfs", "-q", "-d", "single", "-m", "single", first, device)
    tell("btrfs", "device", "scan", first, device)
    at.stack.callback(tell, "btrfs", "device", "scan", "--forget", first, device)
    at.mounted(first)
    return at.allowed(device)


def root_disk(at):
    disks = sorted(Host().root_disks, key=lambda one: one.name)
    if not disks:
        pytest.skip("LEFT OUT: / lies on no block device that is seen here")
    return asked(None, disks[0].node)


def loop_on_a_device(at):
    upper = at.stack.enter_context(loop_device(device := at.loop()))
    return asked(at.lab(backing_file=str(device), writable=True), upper, device)


def disk_open(at):
    first = at.part(device := at.loop())
    at.also(device, held(device))
    return at.part_allowed(first)


def broken_gpt(at):
    device = at.partitioned("gpt")
    tell("dd", "if=/dev/zero", f"of={device}", "bs=1M", "count=1", "conv=fsync")
    return at.allowed(device)


def parts_without_a_table(at):
    at.part(device := at.loop())
    return at.allowed(device)


def file_system_on_a_part(at):
    tell("mkfs.ext4", "-q", first := at.part(at.loop()))
    return at.part_allowed(first)


def another_device(at):
    device = at.loop()
    request = asked(lab_of_file(at.folder, at.image), "fast", at.image)
    put_over(device, sparse(at.folder / "other.img", 16 * MIB))
    return request


def not_looked_at(at):
    patch = at.stack.enter_context(pytest.MonkeyPatch.context())
    wipefs = "ioplan.runner.devices.signatures.WIPEFS"
    patch.setattr(wipefs, "wipefs-that-is-not-installed")
    return at.allowed(at.loop())


def under_a_loop(at):
    at.loop()
    return file(at.image)


def renamed_under_a_loop(at):
    at.mounted(at.formatted())
    (at.folder / "other.img").hardlink_to(at.image)
    at.image.unlink()
    return file(at.folder / "other.img")


def under_a_loop_of_another_path(at):
    path, seen = at.disk(), at.folder / "mnt"
    seen.mkdir()
    tell("mount", "--bind", at.folder, seen)
    try:
        at.stack.enter_context(loop_device(seen / path.name))
    finally:
        tell("umount", "--lazy", seen)
    return file(path)


def swap_file(at):
    at.mounted(at.formatted(mib=64))
    swap = at.folder / "mnt/swap"
    swap.write_bytes(bytes(8 * MIB))
    swap.chmod(0o600)
    tell("mkswap", swap)
    return file(at.swapped(swap))


def two_names(at):
    (at.folder / "second").hardlink_to(at.disk())
    return file(at.image)


def copied(source, to):
    shutil.copyfile(source, to)
    return asked(None, to)


def with_a_file_system(at):
    tell("mkfs.ext4", "-q", path := at.left())
    return asked(None, path)


def of_another_session(at):
    reader = TargetRequest(path=str(path := at.scratch()))
    at.stack.callback(open_target(reader).close)
    return asked(None, path)


def pipe(at):
    os.mkfifo(at.folder / "pipe")
    return file(at.folder / "pipe")


def unix_socket(at):
    server = at.stack.enter_context(socket.socket(socket.AF_UNIX))
    server.bind(str(at.folder / "s"))
    return file(at.folder / "s")


Make = Callable[[Place], TargetRequest]
DEVICES = {
    "mounted device": lambda at: at.allowed(at.mounted(at.formatted())),
    "mounted in another namespace": mounted_elsewhere,
    "partition of it is mounted": part_mounted,
    "second device of a mounted btrfs": second_of_btrfs,
    "swap device": lambda at: at.allowed(at.swapped(at.formatted("mkswap"))),
    "disk that holds the root": root_disk,
    "under a loop device": lambda at: at.allowed(at.also(one := at.loop(), loop_device(one))),
    "loop device on a device": loop_on_a_device,
    "two loop devices on one file": lambda at: at.allowed(at.also(at.loop(), loop_device(at.image))),
    "held by another program": lambda at: at.allowed(at.also(one := at.loop(), held(one, "os.O_RDONLY | os.O_EXCL"))),
    "open for writing elsewhere": lambda at: at.allowed(at.also(one := at.loop(), held(one))),
    "disk open for writing elsewhere": disk_open,
    "partition open for writing elsewhere": lambda at: at.allowed(at.also(one := at.loop(), held(at.part(one)))),
    "file below open for writing elsewhere": lambda at: at.allowed(at.also(at.loop(), held(at.image))),
    "mapped for writing elsewhere": lambda at: at.allowed(at.also(one := at.loop(), mapped(one))),
    "read only device": lambda at: at.allowed(at.loop("--read-only")),
    "ext4 on it": lambda at: at.allowed(at.formatted("mkfs.ext4", "-q", "-L", "photos")),
    "xfs on it": lambda at: at.allowed(at.formatted("mkfs.xfs", "-q", mib=320)),
    "btrfs on it": lambda at: at.allowed(at.formatted("mkfs.btrfs", "-q", mib=128)),
    "swap space on it": lambda at: at.allowed(at.formatted("mkswap")),
    "lvm member": lambda at: at.allowed(at.formatted("pvcreate", "--quiet", "--force")),
    "gpt on it": lambda at: at.allowed(at.partitioned("gpt")),
    "broken gpt on it": broken_gpt,
    "mbr on it": lambda at: at.allowed(at.partitioned("dos")),
    "partitions without a table": parts_without_a_table,
    "file system on a partition": file_system_on_a_part,
    "device that no lab names": lambda at: asked(None, at.loop(), at.image),
    "partition that no lab names": lambda at: at.allowed(at.part(at.loop())),
    "device that the lab only reads": lambda at: asked(at.lab(backing_file=str(at.image)), at.loop(), at.image),
    "kernel name in the lab": lambda at: asked(at.lab(path=str(one := at.loop()), writable=True), one, at.image),
    "another device than the labs": another_device,
    "device without the users word": lambda at: asked(lab_of_file(at.folder, at.image), at.loop()),
    "device called by its kernel name": lambda at: asked(lab_of_file(at.folder, at.image), one := at.loop(), one),
    "device that cannot be looked at": not_looked_at,
    "file under a loop device": under_a_loop,
    "file renamed under a loop device": renamed_under_a_loop,
    "file under a loop device of another path": under_a_loop_of_another_path,
    "swap file": swap_file,
}  # fmt: skip
FILES = {
    "file with two names": two_names,
    "file open for writing elsewhere": lambda at: file(at.also(one := at.disk(), held(one))),
    "file mapped for writing elsewhere": lambda at: file(at.also(one := at.disk(), mapped(one))),
    "file that ioplan did not make": lambda at: asked(None, at.disk()),
    "link to a foreign file": lambda at: asked(None, at.link(at.disk())),
    "copy of a scratch file": lambda at: copied(at.scratch(), at.folder / "copy"),
    "scratch file that was written to": lambda at: copied(at.disk(), at.scratch()),
    "scratch file with a file system": with_a_file_system,
    "file that the lab only reads": lambda at: asked(at.lab(path=str(at.disk())), "fast", at.image),
    "file in place of a device": lambda at: asked(at.lab(path=str(at.disk()), serial="S1"), "fast", at.image),
    "target of another session": of_another_session,
    "directory": lambda at: file(at.folder),
    "character device": lambda _: file(Path("/dev/null")),
    "pipe": pipe,
    "unix socket": unix_socket,
    "file of the kernels own": lambda _: file(Path("/proc/version")),
    "dangling link": lambda at: file(at.link(at.folder / "nowhere")),
    "device that is gone": lambda _: file(Path("/dev/nvme99n1")),
}  # fmt: skip
