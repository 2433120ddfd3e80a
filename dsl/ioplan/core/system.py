"""What Linux has and other systems lack, for modules that are imported everywhere.

On macOS and Windows ioplan writes, plans, rehearses and reports. There a module below
is an `Absent`, which fails when it is used and not before, and a flag is 0.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from ioplan.core.error_kinds import CommandFault, ExplainedError

# Whose files may say what is done.


def trusted_users() -> set[int]:
    """This user and root; who has become root with sudo could run anything anyway."""
    user = os.geteuid()
    caller = os.environ.get("SUDO_UID", "") if user == 0 else ""
    return {0, user} | ({int(caller)} if caller.isdigit() else set())


O_NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
O_CLOEXEC: int = getattr(os, "O_CLOEXEC", 0)
O_PATH: int = getattr(os, "O_PATH", 0)
O_BINARY: int = getattr(os, "O_BINARY", 0)
IS_LINUX = sys.platform == "linux"
ELSEWHERE = "elsewhere ioplan writes, plans, rehearses and reports"
HAS_USERS = hasattr(os, "geteuid")
"""Elsewhere the owner and the mode of a file say nothing of who may write it."""


def configured(name: str, default: int) -> int:
    """sysconf(3): a figure of the system, or what most have where it tells none."""
    return os.sysconf(name) if hasattr(os, "sysconf") else default


def count_cpus() -> int:
    """How many CPUs this process may use; elsewhere how many there are."""
    if IS_LINUX:
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Absent:
    """Stands for a module that this system does not have."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> NoReturn:
        raise ExplainedError(
            f"this needs Linux ({self._name}.{name}); {ELSEWHERE}", CommandFault.SYSTEM
        )


@cache
def libc() -> Any:
    """The C library of this process, with `ctypes.get_errno`."""
    return ctypes.CDLL(None, use_errno=True) if HAS_USERS else Absent("libc")


fcntl: Any
grp: Any
pwd: Any
try:
    import fcntl
    import grp
    import pwd
except ImportError:
    fcntl, grp, pwd = map(Absent, ("fcntl", "grp", "pwd"))


# How a process is called in `ps` and `top`.

PR_SET_NAME, PR_SET_MM, PR_SET_MM_ARG_END = 15, 35, 9
NAME_BYTES = 15
ARG_START, ARG_END = 45, 46
"""Fields of /proc/PID/stat behind the program's name (proc_pid_stat(5))."""


def set_title(words: Sequence[str], name: str) -> None:
    """Show these words as the command line of this process, and its name.

    They are written over the arguments that it was started with, so they need as much
    room there; without it the command line stays. Only root can also shorten that:
    otherwise it ends in zeros, which `ps` does not show.
    """
    libc().prctl(PR_SET_NAME, name.encode()[:NAME_BYTES])
    start, end = _arguments()
    text = b"".join(os.fsencode(word) + b"\0" for word in words)
    if start and len(text) <= end - start:
        ctypes.memmove(start, text.ljust(end - start, b"\0"), end - start)
        more = (ctypes.c_ulong(n) for n in (start + len(text), 0, 0))
        libc().prctl(PR_SET_MM, PR_SET_MM_ARG_END, *more)


def _arguments() -> tuple[int, int]:
    """Where this process has its arguments; 0 where the kernel does not say."""
    behind = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    return int(behind[ARG_START]), int(behind[ARG_END])
