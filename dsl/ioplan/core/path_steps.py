"""What resolving a path passes: folders, symbolic links, and what it leads to."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

MOST_LINKS = 40
"""As the kernel has it."""


def path_steps(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Each with its own status, from the root on. Raises OSError."""
    place, rest, links = Path(os.sep), list(path.absolute().parts[1:]), 0
    while rest:
        name = rest.pop(0)
        here = place.parent if name == os.pardir else place / name
        status = here.lstat()
        yield here, status
        if not stat.S_ISLNK(status.st_mode):
            place = here
            continue
        links += 1
        if links > MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        target = here.readlink()
        place = Path(os.sep) if target.is_absolute() else place
        rest = [*target.parts[target.is_absolute() :], *rest]
