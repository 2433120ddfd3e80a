"""Programs that have a device or a file open, as far as this user may see."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from ioplan.runner.devices.device import single_line
from ioplan.runner.devices.file_id import Key, key_at, key_of
from ioplan.runner.devices.mounts import unescaped
from ioplan.runner.devices.proc import PROC, listed, own_pid, processes, threads

WRITING = os.O_WRONLY | os.O_RDWR
MAPPED = re.compile(
    rb"^([0-9a-f]+)-([0-9a-f]+) .w.s \S+ ([0-9a-f]+):([0-9a-f]+) ([1-9][0-9]*)", re.M
)
"""In /proc/PID/maps, what is shared and writable and has a file."""

REGISTERED = re.compile(rb"^ *[0-9]+: (/.*)$", re.M)
IN_RING = "registered with an io_uring"
RING = Path("anon_inode:[io_uring]")
RING_LOOKS, RING_PAUSE_S = 20, 0.005
"""The kernel lists the files of a ring only in a moment when nobody uses it."""

Access = tuple[str, Key]
"""How a process has a file or device open, and which one."""

AccessesOf = Callable[[Path, Mapping[Key, str]], Iterator[Access]]
"""Lists the accesses of a process in /proc to the wanted files and devices."""


class Opener(Struct, frozen=True):
    """A program that has it open; `how` completes "the device is …"."""

    pid: int
    program: str
    how: str = "open"

    def __str__(self) -> str:
        return f"{self.program} (process {self.pid})"


def writers(wanted: Mapping[Key, str]) -> list[Opener]:
    """Other programs that can write to any of these, whether they locked it or not.

    `wanted` maps each to a suffix of `how`, such as " as loop0p1".
    """
    return _openers(wanted, _write_accesses)


def openers(status: os.stat_result) -> list[Opener]:
    """Other programs that have it open."""
    return _openers({key_of(status): ""}, _accesses)


def _openers(wanted: Mapping[Key, str], accesses_of: AccessesOf) -> list[Opener]:
    own, found = str(own_pid()), set[Opener]()
    for process in processes():
        if process.name == own:
            continue
        accesses = list(accesses_of(process, wanted))
        pid, plain = int(process.name), [one for one in accesses if one[0] != IN_RING]
        for how, key in plain or accesses:
            found.add(Opener(pid, _program(process), how + wanted[key]))
    return sorted(found, key=lambda one: (one.pid, one.how))


def _accesses(process: Path, wanted: Mapping[Key, str]) -> Iterator[Access]:
    for number in open_files(process):
        key = key_at(number)
        if key and key in wanted:
            yield "open", key
        yield from _registered(number, wanted)


def _write_accesses(process: Path, wanted: Mapping[Key, str]) -> Iterator[Access]:
    for number in open_files(process):
        key = key_at(number)
        if key and key in wanted and _writes(number):
            yield "open for writing", key
        yield from _registered(number, wanted)
    for key in _mapped(process):
        if key in wanted:
            yield "mapped for writing", key


def _registered(number: Path, wanted: Mapping[Key, str]) -> Iterator[Access]:
    """An io_uring keeps files open whose descriptors are closed."""
    for path in _ring_files(number) if is_ring(number) else ():
        for one in (number.parents[1] / "root" / path.relative_to("/"), path):
            key = key_at(one)
            if key and key in wanted:
                yield IN_RING, key


def is_ring(number: Path) -> bool:
    """Whether a descriptor is an io_uring."""
    try:
        return number.readlink() == RING
    except OSError:
        return False


def _ring_files(number: Path) -> list[Path]:
    """The paths of the files that are registered with it, as far as they have one."""
    for _ in range(RING_LOOKS):
        info = read(number.parents[1] / "fdinfo" / number.name)
        count, _, rest = info.partition(b"UserFiles:")[2].partition(b"\n")
        found = REGISTERED.findall(rest.partition(b"UserBufs:")[0])
        if found or not int(count or 0):
            return [Path(unescaped(os.fsdecode(path))) for path in found]
        time.sleep(RING_PAUSE_S)  # it is busy, and then lists none
    return []


def open_files(process: Path) -> list[Path]:
    """Its descriptors; of a killed one, those of threads that hang in the kernel."""
    return listed(process / "fd") or [
        file for thread in threads(process) for file in listed(thread / "fd")
    ]


def _mapped(process: Path) -> Iterator[Key]:
    """A mapping outlives the descriptor that it was made from."""
    maps = read(process / "maps")
    if b"w-s " not in maps and b"wxs " not in maps:
        return  # so in most processes; parsing each line takes much longer
    for begin, end, major, minor, inode in MAPPED.findall(maps):
        area = process / "map_files" / f"{int(begin, 16):x}-{int(end, 16):x}"
        number = os.makedev(int(major, 16), int(minor, 16))
        yield key_at(area) or ("file", number, int(inode))


def _writes(number: Path) -> bool:
    info = read(number.parents[1] / "fdinfo" / number.name)
    found = re.search(rb"^flags:\s*([0-7]+)", info, re.M)
    return bool(found and int(found[1], 8) & WRITING)


def read(path: Path) -> bytes:
    """What is in a file of /proc; nothing if it may not be read, or has ended."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def program_of(process: Path) -> str:
    """Its name and number."""
    return f"{_program(process)} (process {process.name})"


def _program(process: Path) -> str:
    return single_line(read(process / "comm").decode(errors="replace")) or "a program"


# Programs that may use a file or device, and that nobody can find from here.

INITIAL_PIDS = "pid:[4026531836]"
"""The kernel's constant PROC_PID_INIT_INO. /proc/self leads nowhere where /proc is
that of a PID namespace without this process."""
MOMENT_S = 4.0
"""For so long a descriptor may be on its way from one program to another, which may
be a browser on a busy machine. Only what waits is looked at again."""

Finder = Callable[[], set[Path]]


def unseen() -> Iterator[str]:
    """What hides programs; each completes "programs that cannot be seen may …"."""
    yield from other_namespaces()
    for process in _lasting(_in_transit):
        yield f"receive it from a socket of {program_of(process)}, where it waits"
    for process in _lasting(_closed_rings):
        yield f"have it in an io_uring of {program_of(process)} without a descriptor"


def other_namespaces() -> Iterator[str]:
    """What is hidden from a container."""
    if _link(PROC / "self/ns/pid") != INITIAL_PIDS:
        yield "run outside of this PID namespace (a container)"
    if not _mount_ids(PROC / "self") & _mount_ids(PROC / "1"):
        yield "use mounts and overlays outside of this mount namespace"


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""


def _mount_ids(process: Path) -> frozenset[bytes]:
    """No two mounts of a kernel have one number, whatever namespace they are in."""
    lines = read(process / "mountinfo").splitlines()
    return frozenset(line.partition(b" ")[0] for line in lines)


def _lasting(find: Finder) -> list[Path]:
    """The processes that are found again and again."""
    deadline_s = time.monotonic() + MOMENT_S
    found = find()
    while found and time.monotonic() < deadline_s:
        time.sleep(0.05)
        found &= find()
    return sorted(found)


def _in_transit() -> set[Path]:
    """Processes with a Unix socket in which descriptors wait to be received."""
    return {process for process in processes() if any(map(_waits, open_files(process)))}


def _waits(number: Path) -> bool:
    try:
        if not stat.S_ISSOCK(number.stat().st_mode):
            return False
    except OSError:
        return False
    info = read(number.parents[1] / "fdinfo" / number.name)
    return bool(re.search(rb"^scm_fds:\s*[1-9]", info, re.M))


def _closed_rings() -> set[Path]:
    """Processes that have mapped an io_uring whose files no descriptor lists."""
    return {
        process
        for process in processes()
        if bytes(RING) in read(process / "maps")
        and not any(map(is_ring, open_files(process)))
    }
