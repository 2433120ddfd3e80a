"""Erases a target, and proves it by reading back.

The lab chooses the method, with `purge` in `[targets.NAME]`; a file's blocks are
always given back to its file system. No method is trusted: marks are written all
over the target before, and if one of them is left after, the purge has failed.
"""

from __future__ import annotations

import errno
import mmap
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from msgspec import Struct

from ioplan.backends.backend import BackendError, ProgressCallback, ignore_progress
from ioplan.runner.devices.nvme import NvmeError
from ioplan.runner.guard.purge import supervisor
from ioplan.runner.guard.purge.kernel import discard, punch, write_zeros
from ioplan.runner.guard.purge.nvme import Erase, prepare_format, prepare_sanitize
from ioplan.runner.guard.target import Target
from ioplan.target_entry import DEVICE, PurgeCommand

# Marks: blocks written all over a target before a purge, to see if any is left.

MARKS = 128
SECTOR_BYTES = 512


class MarksFound(Struct, frozen=True):
    """How many marks were written, are left, and read back as all zeros or ones.

    `first_byte` is the offset of the first one left.
    """

    count: int
    left: int
    first_byte: int
    zeros: int
    ones: int

    def __str__(self) -> str:
        """After a purge that left none."""
        if self.zeros == self.count:
            return f"{self.count} marks read back as zeros"
        if self.ones == self.count:
            return f"{self.count} marks read back as ones"
        other = self.count - self.zeros - self.ones
        return f"all of {self.count} marks are gone, {other} read back as other data"


class Marks:
    """Random blocks: the first, the last, and one in each equal part between."""

    def __init__(self, target: Target) -> None:
        self.target, self.block_bytes = target, target.facts.block_bytes
        blocks = target.facts.capacity_bytes // self.block_bytes
        self.marks = {
            number * self.block_bytes: os.urandom(self.block_bytes)
            for number in numbers(blocks, min(MARKS, blocks))
        }

    def write(self) -> None:
        """Write them, and flush them to the medium. Raises OSError."""
        with self._direct(os.O_RDWR) as (fd, buffer):
            for offset, mark in self.marks.items():
                buffer[:] = mark
                os.pwritev(fd, [buffer], offset)
            os.fsync(fd)

    def read(self) -> MarksFound:
        """Look for them past the page cache. Raises OSError."""
        with self._direct(os.O_RDONLY) as (fd, buffer):
            data = {offset: _read(fd, offset, buffer) for offset in self.marks}
        left = [at for at, mark in self.marks.items() if _is_left(mark, data[at])]
        byte_values = [set(block) for block in data.values()]
        return MarksFound(
            count=len(data),
            left=len(left),
            first_byte=left[0] if left else 0,
            zeros=byte_values.count({0}),
            ones=byte_values.count({255}),
        )

    @contextmanager
    def _direct(self, mode: int) -> Iterator[tuple[int, mmap.mmap]]:
        """The open file or device, opened again, whatever its path leads to now."""
        same = f"/proc/self/fd/{self.target.fd}"
        fd = os.open(same, mode | os.O_DIRECT | os.O_CLOEXEC)
        try:
            with mmap.mmap(-1, self.block_bytes) as buffer:
                yield fd, buffer
        finally:
            os.close(fd)


def numbers(blocks: int, count: int) -> Iterator[int]:
    """`count` different block numbers, in order."""
    edges = [blocks * part // count for part in range(count + 1)]
    for part, (start, end) in enumerate(pairwise(edges), 1):
        last = part == count
        yield start if part == 1 else end - 1 if last else random.randrange(start, end)


def _read(fd: int, offset: int, buffer: mmap.mmap) -> bytes:
    if os.preadv(fd, [buffer], offset) != len(buffer):
        raise OSError(errno.EIO, f"a short read at byte {offset}")
    return bytes(buffer)


def _is_left(mark: bytes, data: bytes) -> bool:
    """Whether any sector of a mark reads back as it was written."""
    starts = range(0, len(mark), SECTOR_BYTES)
    sectors = (slice(start, start + SECTOR_BYTES) for start in starts)
    return any(mark[sector] == data[sector] for sector in sectors)


# Erasing by a program that the lab names, such as a drive maker's own.

OUTPUT_CHARS = 300
SUPERVISOR = (sys.executable, "-IS", str(Path(supervisor.__file__)))
"""As a file and without packages: so it starts fast, wherever ioplan is installed."""


def run_command(target: Target, purge: PurgeCommand) -> str:
    """Run it to its end, however long that takes. Raises BackendError, OSError."""
    words = [word.replace(DEVICE, target.facts.path) for word in purge.command]
    read_end, write_end = os.pipe()
    with (
        os.fdopen(read_end, "rb") as lifeline,
        subprocess.Popen(
            [*SUPERVISOR, *words],
            stdin=lifeline,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(target.fd,),  # the target stays locked while the program runs
        ) as process,
        os.fdopen(write_end, "wb"),  # closed, it ends all that was started
    ):
        output, _ = process.communicate()
    if process.returncode:
        text = output.decode(errors="replace").strip()[-OUTPUT_CHARS:]
        raise BackendError(
            f"cannot purge {target.facts.path}: {words[0]} exited with "
            f"{process.returncode}: {text or 'no output'}"
        )
    return f"erased by {words[0]}"


OTHER_METHODS = (
    "choose another method in the lab, with `purge` in the target's [targets.NAME]: "
    '"format" or "sanitize" for NVMe, or "zeros", which overwrites the target'
)


def purge(target: Target, on_progress: ProgressCallback = ignore_progress) -> str:
    """Erase it. Returns how, and what reads back. Raises BackendError.

    Nothing is written before all requirements of the method are checked.
    """
    target.check_name()
    try:
        erase = _erase_method(target)
        marks = Marks(target)
        marks.write()
        how = erase(on_progress)
        os.fsync(target.fd)
        found = marks.read()
    except OSError as error:
        raise BackendError(_failed(target, error)) from error
    except NvmeError as error:
        raise BackendError(
            f"cannot purge {target.facts.path}: {error}; {_instead(target)}"
        ) from error
    if found.left:
        raise BackendError(
            f"{target.facts.path} was {how}, and reported success, but "
            f"{found.left} of {found.count} marks were not erased, the first at byte "
            f"{found.first_byte}; {_instead(target)}"
        )
    target.ignore_openings()
    return f"{how}; {found}"


def _erase_method(target: Target) -> Erase:
    """The lab's method. Raises BackendError, OSError where it must not be used."""
    if target.facts.kind != "block":
        return lambda _: punch(target)
    match target.entry.purge if target.entry else "discard":
        case PurgeCommand() as command:
            return lambda _: run_command(target, command)
        case "format":
            return prepare_format(target)
        case "sanitize":
            return prepare_sanitize(target)
        case "zeros":
            return lambda on_progress: write_zeros(target, on_progress)
    return lambda on_progress: discard(target, on_progress)


def _failed(target: Target, error: OSError) -> str:
    text = f"cannot purge {target.facts.path}: {error.strerror or error}"
    if error.errno in (errno.EOPNOTSUPP, errno.ENOTTY):
        text += f"; it does not support this method: {_instead(target)}"
    if error.errno in (errno.EACCES, errno.EPERM):
        text += "; this requires root"
    return text


def _instead(target: Target) -> str:
    if target.facts.kind != "block":
        return "use another file system, or a plan without `purge`"
    return OTHER_METHODS
