"""Errors of a target that is refused."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ioplan.core.error_kinds import CommandFault, ExplainedError, TargetFault

if TYPE_CHECKING:
    from ioplan.backends.backend import TargetFacts


class TargetError(ExplainedError):
    """A target cannot be used."""

    kind = CommandFault.TARGET


class ConsentError(TargetError):
    """Only the user's consent is missing, which names this `id`.

    `--overwrite ID` gives it or, where there is `data`, `--overwrite-data ID`.
    """

    def __init__(self, text: str, id: str, *, data: bool = False) -> None:
        super().__init__(text, TargetFault.DATA if data else TargetFault.NO_CONSENT)
        self.id, self.data = id, data
        self.option = consent_option(data)
        self.request_field = self.option.removeprefix("--").replace("-", "_")


class UnreadError(TargetError):
    """Nothing is seen on a target, and most of it was not read yet.

    `data_at` is where the reading has found data.
    """

    def __init__(self, facts: TargetFacts, data_at: int | None = None) -> None:
        found = (
            "a full read takes long and needs to show its progress"
            if data_at is None
            else f"a full read found data at byte {data_at:,}"
        )
        super().__init__(f"{facts.path}: {found}", TargetFault.CONTENT_UNKNOWN)
        self.facts, self.data_at = facts, data_at


def consent_option(data: bool) -> str:
    """What permits overwriting a target, with the data that is seen on it."""
    return "--overwrite-data" if data else "--overwrite"


def check_kernel_files() -> None:
    """Raises TargetError where nothing tells who else uses a target."""
    absent = [path for path in ("/proc/self/fd", "/sys/dev") if not Path(path).exists()]
    if absent:
        text = f"{' and '.join(absent)} are not there, which tell who uses a target"
        raise TargetError(
            f"{text}: mount /proc and /sys, as in a chroot", TargetFault.NOT_A_TARGET
        )


def missing(path: Path) -> TargetError:
    """That there is no target at a path, and what to do."""
    if not os.access(path.absolute().parent, os.F_OK):  # its name may be too long
        text = f"there is no folder {str(path.parent)!r} for the target {path.name!r}"
    elif path.is_relative_to("/dev"):
        text = f"there is no device {str(path)!r}; ioplan targets lists those present"
    elif path.parent == Path() and (device := Path("/dev", path)).is_block_device():
        text = f"there is no target {str(path)!r}; the drive of that name is {device}"
    else:
        text = (
            f"there is no target {str(path)!r}; to create a scratch file there, add "
            "for example --create 1GiB"
        )
    return TargetError(text, TargetFault.NOT_FOUND)


@contextmanager
def in_use_of(path: Path | str) -> Iterator[None]:
    """What the system refuses of a target is the target's. Raises TargetError."""
    try:
        yield
    except OSError as error:
        raise TargetError(f"cannot use {str(path)!r}: {os_reason(error)}") from None


def os_reason(error: Exception) -> str:
    """The operating system's message, without the number and the path."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
