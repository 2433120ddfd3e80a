"""Programs that may use a file or device, and that nobody can find from here."""

from __future__ import annotations

import re
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from ioplan.runner.devices.open_files import RING, is_ring, open_files, program_of, read
from ioplan.runner.devices.proc import PROC, processes

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
