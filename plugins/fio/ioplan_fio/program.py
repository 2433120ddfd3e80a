"""Where fio is, how new it is, and whether its engines can work here."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from msgspec import Struct

from ioplan.backends import BackendError

VARIABLE = "IOPLAN_FIO"
OLDEST = (3, 33)
ASK_S = 20
IO_URING_SETUP = 425
PARAMS_BYTES = 120
DISABLED = Path("/proc/sys/kernel/io_uring_disabled")


class Program(Struct, frozen=True):
    """A fio that is new enough."""

    path: str
    version: tuple[int, ...]

    @property
    def version_text(self) -> str:
        """The version as people write it."""
        return ".".join(map(str, self.version))


def find_program(named: str | None = None) -> Program:
    """The fio that is named, or else the one on PATH. Raises BackendError."""
    named = named or os.environ.get(VARIABLE)
    path = shutil.which(named or "fio")
    if path is None and named:
        raise BackendError(f"{named} cannot be run as fio; name another program")
    if path is None:
        raise BackendError(
            "fio is not installed: install the package fio, or name the program in "
            f"{VARIABLE} or with the option path"
        )
    return _checked(path, Path(path).stat().st_mtime_ns)


@cache
def _checked(path: str, _changed_ns: int) -> Program:
    program = Program(path, version_of(_version_output(path)))
    if program.version < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise BackendError(
            f"fio {program.version_text} is too old: its latency histograms are read "
            f"in the form that {oldest} and newer give; install one of those"
        )
    return program


def _version_output(path: str) -> str:
    try:
        done = subprocess.run(
            [path, "--version"],
            capture_output=True,
            timeout=ASK_S,
            text=True,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        raise BackendError(f"{path} does not answer as fio: {error}") from error
    return done.stdout


def version_of(text: str) -> tuple[int, ...]:
    """From `fio-3.33`, `fio-3.36-12-gabc`. Raises BackendError."""
    found = re.match(r"fio-(\d+(?:\.\d+)+)", text.strip())
    if not found:
        raise BackendError(
            f"a program called fio says {text.strip()[:80]!r}, no version"
        )
    return tuple(map(int, found[1].split(".")))


def io_uring_fault() -> str:
    """Why io_uring cannot be used by this process; empty when it can.

    The kernel is asked for a ring: a container's filter refuses without a word in
    /proc.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(IO_URING_SETUP, 1, ctypes.create_string_buffer(PARAMS_BYTES))
    if fd >= 0:
        os.close(fd)
        return ""
    error = os.strerror(ctypes.get_errno())
    try:
        level = DISABLED.read_text().strip()
    except OSError:
        level = "0"
    if level != "0":
        return f"io_uring is disabled by kernel.io_uring_disabled={level}"
    return f"io_uring cannot be used here: {error}"
