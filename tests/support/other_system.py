"""Runs ioplan as on Windows: without the modules, calls and signals that Linux has.

    python other_system.py 'check demo.ioplan' 'ls' ...    # a JSON line of each

Not simulated: drive letters, text encodings, and other people's packages, which have
wheels for these systems.
"""

import asyncio
import ctypes
import json
import multiprocessing.popen_spawn_posix
import os
import signal
import sys
import tempfile
import zoneinfo
from importlib.abc import MetaPathFinder

import numpy
import pydantic
import pydantic.types
import pytest
import rich.console
from msgspec.structs import asdict

OTHERS = (asyncio, multiprocessing, tempfile, zoneinfo, numpy, pydantic, pytest, rich)
"""They know what system they are on, and have been imported before it changes."""
MODULES = [
    "curses", "crypt", "fcntl", "grp", "posix", "pty", "pwd", "readline", "resource",
    "syslog", "termios", "tty", "spwd",
]  # fmt: skip
CALLS = [
    "chown", "chroot", "fchmod", "fchown", "fork", "fdatasync", "getegid", "geteuid",
    "getgid", "getgroups", "getloadavg", "getpgid", "getsid", "getuid", "killpg",
    "lchown", "major", "makedev", "memfd_create", "minor", "mkfifo", "nice", "openpty",
    "pidfd_open", "posix_fadvise", "posix_fallocate", "pread", "preadv", "pwrite",
    "pwritev", "sched_getaffinity", "sched_setaffinity", "setpgid", "setsid", "statvfs",
    "fstatvfs", "sync", "sysconf", "uname", "wait4", "waitid", "WEXITSTATUS",
    "O_CLOEXEC", "O_DIRECT", "O_DIRECTORY", "O_DSYNC", "O_NOFOLLOW", "O_NONBLOCK",
    "O_SYNC", "O_PATH", "O_TMPFILE", "SEEK_HOLE", "SEEK_DATA", "getxattr", "setxattr",
    "eventfd", "POSIX_FADV_DONTNEED", "sched_yield", "set_blocking", "get_blocking",
]  # fmt: skip
SIGNALS = [
    "SIGALRM", "SIGCHLD", "SIGCONT", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT",
    "SIGSTOP", "SIGTSTP", "SIGUSR1", "SIGUSR2", "SIGWINCH", "alarm", "pthread_sigmask",
    "setitimer", "sigpending", "sigwait", "sigtimedwait",
]  # fmt: skip


class Hidden(MetaPathFinder):
    """Modules that this system does not have."""

    def find_spec(self, name, path, target=None):
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def hide():
    """Take away what Linux has, from here on."""
    for name in MODULES:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, Hidden())
    for place, names in ((os, CALLS), (signal, SIGNALS)):
        for name in names:
            if hasattr(place, name):
                delattr(place, name)
    library = ctypes.CDLL

    def no_library(name, *more, **others):
        if name is None:
            raise TypeError("LoadLibrary() argument 1 must be str, not None")
        return library(name, *more, **others)

    ctypes.CDLL = no_library


if __name__ == "__main__":
    hide()
    sys.platform = "win32"
    from command import ioplan

    for one in sys.argv[1:]:
        print(json.dumps(asdict(ioplan(*one.split()))), flush=True)
