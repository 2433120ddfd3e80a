"""Block devices to try on, and lab files that let them be written."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sight import ELSEWHERE

from ioplan.backends import TargetRequest
from ioplan.runner import read_lab
from ioplan.runner.guard.resolve import resolve_target

MIB = 1 << 20

NEEDS_ROOT = [
    pytest.mark.machine,
    pytest.mark.skipif(os.geteuid() != 0, reason="LEFT OUT: loop devices need root"),
]


def needs_root(test: Any) -> Any:
    """Marks a test that makes loop devices, mounts and the like."""
    return marked(test, NEEDS_ROOT)


def marked(test: Any, marks: Iterable[pytest.MarkDecorator]) -> Any:
    """A test or a class of tests with several markers."""
    for mark in marks:
        test = mark(test)
    return test


def tell(*command: str | Path) -> str:
    """Run a program; what it says on standard output."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}: {done.stderr}{done.stdout}"
    return done.stdout.strip()


@contextmanager
def loops_held() -> Iterator[None]:
    """No other test takes a loop device meanwhile."""
    with Path("/dev/loop-control").open("rb") as control:
        fcntl.flock(control, fcntl.LOCK_EX)
        yield


def put_over(device: Path, other: Path) -> None:
    """The loop device on another file; nobody can have it in between."""
    with loops_held():
        tell("losetup", "-d", device)
        tell("losetup", device, other)


@contextmanager
def loop_device(backing: Path, *options: str) -> Iterator[Path]:
    """A loop device on a file or a device; given back whatever happens."""
    with loops_held():
        device = Path(tell("losetup", "-f", "--show", *options, backing))
    try:
        _forget_partitions(device)
        yield device
    finally:
        tell("losetup", "-d", device)


def _forget_partitions(device: Path) -> None:
    """The kernel keeps those of the last user, if a test was killed before it did."""
    for entry in Path("/sys/block", device.name).glob(f"{device.name}p*"):
        remove_partition(device, int((entry / "partition").read_text()))


def remove_partition(device: Path, number: int, patience_s: float = 30) -> None:
    """It is busy while any program looks at the disks of the machine."""
    command = ["delpart", str(device), str(number)]
    deadline_s = time.monotonic() + patience_s
    while (done := _quietly(command)).returncode:
        assert time.monotonic() < deadline_s, f"{command}: {done.stderr}"
        time.sleep(0.05)


def _quietly(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


@contextmanager
def mounted(device: Path, where: Path, *options: str) -> Iterator[Path]:
    """A mount of it."""
    where.mkdir(exist_ok=True)
    tell("mount", *options, device, where)
    try:
        yield where
    finally:
        tell("umount", where)


def lab_file(folder: Path, name: str = "fast", **said: object) -> Path:
    """A lab with one target, which only the test uses."""
    said = ({"cannot_see_users": True} if ELSEWHERE else {}) | said
    lines = [f"{key} = {json.dumps(value)}" for key, value in said.items()]
    path = folder / "lab.toml"
    path.write_text("\n".join([f"[targets.{name}]", *lines, ""]))
    return path


def lab_of_file(folder: Path, backing: Path) -> Path:
    """A lab that lets the loop device on a file be written."""
    return lab_file(folder, backing_file=str(backing), writable=True)


def asked(lab: Path | None, word: Path | str, *overwrite: Path | str) -> TargetRequest:
    """What a writing plan asks of a target, as the command line would."""
    path, entry = resolve_target(str(word), read_lab(lab))
    return TargetRequest(
        path=path,
        entry=entry,
        lab=str(lab) if lab else None,
        overwrite=tuple(map(str, overwrite)),
        writes=True,
    )
