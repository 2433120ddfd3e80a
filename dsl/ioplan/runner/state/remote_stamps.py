"""The stamps of a target on another host: what is done to the file here is done there.

What is there counts: this host may have lost its power with what it had written here.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from pathlib import Path

from ioplan.planner.run_id import digest
from ioplan.runner.journal.client import JournalLink
from ioplan.target_entry import JournalPlace

HEADER = struct.Struct("<8Q")
"""As the engine lays it out: magic, version, bytes of a block, capacity, key, boot in
which it is in use, power cuts, writes issued."""
HEADER_BYTES, ENTRY_BYTES = 4096, 12
IN_USE_AT = 40
UNSEEN_WRITES = 1 << 20
"""More than can have been issued without the other host's knowing."""
MACHINE, BOOT = Path("/etc/machine-id"), Path("/proc/sys/kernel/random/boot_id")


class RemoteStamps:
    """The journal of one target of this host."""

    def __init__(self, place: JournalPlace, path: Path) -> None:
        self.place, self.path = place, path
        self.name = digest(path.name, _text(MACHINE))
        self.link: JournalLink | None = None
        self.is_known = False

    def opened(self) -> JournalLink:
        """A new link; the earlier one ends. Raises JournalError."""
        if self.link:
            self.link.close()
        self.link = JournalLink(self.place, self.name)
        return self.link

    def fetch(self) -> None:
        """The file here becomes what is there, once. Raises JournalError, OSError."""
        if self.is_known:
            return
        part = self.path.with_suffix(".part")
        link = self.opened()
        link.fetch(part)
        if part.stat().st_size < HEADER.size:
            part.unlink()
            self.path.unlink(missing_ok=True)
        else:
            self._recover(part, link)
            part.replace(self.path)
        self.is_known = True

    def _recover(self, part: Path, link: JournalLink) -> None:
        """If this host has gone down with it in use, that was a power cut."""
        with part.open("rb+") as file:
            header = HEADER.unpack(file.read(HEADER.size))
            *_, block_bytes, capacity_bytes, key, in_use, cuts, writes = header
            if in_use not in (0, boot()):
                cuts, writes = cuts + 1, writes + UNSEEN_WRITES
            known = struct.pack("<3Q", 0, max(cuts, self._cuts_here(key)), writes)
            link.write(IN_USE_AT, known)
            os.pwrite(file.fileno(), known, IN_USE_AT)
            blocks = capacity_bytes // max(1, block_bytes)
            file.truncate(HEADER_BYTES + blocks * ENTRY_BYTES)

    def _cuts_here(self, key: int) -> int:
        """Those that were noted in the file of this host alone."""
        with suppress(OSError, struct.error):
            header = HEADER.unpack(_head(self.path))
            return header[6] if header[4] == key else 0
        return 0


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEADER.size)


def boot() -> int:
    """Identifies this boot of the host as the engine does."""
    return int("0" + _text(BOOT).replace("-", "")[:16], 16) or 1


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
