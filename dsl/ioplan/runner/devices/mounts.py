"""What is mounted, in every mount namespace that this process can see."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from ioplan.runner.devices.file_id import Key, key_at
from ioplan.runner.devices.proc import PROC, processes

BTRFS = Path("/sys/fs/btrfs")


class Mount(Struct, frozen=True):
    """A mount of a block device.

    `number` is its `st_rdev`, `where` the path in its mount namespace, `kind` the
    type of file system; `here` says whether that namespace is this process's.
    """

    number: int
    where: str
    kind: str
    here: bool


def mounts() -> list[Mount]:
    """All mounts of block devices, each once."""
    found: dict[tuple[int, str], Mount] = {}
    for process in mount_tables():
        here = process.name == "self"
        for line in mount_lines(process):
            for mount in _read(line, here):
                found.setdefault((mount.number, mount.where), mount)
    return list(found.values())


def mount_tables() -> Iterator[Path]:
    """A process of each mount namespace, this one first."""
    yield PROC / "self"
    seen = {_namespace(PROC / "self")}
    for process in sorted(processes()):
        space = _namespace(process)
        if space and space not in seen:
            seen.add(space)
            yield process


def unseen_namespaces() -> bool:
    """Whether this user may not read the mounts of some process."""
    return any(_is_closed(process) for process in processes())


def _is_closed(process: Path) -> bool:
    try:
        (process / "ns/mnt").readlink()
    except PermissionError:
        return True
    except OSError:
        pass  # it has ended
    return False


def _namespace(process: Path) -> str:
    """By its first mount: its number is that of no other, and every user may see it."""
    return next(iter(mount_lines(process)[:1]), "")


def mount_lines(process: Path) -> list[str]:
    """A process's mount table; none if it has ended."""
    try:
        text = (process / "mountinfo").read_text(errors="surrogateescape")
    except OSError:
        return []
    return text.splitlines()


def _read(line: str, here: bool) -> Iterator[Mount]:
    """The devices under one mount: its own number, its source, btrfs's others."""
    front, _, back = line.partition(" - ")
    fields, (kind, source, *_) = front.split(), [*back.split(" "), "", ""]
    major, _, minor = fields[2].partition(":")
    where = unescaped(fields[4])
    numbers = {os.makedev(int(major), int(minor))} if int(major) else set()
    if here and source.startswith("/"):
        numbers |= _under(Path(unescaped(source)), kind)
    for number in numbers:
        yield Mount(number, where, kind, here)


def _under(source: Path, kind: str) -> set[int]:
    """btrfs has an anonymous number, and may lie on several devices."""
    try:
        status = source.stat()
    except OSError:
        return set()
    if not stat.S_ISBLK(status.st_mode):
        return set()
    return {status.st_rdev} | (
        _companions(status.st_rdev) if kind == "btrfs" else set()
    )


def _companions(number: int) -> set[int]:
    found: set[int] = set()
    for folder in BTRFS.glob("*/devices"):
        numbers = {_number(one) for one in folder.iterdir()}
        if number in numbers:
            found |= numbers
    return found


def _number(folder: Path) -> int:
    major, _, minor = (folder / "dev").read_text().strip().partition(":")
    return os.makedev(int(major), int(minor))


def unescaped(text: str) -> str:
    """A path as it is; in its tables the kernel writes a space as \\040."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


# A file of an overlay and the file in its upper folder are one.


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
