"""A target whose server ends right before each call that ioplan makes on it.

Drawn moments miss what is done in microseconds; here each call is a moment.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import Done, plan_file
from test_dead_target import PLAN, PURGED, REASONS, call, gone

from ioplan.cli import RUN_FAILED, USAGE
from targets import Served, needs_faulty, served

OF_OS = """access fstat fstatvfs fsync ftruncate getxattr listxattr lseek lstat open
posix_fallocate pread pwrite readlink stat statvfs"""
ASKED = {os: OF_OS.split(), fcntl: ["fcntl", "flock", "ioctl"]}
REAL_READLINK = os.readlink
CALLS = {
    "run": ("run", "--backend", "io_uring"),
    "create": ("run", "--backend", "io_uring", "--create", "8MiB"),
}


class Calls:
    """Counts the calls of this process on a target, which vanishes before one."""

    def __init__(self, target: Served, last: int) -> None:
        self.target, self.last, self.made = target, last, 0

    def count(self, subject: object) -> None:
        if self._is_target(subject):
            self.made += 1
            if self.made == self.last:
                gone(self.target)

    def _is_target(self, subject: object) -> bool:
        if self.made >= self.last:
            return False
        if isinstance(subject, int):
            try:
                subject = REAL_READLINK(f"/proc/self/fd/{subject}")
            except OSError:
                return False
        return isinstance(subject, str | os.PathLike) and self.target.path in str(
            subject
        )

    def counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*arguments: Any, **options: Any) -> Any:
            if arguments:
                self.count(arguments[0])
            return call(*arguments, **options)

        return counting


def called(
    words: tuple[str, ...], plan: Path, folder: Path, last: int
) -> tuple[Done, Calls]:
    """What it came to."""
    with (
        served(folder, plugin=("memory", "8M")) as target,
        pytest.MonkeyPatch.context() as patch,
    ):
        calls = Calls(target, last)
        for module, names in ASKED.items():
            for name in names:
                patch.setattr(module, name, calls.counted(getattr(module, name)))
        return call(words, plan, target), calls


@pytest.mark.long
@needs_faulty
@pytest.mark.parametrize(
    ("name", "text"), [("run", PURGED), ("create", PLAN)], ids=["run", "create"]
)
def test_a_target_that_vanishes_before_any_call(
    name: str, text: str, tmp_path: Path, store_path: Path
) -> None:
    plan, codes = plan_file(tmp_path, text), []
    while True:
        number = len(codes) + 1
        done, calls = called(CALLS[name], plan, tmp_path / str(number), number)
        assert "itself failed" not in done.err, (number, done.err)
        if calls.made < number:
            break
        codes.append(done.code)
        if done.code in (USAGE, RUN_FAILED):
            assert any(reason in done.err for reason in (*REASONS, "is gone")), done.err
    print(codes)
    assert done.code not in (USAGE, RUN_FAILED)
    assert {USAGE, RUN_FAILED} <= {*codes}
