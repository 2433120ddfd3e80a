"""The ends of a target as they were before a session wrote to it, to put them back.

The first and the last MiB hold the partition tables (MBR and both of GPT), and most of
what identifies a file system. Nothing can bring back what was between them.
"""

from __future__ import annotations

import mmap
import os
from contextlib import closing
from pathlib import Path

from ioplan.backends.backend import TargetFacts
from ioplan.core.error_kinds import TargetFault
from ioplan.core.model import Model
from ioplan.runner.devices.signatures import SignatureError, signatures
from ioplan.runner.guard.errors import TargetError, os_reason
from ioplan.runner.guard.output import OutputError, output_file

NAME = "before"
ENDS_BYTES = 1 << 20


class Header(Model):
    """The first line of the file; both ends follow, each of `bytes` bytes."""

    facts: TargetFacts
    bytes: int


class KeptEnds:
    """What was at `first` and `last` bytes of the target of these facts."""

    def __init__(self, facts: TargetFacts, first: bytes, last: bytes) -> None:
        self.facts, self.first, self.last = facts, first, last

    @property
    def places(self) -> tuple[tuple[int, bytes], ...]:
        """Offset and content of each."""
        behind = self.facts.capacity_bytes - len(self.last)
        return (0, self.first), (behind, self.last)

    def signatures(self) -> list[str]:
        """What wipefs finds in them: partition tables, file systems and the like."""
        with closing(_Image(self)) as image:
            try:
                return signatures(image.fd)
            except SignatureError as error:
                return [f"unknown: {error}"]


class _Image:
    """A file in memory that has the ends, and a hole between them."""

    def __init__(self, ends: KeptEnds) -> None:
        self.fd = os.memfd_create(NAME)
        os.truncate(self.fd, ends.facts.capacity_bytes)
        for offset, content in ends.places:
            os.pwrite(self.fd, content, offset)

    def close(self) -> None:
        os.close(self.fd)


def keep_ends(fd: int, facts: TargetFacts, folder: str | None) -> None:
    """Keep them in the session's folder, unless they are there from before it resumed.

    Raises TargetError: what cannot be kept is not overwritten.
    """
    if folder is None or (path := Path(folder) / NAME).exists():
        return
    length = min(ENDS_BYTES, facts.capacity_bytes)
    header = Header(facts=facts, bytes=length)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with output_file(path) as file:
            file.write(header.model_dump_json().encode() + b"\n")
            file.write(_read(fd, 0, length))
            file.write(_read(fd, facts.capacity_bytes - length, length))
    except (OSError, OutputError) as error:
        reason = os_reason(error)
        text = f"cannot keep the first and last MiB of {facts.path} for undo: {reason}"
        raise TargetError(text, TargetFault.NOT_KEPT) from None


def _read(fd: int, offset: int, length: int) -> bytes:
    with closing(mmap.mmap(-1, length)) as buffer:
        done = os.preadv(fd, [buffer], offset)
        return buffer[:done]


def kept_ends(folder: Path) -> KeptEnds | None:
    """What a session kept; None if it kept nothing. Raises TargetError."""
    path = folder / NAME
    try:
        line, _, rest = path.read_bytes().partition(b"\n")
        header = Header.model_validate_json(line)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise TargetError(
            f"cannot read {path}: {error}", TargetFault.NOT_KEPT
        ) from None
    if len(rest) != 2 * header.bytes:
        text = f"{path} is damaged: it has not two ends of {header.bytes} B"
        raise TargetError(text, TargetFault.NOT_KEPT)
    return KeptEnds(header.facts, rest[: header.bytes], rest[header.bytes :])


def put_back(fd: int, ends: KeptEnds) -> None:
    """Write them to the open target, durably. Raises OSError."""
    for offset, content in ends.places:
        written = 0
        while written < len(content):
            written += os.pwrite(fd, content[written:], offset + written)
    os.fsync(fd)
