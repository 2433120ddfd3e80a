"""The object that a path leads to, held while it is looked at and then opened.

A name in a folder of another user may mean another file from one moment to the next.
So each folder on the way is held (O_PATH) while the next name is looked up in it, each
link is judged as the one that is followed, and all that comes after is done on what
was found.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from ioplan.core.error_kinds import TargetFault
from ioplan.core.path_steps import MOST_LINKS
from ioplan.core.system import O_CLOEXEC, O_NOFOLLOW, O_PATH
from ioplan.runner.guard.errors import TargetError

HOLD = O_PATH | O_NOFOLLOW | O_CLOEXEC


class Pin(NamedTuple):
    """A descriptor that only names something, and its path without links."""

    fd: int
    path: Path


@contextmanager
def pinned(path: Path, writes: bool) -> Iterator[Pin]:
    """What a path leads to; what is written is not found by another user's link.

    Raises TargetError, OSError.
    """
    with ExitStack() as held:
        yield _walked(path.absolute(), writes, held)


def _walked(path: Path, writes: bool, held: ExitStack) -> Pin:
    root = here = Pin(_held(os.sep, None, held), Path(os.sep))
    rest, links = list(path.parts[1:]), 0
    while rest:
        name = rest.pop(0)
        fd = _held(name, here.fd, held)
        place = here.path.parent if name == os.pardir else here.path / name
        status = os.fstat(fd)
        if not stat.S_ISLNK(status.st_mode):
            here = Pin(fd, place)
            continue
        if writes:
            _check_link(place, status, path)
        links += 1
        if links > MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        target = Path(os.readlink("", dir_fd=fd))
        here = root if target.is_absolute() else here
        rest = [*target.parts[target.is_absolute() :], *rest]
    return here


def _held(name: str, folder: int | None, held: ExitStack) -> int:
    fd = os.open(name, HOLD, dir_fd=folder)
    held.callback(os.close, fd)
    return fd


def _check_link(place: Path, status: os.stat_result, path: Path) -> None:
    """Who made a symbolic link decides what is overwritten. Raises TargetError."""
    if status.st_uid not in (0, os.geteuid()):
        raise TargetError(
            f"{place} is a link of another user (uid {status.st_uid}), who could "
            "redirect it at any time; name the file to write: "
            f"{os.path.realpath(path)}",
            TargetFault.FOREIGN_LINK,
        )


def opened(pin: int, flags: int) -> int:
    """Open what is held, wherever its name leads now. Raises OSError."""
    return os.open(f"/proc/self/fd/{pin}", flags | os.O_CLOEXEC)
