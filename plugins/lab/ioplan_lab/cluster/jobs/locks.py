"""Locks that the lanes of a host share, so that they use something one at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import quote

from ioplan.core import fcntl


@contextmanager
def locked(
    folder: Path, names: Iterable[str], on_wait: Callable[[str], None]
) -> Iterator[None]:
    """Hold all these locks; `on_wait` gets the name of one that has to be waited for.

    All lanes take them in the same order, so that no two wait for each other.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with ExitStack() as stack:
        for name in sorted(set(names)):
            path = folder / quote(name, safe="")
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            stack.callback(os.close, fd)
            _lock(fd, name, on_wait)
        yield


def _lock(fd: int, name: str, on_wait: Callable[[str], None]) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        on_wait(name)
        fcntl.flock(fd, fcntl.LOCK_EX)
