"""A file of an overlay and the file in its upper folder are one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ioplan.runner.devices.file_id import Key, key_at
from ioplan.runner.devices.mounts import mount_lines, mount_tables, unescaped


class Overlay(NamedTuple):
    """Where one is mounted, and the folder that it writes to."""

    where: Path
    upper: Path


def other_names(path: Path) -> dict[Key, str]:
    """A file's other path, if an overlay has two; with a suffix.

    Also by an overlay of another mount namespace, which /proc/PID/root leads to.
    """
    parents = {key_at(one): one for one in reversed(path.parents)}
    found = dict[Key, str]()
    for one in _overlays():
        for here, there in ((one.where, one.upper), (one.upper, one.where)):
            if folder := parents.get(key_at(here)):
                other = there / path.relative_to(folder)
                if key := key_at(other):
                    found[key] = f" as {other}"
    return found


def _overlays() -> Iterator[Overlay]:
    for process in mount_tables():
        root = Path("/") if process.name == "self" else process / "root"
        for line in mount_lines(process):
            yield from _overlay(line, root)


def _overlay(line: str, root: Path) -> Iterator[Overlay]:
    """Whoever mounted it may have had another root than who sees it now."""
    front, _, back = line.partition(" - ")
    upper = re.search(r"[ ,]upperdir=([^,]+)", back)
    if back.startswith("overlay ") and upper:
        where = root / unescaped(front.split()[4]).lstrip("/")
        for folder in {root, Path("/")}:
            yield Overlay(where, folder / unescaped(upper[1]).lstrip("/"))
