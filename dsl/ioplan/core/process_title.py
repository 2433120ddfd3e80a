"""How a process is called in `ps` and `top`."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from pathlib import Path

from ioplan.core.system import libc

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
