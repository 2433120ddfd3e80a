"""A full read: the proof that nothing is on a target.

It ends at the first data. Holes of a file, and of the file under a loop device, are
known to its file system and are not read. How far it came is kept, so that one that
was interrupted goes on there, unless anything was written meanwhile.
"""

from __future__ import annotations

import errno
import mmap
import os
import shlex
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

from ioplan.backends.backend import ProgressCallback, TargetFacts, ignore_progress
from ioplan.core.error_kinds import TargetFault
from ioplan.core.model import Model
from ioplan.runner.content.scan import BLOCK, MIB, is_constant, opened_past_cache
from ioplan.runner.devices.device import Device, NoDevice
from ioplan.runner.devices.identity import backing
from ioplan.runner.devices.write_evidence import WriteCounters, write_counters
from ioplan.runner.guard.errors import ConsentError, TargetError, os_reason
from ioplan.runner.guard.known_content import KnownContent, known_content, state_path
from ioplan.runner.guard.output import OutputError, rewrite

READ_BYTES, READERS = 4 * MIB, 4
SAVE_S = 1.0
CONSTANT = "a full read found no data on it"
SINCE_READ = "nothing was written to it since a full read found no data on it"

Part = tuple[int, int]
"""Offset and end in bytes."""


class Position(Model):
    """All before `at_bytes` was found constant when the counters were these."""

    at_bytes: int
    counters: WriteCounters


def parts_to_read(fd: int, capacity_bytes: int) -> list[Part]:
    """What may hold data: all but the holes that a file system knows of."""
    os.fsync(fd)  # what is only in the page cache is in no file yet
    try:
        under = backing(Device.numbered(os.fstat(fd).st_rdev))
    except (OSError, NoDevice):
        return list(_data_of(fd, 0, capacity_bytes))
    if under is None or not under.path:
        return [(0, capacity_bytes)]
    image = os.open(under.path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        first = under.offset_bytes
        found = _data_of(image, first, first + capacity_bytes)
        return [(start - first, end - first) for start, end in found]
    finally:
        os.close(image)


def _data_of(fd: int, at: int, end: int) -> Iterator[Part]:
    try:
        while at < end:
            start = os.lseek(fd, at, os.SEEK_DATA)
            at = os.lseek(fd, start, os.SEEK_HOLE)
            if start < end:
                yield start, min(at, end)
    except OSError as error:
        if error.errno != errno.ENXIO:  # no more data
            yield at, end


def first_data(
    fd: int,
    parts: list[Part],
    on_progress: ProgressCallback = ignore_progress,
    on_read: ProgressCallback = ignore_progress,
) -> int | None:
    """The offset of the first block that is not constant. Raises OSError.

    `on_progress` gets the share of what is read, `on_read` the offset before which all
    is constant.
    """
    total, done = sum(end - start for start, end in parts), 0
    again, size = opened_past_cache(fd)
    try:
        with ThreadPoolExecutor(READERS) as readers:
            for batch in _batches(parts):
                looks = [readers.submit(_look, again, size, *one) for one in batch]
                for (start, end), look in zip(batch, looks, strict=True):
                    if (found := look.result()) is not None:
                        return found
                    done += end - start
                    on_read(end)
                on_progress(done / total)
    finally:
        os.close(again)
    return None


def _batches(parts: list[Part]) -> Iterator[list[Part]]:
    reads = [
        (at, min(at + READ_BYTES, end))
        for start, end in parts
        for at in range(start // BLOCK * BLOCK, end, READ_BYTES)
    ]
    yield from (reads[at : at + READERS] for at in range(0, len(reads), READERS))


def _look(fd: int, size: int, start: int, end: int) -> int | None:
    with closing(mmap.mmap(-1, -(-(end - start) // size) * size)) as buffer:
        read = os.preadv(fd, [buffer], start)
        if read < end - start:
            raise OSError(errno.EIO, f"a short read at byte {start}")
        if is_constant(buffer[:read]):
            return None
        blocks = range(0, read, BLOCK)
        data = (
            start + at
            for at in blocks
            if not is_constant(buffer[at : min(at + BLOCK, read)])
        )
        return next(data, None)


def data_error(facts: TargetFacts, at_bytes: int) -> ConsentError:
    """What was found, and the word that gives it up."""
    named = facts.identity
    id = named.get("backing_file") or named.get("serial") or facts.path
    return ConsentError(
        f"the plan writes, and a full read of {facts.path} found data at byte "
        f"{at_bytes:,}: all data on it would be lost; to allow this, add "
        f"--overwrite-data {shlex.quote(id)}",
        id,
        data=True,
    )


def read_whole(
    facts: TargetFacts, on_progress: ProgressCallback = ignore_progress
) -> int | None:
    """Where a target that is not open holds data; None if none. Raises TargetError."""
    try:
        fd = os.open(facts.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return find_data(fd, known_content(facts), on_progress)
        finally:
            os.close(fd)
    except OSError as error:
        text = f"{facts.path} cannot be read: {os_reason(error)}"
        raise TargetError(text, TargetFault.CONTENT_UNKNOWN) from None


def find_data(
    fd: int, known: KnownContent, on_progress: ProgressCallback = ignore_progress
) -> int | None:
    """Read the whole target; None, and known from now on, where it has no data.

    Raises OSError, TargetError where it was written to meanwhile.
    """
    facts, before = known.facts, write_counters(known.facts)
    saver = _Saver(facts, before)
    parts = _from(saver.at_bytes, parts_to_read(fd, facts.capacity_bytes))
    if (found := first_data(fd, parts, on_progress, saver.reached)) is not None:
        return found
    if write_counters(facts) != before:
        text = f"{facts.path} was written to by another program while it was read"
        raise TargetError(text, TargetFault.OPEN_ELSEWHERE)
    saver.path.unlink(missing_ok=True)
    if known.seen is None:
        known.look(fd)
    known.keep(SINCE_READ, before)
    return None


def _from(at_bytes: int, parts: list[Part]) -> list[Part]:
    return [(max(at_bytes, start), end) for start, end in parts if end > at_bytes]


class _Saver:
    """Keeps how far it came; where counters are missing, nothing is kept."""

    def __init__(self, facts: TargetFacts, counters: WriteCounters) -> None:
        self.path, self.counters = state_path(facts, "read"), counters
        self.at_bytes, self.saved_s = self._saved(), time.monotonic()

    def _saved(self) -> int:
        with suppress(OSError, ValueError):
            found = Position.model_validate_json(self.path.read_bytes())
            if self.counters and found.counters == self.counters:
                return found.at_bytes
        return 0

    def reached(self, at_bytes: float) -> None:
        if not self.counters or time.monotonic() < self.saved_s + SAVE_S:
            return
        self.saved_s = time.monotonic()
        position = Position(at_bytes=int(at_bytes), counters=self.counters)
        with suppress(OSError, OutputError):
            _write(self.path, position)


def _write(path: Path, position: Position) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    rewrite(path, position.model_dump_json().encode())
