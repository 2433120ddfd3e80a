"""The mount that a file is in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ioplan.lab.mounts import plain
from ioplan.telemetry.tree import Tree


@dataclass(frozen=True)
class Mount:
    """A line of /proc/self/mountinfo."""

    where: str
    kind: str
    source: str
    options: str


def mount_of(tree: Tree, path: str) -> Mount | None:
    """The one with the longest path that leads to the file; of two, the later."""
    found: Mount | None = None
    for line in tree.text("proc/self/mountinfo").splitlines():
        mount = _mount(line)
        under = Path(path).is_relative_to(mount.where)
        if under and (not found or len(mount.where) >= len(found.where)):
            found = mount
    return found


def _mount(line: str) -> Mount:
    """Options of the mount, then those of the file system."""
    front, _, back = line.partition(" - ")
    fields, (kind, source, *more) = front.split(" "), [*back.split(" "), "", ""]
    words = dict.fromkeys(f"{fields[5]},{more[0]}".strip(",").split(","))
    return Mount(plain(fields[4]), kind, plain(source), ",".join(words))
