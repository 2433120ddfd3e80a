"""/proc and /sys, or a copy of them below another root."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

CHUNK_BYTES = 1 << 16


class Tree(Struct, frozen=True):
    """Reads small files. One that is not there, or refuses, is empty."""

    root: Path = Path("/")

    def path(self, name: str) -> Path:
        """Where a file of the kernel's is; `name` begins without a slash."""
        return self.root / name

    def all(self, pattern: str) -> list[Path]:
        """What fits a pattern, in order."""
        return sorted(self.root.glob(pattern), key=_natural)

    def text(self, name: str | Path) -> str:
        """A file's text without the space around it."""
        return raw(self.root / name).decode(errors="replace").strip()

    def number(self, name: str | Path) -> int | None:
        """A file that holds one whole number."""
        try:
            return int(self.text(name))
        except ValueError:
            return None


def raw(path: str | Path) -> bytes:
    """All of a file. Several times faster than `Path.read_bytes`."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        return b"".join(iter(lambda: os.read(fd, CHUNK_BYTES), b""))
    except OSError:
        return b""
    finally:
        os.close(fd)


def _natural(path: Path) -> list[tuple[int, str]]:
    """cpu2 before cpu10."""
    words = "".join(c if c.isdigit() else f" {c} " for c in str(path)).split()
    return [(int(word) if word.isdecimal() else -1, word) for word in words]
