"""Kinds of targets that must be refused, and how each is really made.

Each takes an empty folder and gives the request of a writing plan, with the lab
and the words that would let it be written if it were a free device.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
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

Make = Callable[[Path, ExitStack], TargetRequest]


class Kind(Struct, frozen=True):
    """`how` is what a person would do to get one."""

    name: str
    how: str
    make: Make
    programs: tuple[str, ...]
    root: bool


KINDS: list[Kind] = []


def kind(how: str, *programs: str, root: bool = True) -> Callable[[Make], Make]:
    """Enter it into the table under the function's name."""

    def enter(make: Make) -> Make:
        name = make.__name__.replace("_", " ")
        KINDS.append(Kind(name, how, make, programs, root))
        return make

    return enter


def disk(folder: Path, mib: int = 16) -> Path:
    """What a loop device stands on."""
    return sparse(folder / "disk.img", mib * MIB)


def loop(folder: Path, stack: ExitStack, *options: str, mib: int = 16) -> Path:
    """A free block device."""
    return stack.enter_context(loop_device(disk(folder, mib), *options))


def allowed(folder: Path, device: Path) -> TargetRequest:
    """With all that lets the loop device be written."""
    backing = folder / "disk.img"
    return asked(lab_of_file(folder, backing), device, backing)


def part(folder: Path, device: Path, stack: ExitStack, number: int = 1) -> Path:
    """A partition that the kernel knows."""
    tell("addpart", device, str(number), "2048", "20480")
    stack.callback(remove_partition, device, number)
    return Path(f"{device}p{number}")


@kind("`mount /dev/loop0 /data/mnt`", "mkfs.ext4")
def mounted_device(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack)
    tell("mkfs.ext4", "-q", device)
    stack.enter_context(mounted(device, folder / "mnt"))
    return allowed(folder, device)


@kind("`unshare --mount`, and mounted in there", "mkfs.ext4", "unshare")
def mounted_in_another_namespace(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack)
    tell("mkfs.ext4", "-q", device)
    (folder / "mnt").mkdir()
    inside = f"mount {device} {folder}/mnt && echo ready && read line"
    stack.enter_context(_program("unshare", "--mount", "sh", "-c", inside))
    return allowed(folder, device)


@kind("`mount /dev/loop0p1 /data/mnt`", "mkfs.ext4", "addpart")
def partition_of_it_is_mounted(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack)
    first = part(folder, device, stack)
    tell("mkfs.ext4", "-q", first)
    stack.enter_context(mounted(first, folder / "mnt"))
    return allowed(folder, device)


@kind("`mkfs.btrfs /dev/loop0 /dev/loop1; mount /dev/loop0 /data/mnt`", "mkfs.btrfs")
def second_device_of_a_mounted_btrfs(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack, mib=128)
    other = sparse(folder / "other.img", 128 * MIB)
    first = stack.enter_context(loop_device(other))
    tell("mkfs.btrfs", "-q", "-d", "single", "-m", "single", first, device)
    tell("btrfs", "device", "scan", first, device)
    stack.callback(tell, "btrfs", "device", "scan", "--forget", first, device)
    stack.enter_context(mounted(first, folder / "mnt"))
    return allowed(folder, device)


@kind("`swapon /dev/loop0`", "mkswap", "swapon")
def swap_device(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack)
    tell("mkswap", device)
    tell("swapon", device)
    stack.callback(tell, "swapoff", device)
    return allowed(folder, device)


@kind("the disk under `/`")
def disk_that_holds_the_root(folder: Path, stack: ExitStack) -> TargetRequest:
    disks = sorted(Host().root_disks, key=lambda one: one.name)
    if not disks:
        pytest.skip("LEFT OUT: / lies on no block device that is seen here")
    return asked(None, disks[0].node)


@kind("`losetup /dev/loop1 /dev/loop0`")
def under_a_loop_device(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack)
    stack.enter_context(loop_device(device))
    return allowed(folder, device)


@kind("`losetup /dev/loop1 /dev/loop0`")
def loop_device_on_a_device(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack)
    upper = stack.enter_context(loop_device(device))
    lab = lab_file(folder, backing_file=str(device), writable=True)
    return asked(lab, upper, device)


@kind("`losetup /dev/loop0 F; losetup /dev/loop1 F`")
def two_loop_devices_on_one_file(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack)
    stack.enter_context(loop_device(folder / "disk.img"))
    return allowed(folder, device)


@kind("a program that opened it with `O_EXCL`")
def held_by_another_program(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack)
    stack.enter_context(_holder(device, "os.O_RDONLY | os.O_EXCL"))
    return allowed(folder, device)


@kind("a program that opened it with `O_RDWR`, as a database or qemu does")
def open_for_writing_elsewhere(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack)
    stack.enter_context(_holder(device, "os.O_RDWR"))
    return allowed(folder, device)


@kind(
    "a program that has the whole disk open, and a partition is the target", "addpart"
)
def disk_open_for_writing_elsewhere(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack)
    first = part(folder, device, stack)
    stack.enter_context(_holder(device, "os.O_RDWR"))
    backing = folder / "disk.img"
    lab = lab_file(folder, backing_file=str(backing), partition=1, writable=True)
    return asked(lab, first, f"{backing}-part1")


@kind("a program that has a partition open, and the disk is the target", "addpart")
def partition_open_for_writing_elsewhere(
    folder: Path, stack: ExitStack
) -> TargetRequest:
    device = loop(folder, stack)
    stack.enter_context(_holder(part(folder, device, stack), "os.O_RDWR"))
    return allowed(folder, device)


@kind("a program that has the file under the loop device open")
def file_below_open_for_writing_elsewhere(
    folder: Path, stack: ExitStack
) -> TargetRequest:
    device = loop(folder, stack)
    stack.enter_context(_holder(folder / "disk.img", "os.O_RDWR"))
    return allowed(folder, device)


@kind("a program that mapped it with `MAP_SHARED`, and closed it")
def mapped_for_writing_elsewhere(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack)
    stack.enter_context(_mapper(device))
    return allowed(folder, device)


@kind("`losetup --read-only`")
def read_only_device(folder: Path, stack: ExitStack) -> TargetRequest:
    return allowed(folder, loop(folder, stack, "--read-only"))


@kind("`mkfs.ext4 -L photos`", "mkfs.ext4")
def ext4_on_it(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack)
    tell("mkfs.ext4", "-q", "-L", "photos", device)
    return allowed(folder, device)


@kind("`mkfs.xfs`", "mkfs.xfs")
def xfs_on_it(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack, mib=320)
    tell("mkfs.xfs", "-q", device)
    return allowed(folder, device)


@kind("`mkfs.btrfs`", "mkfs.btrfs")
def btrfs_on_it(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack, mib=128)
    tell("mkfs.btrfs", "-q", device)
    return allowed(folder, device)


@kind("`mkswap`, not in use", "mkswap")
def swap_space_on_it(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack)
    tell("mkswap", device)
    return allowed(folder, device)


@kind("`pvcreate`", "pvcreate")
def lvm_member(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack)
    tell("pvcreate", "--quiet", "--force", device)
    return allowed(folder, device)


@kind("`sfdisk`, label gpt", "sfdisk")
def gpt_on_it(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack)
    _partitioned(device, "gpt")
    return allowed(folder, device)


@kind("`sfdisk`, label gpt; first MiB zeroed, the copy at the end is left", "sfdisk")
def broken_gpt_on_it(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack)
    _partitioned(device, "gpt")
    tell("dd", "if=/dev/zero", f"of={device}", "bs=1M", "count=1", "conv=fsync")
    return allowed(folder, device)


@kind("`sfdisk`, label dos", "sfdisk")
def mbr_on_it(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack)
    _partitioned(device, "dos")
    return allowed(folder, device)


@kind("`addpart`: the kernel knows partitions, and no table is left", "addpart")
def partitions_without_a_table(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack)
    part(folder, device, stack)
    return allowed(folder, device)


@kind("`mkfs.ext4` on a partition of a lab's disk", "mkfs.ext4", "addpart")
def file_system_on_a_partition(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack)
    first = part(folder, device, stack)
    tell("mkfs.ext4", "-q", first)
    backing = folder / "disk.img"
    lab = lab_file(folder, backing_file=str(backing), partition=1, writable=True)
    return asked(lab, first, f"{backing}-part1")


@kind("no lab file")
def device_that_no_lab_names(folder: Path, stack: ExitStack) -> TargetRequest:
    return asked(None, loop(folder, stack), folder / "disk.img")


@kind("its disk is in the lab, the partition is not", "addpart")
def partition_that_no_lab_names(folder: Path, stack: ExitStack) -> TargetRequest:
    first = part(folder, loop(folder, stack), stack)
    backing = folder / "disk.img"
    return asked(lab_of_file(folder, backing), first, backing)


@kind("an entry without `writable = true`")
def device_that_the_lab_only_reads(folder: Path, stack: ExitStack) -> TargetRequest:
    device, backing = loop(folder, stack), folder / "disk.img"
    return asked(lab_file(folder, backing_file=str(backing)), device, backing)


@kind('an entry with `path = "/dev/loop0"` alone')
def kernel_name_in_the_lab(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack)
    lab = lab_file(folder, path=str(device), writable=True)
    return asked(lab, device, folder / "disk.img")


@kind("another device was put where the lab's was")
def another_device_than_the_labs(folder: Path, stack: ExitStack) -> TargetRequest:
    device, backing = loop(folder, stack), folder / "disk.img"
    request = asked(lab_of_file(folder, backing), "fast", backing)
    other = sparse(folder / "other.img", 16 * MIB)
    put_over(device, other)
    return request


@kind("no `--overwrite`")
def device_without_the_users_word(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack)
    return asked(lab_of_file(folder, folder / "disk.img"), device)


@kind("`--overwrite /dev/loop0`")
def device_called_by_its_kernel_name(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack)
    return asked(lab_of_file(folder, folder / "disk.img"), device, device)


@kind("no program `wipefs`")
def device_that_cannot_be_looked_at(folder: Path, stack: ExitStack) -> TargetRequest:
    patch = stack.enter_context(pytest.MonkeyPatch.context())
    patch.setattr(
        "ioplan.runner.devices.signatures.WIPEFS", "wipefs-that-is-not-installed"
    )
    return allowed(folder, loop(folder, stack))


@kind("`losetup /dev/loop0 F`, and F is the target")
def file_under_a_loop_device(folder: Path, stack: ExitStack) -> TargetRequest:
    loop(folder, stack)
    return _file(folder / "disk.img")


@kind(
    "`losetup /dev/loop0 F; mount /dev/loop0 /data/mnt; ln F G; rm F`, and G is the "
    "target",
    "mkfs.ext4",
)
def file_renamed_under_a_loop_device(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack)
    tell("mkfs.ext4", "-q", device)
    stack.enter_context(mounted(device, folder / "mnt"))
    (folder / "other.img").hardlink_to(folder / "disk.img")
    (folder / "disk.img").unlink()
    return _file(folder / "other.img")


@kind("`mount --bind /data /mnt; losetup /dev/loop0 /mnt/F; umount --lazy /mnt`")
def file_under_a_loop_device_of_another_path(
    folder: Path, stack: ExitStack
) -> TargetRequest:
    path, seen = disk(folder), folder / "mnt"
    seen.mkdir()
    tell("mount", "--bind", folder, seen)
    try:
        stack.enter_context(loop_device(seen / path.name))
    finally:
        tell("umount", "--lazy", seen)
    return _file(path)


@kind("`swapon F`, and F is the target", "mkswap", "swapon")
def swap_file(folder: Path, stack: ExitStack) -> TargetRequest:
    device = loop(folder, stack, mib=64)
    tell("mkfs.ext4", "-q", device)
    file = stack.enter_context(mounted(device, folder / "mnt")) / "swap"
    file.write_bytes(bytes(8 * MIB))
    file.chmod(0o600)
    tell("mkswap", file)
    tell("swapon", file)
    stack.callback(tell, "swapoff", file)
    return _file(file)


@kind("`ln F G`", root=False)
def file_with_two_names(folder: Path, stack: ExitStack) -> TargetRequest:
    (folder / "second").hardlink_to(disk(folder))
    return _file(folder / "disk.img")


@kind("a file that a virtual machine or a database has open", root=False)
def file_open_for_writing_elsewhere(folder: Path, stack: ExitStack) -> TargetRequest:
    stack.enter_context(_holder(disk(folder), "os.O_RDWR"))
    return _file(folder / "disk.img")


@kind("a program that mapped it with `MAP_SHARED`, and closed it", root=False)
def file_mapped_for_writing_elsewhere(folder: Path, stack: ExitStack) -> TargetRequest:
    stack.enter_context(_mapper(disk(folder)))
    return _file(folder / "disk.img")


@kind("any file, no `--overwrite`", root=False)
def file_that_ioplan_did_not_make(folder: Path, stack: ExitStack) -> TargetRequest:
    return asked(None, disk(folder))


@kind("a link to such a file", root=False)
def link_to_a_foreign_file(folder: Path, stack: ExitStack) -> TargetRequest:
    (folder / "link").symlink_to(disk(folder))
    return asked(None, folder / "link")


@kind("`cp` of a scratch file of ioplan's", root=False)
def copy_of_a_scratch_file(folder: Path, stack: ExitStack) -> TargetRequest:
    make_scratch(folder / "scratch", MIB, lambda _: None)
    shutil.copyfile(folder / "scratch", folder / "copy")
    return asked(None, folder / "copy")


@kind("`cp precious F`, and F is a scratch file of ioplan's", root=False)
def scratch_file_that_was_written_to(folder: Path, stack: ExitStack) -> TargetRequest:
    make_scratch(folder / "scratch", MIB, lambda _: None)
    shutil.copyfile(disk(folder), folder / "scratch")
    return asked(None, folder / "scratch")


@kind("`mkfs.ext4 F`, after a session on F was killed", "mkfs.ext4", root=False)
def scratch_file_with_a_file_system(folder: Path, stack: ExitStack) -> TargetRequest:
    make_scratch(folder / "scratch", MIB, lambda _: None)
    left_unknown(folder / "scratch")
    tell("mkfs.ext4", "-q", folder / "scratch")
    return asked(None, folder / "scratch")


@kind("a file in the lab, without `writable = true`", root=False)
def file_that_the_lab_only_reads(folder: Path, stack: ExitStack) -> TargetRequest:
    path = disk(folder)
    return asked(lab_file(folder, path=str(path)), "fast", path)


@kind("a file where the lab has a serial number", root=False)
def file_in_place_of_a_device(folder: Path, stack: ExitStack) -> TargetRequest:
    path = disk(folder)
    return asked(lab_file(folder, path=str(path), serial="S1"), "fast", path)


@kind("a second `ioplan run`", root=False)
def target_of_another_session(folder: Path, stack: ExitStack) -> TargetRequest:
    make_scratch(folder / "scratch", MIB, lambda _: None)
    reader = TargetRequest(path=str(folder / "scratch"))
    stack.callback(open_target(reader).close)
    return asked(None, folder / "scratch")


@kind("`mkdir`", root=False)
def directory(folder: Path, stack: ExitStack) -> TargetRequest:
    return _file(folder)


@kind("`/dev/null`", root=False)
def character_device(folder: Path, stack: ExitStack) -> TargetRequest:
    return _file(Path("/dev/null"))


@kind("`mkfifo`", root=False)
def pipe(folder: Path, stack: ExitStack) -> TargetRequest:
    os.mkfifo(folder / "pipe")
    return _file(folder / "pipe")


@kind("a listening program", root=False)
def unix_socket(folder: Path, stack: ExitStack) -> TargetRequest:
    server = stack.enter_context(socket.socket(socket.AF_UNIX))
    server.bind(str(folder / "s"))
    return _file(folder / "s")


@kind("`/proc/version`", root=False)
def file_of_the_kernels_own(folder: Path, stack: ExitStack) -> TargetRequest:
    return _file(Path("/proc/version"))


@kind("`ln -s nowhere link`", root=False)
def dangling_link(folder: Path, stack: ExitStack) -> TargetRequest:
    (folder / "link").symlink_to(folder / "nowhere")
    return _file(folder / "link")


@kind("`/dev/nvme9n1` after it was unplugged", root=False)
def device_that_is_gone(folder: Path, stack: ExitStack) -> TargetRequest:
    return _file(Path("/dev/nvme99n1"))


def _file(path: Path) -> TargetRequest:
    return asked(None, path, path)


def _partitioned(device: Path, label: str) -> None:
    table = f"label: {label}\n,4M\n,4M\n"
    subprocess.run(
        ["sfdisk", "-q", "--no-reread", str(device)],
        input=table,
        text=True,
        check=True,
        capture_output=True,
    )


def _holder(path: Path, flags: str) -> AbstractContextManager[None]:
    return _python(f"import os; os.open({str(path)!r}, {flags})")


def _mapper(path: Path) -> AbstractContextManager[None]:
    opened = f"os.open({str(path)!r}, os.O_RDWR)"
    return _python(
        f"import mmap, os; kept = mmap.mmap({opened}, 4096); os.closerange(3, 64)"
    )


def _python(code: str) -> AbstractContextManager[None]:
    ready = f"{code}; print('ready', flush=True); input()"
    return _program(sys.executable, "-c", ready)


@contextmanager
def _program(*command: str) -> Iterator[None]:
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
