"""What Linux has and other systems lack, for modules that are imported everywhere.

On macOS and Windows ioplan writes, plans, rehearses and reports. There a module below
is an `Absent`, which fails when it is used and not before, and a flag is 0.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from typing import Any, NoReturn

from ioplan.core.error_kinds import CommandFault, ExplainedError

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
resource: Any
try:
    import fcntl
    import grp
    import pwd
    import resource
except ImportError:
    fcntl, grp, pwd, resource = map(Absent, ("fcntl", "grp", "pwd", "resource"))
