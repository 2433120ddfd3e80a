"""A session's folder, which nobody else may put anything into."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

ROOT = 0
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def make_private(folder: Path) -> None:
    """Make it and the one above it, for their owner only. Raises OSError.

    Where a store lies in a folder of many, somebody else may have made them first,
    and could lead what is written there elsewhere.
    """
    folder.parent.parent.mkdir(parents=True, exist_ok=True)
    for one in (folder.parent, folder):
        one.mkdir(mode=0o700, exist_ok=True)
        _check(one)


def _check(folder: Path) -> None:
    status = folder.lstat()
    mine = status.st_uid in (os.geteuid(), ROOT)
    if not (mine and stat.S_ISDIR(status.st_mode)) or status.st_mode & OTHERS_WRITE:
        raise PermissionError(
            errno.EPERM,
            f"others may write to {folder}; keep the store in a folder of your own",
        )
