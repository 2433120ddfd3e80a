"""Programs that have a device or a file open, as far as this user may see."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ioplan.lab.device import printable
from ioplan.lab.mounts import PROC

WRITING = os.O_WRONLY | os.O_RDWR

IsMeant = Callable[[Path, str], bool]
"""Told a process and the number of an open file."""


@dataclass(frozen=True)
class Opener:
    """A program that has it open."""

    pid: int
    program: str

    def __str__(self) -> str:
        return f"{self.program} (process {self.pid})"


def writers(status: os.stat_result) -> list[Opener]:
    """Other programs that may write to it, even without having locked it."""
    return openers(status, _writes)


def openers(
    status: os.stat_result, how: Callable[[Path], bool] = lambda _: True
) -> list[Opener]:
    """Other programs that have it open."""
    found = set(_openers(_key(status), how))
    return sorted(found, key=lambda one: one.pid)


def _openers(
    wanted: tuple[str, int, int], how: Callable[[Path], bool]
) -> Iterator[Opener]:
    own = os.getpid()
    for process in PROC.glob("[0-9]*"):
        if int(process.name) == own:
            continue
        for number in _open_files(process):
            if _is_it(number, wanted) and how(number):
                yield Opener(int(process.name), _program(process))


def _open_files(process: Path) -> list[Path]:
    """Of a process that was killed, threads which hang in the kernel have them."""
    try:
        found = list((process / "fd").iterdir())
    except OSError:
        return []  # another user's, or ended
    return found or list(process.glob("task/*/fd/*"))


def _is_it(number: Path, wanted: tuple[str, int, int]) -> bool:
    try:
        return _key(number.stat()) == wanted
    except OSError:
        return False


def _key(status: os.stat_result) -> tuple[str, int, int]:
    """A device may have several special files, a file several names."""
    if status.st_rdev:
        return "device", status.st_rdev, 0
    return "file", status.st_dev, status.st_ino


def _writes(number: Path) -> bool:
    info = number.parents[1] / "fdinfo" / number.name
    try:
        lines = info.read_text().splitlines()
    except OSError:
        return False
    flags = next((one.split()[1] for one in lines if one.startswith("flags:")), "0")
    return bool(int(flags, 8) & WRITING)


def _program(process: Path) -> str:
    try:
        return printable((process / "comm").read_text(errors="replace"))
    except OSError:
        return "a program"
