"""A file of an overlay and the file in its upper folder are one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ioplan.devices.file_id import Key, key_at
from ioplan.devices.mounts import unescaped
from ioplan.devices.proc import PROC


class Overlay(NamedTuple):
    """Where one is mounted, and the folder that it writes to."""

    where: Path
    upper: Path


def other_names(path: Path) -> dict[Key, str]:
    """The same file by its other path, if an overlay has two; with a suffix."""
    found = dict[Key, str]()
    for one in _overlays():
        for here, there in ((one.where, one.upper), (one.upper, one.where)):
            if path.is_relative_to(here):
                other = there / path.relative_to(here)
                if key := key_at(other):
                    found[key] = f" as {other}"
    return found


def _overlays() -> Iterator[Overlay]:
    try:
        lines = (PROC / "self/mountinfo").read_text(errors="surrogateescape")
    except OSError:
        return
    for line in lines.splitlines():
        front, _, back = line.partition(" - ")
        if back.startswith("overlay "):
            upper = re.search(r"[ ,]upperdir=([^,]+)", back)
            if upper:
                where = Path(unescaped(front.split()[4]))
                yield Overlay(where, Path(unescaped(upper[1])))
