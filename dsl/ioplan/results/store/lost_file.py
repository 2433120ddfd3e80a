"""A store's file that is removed or replaced while it is open.

SQLite goes on with the file that it has open, and every commit succeeds; but once that
is closed, nothing of it is left.
"""

from __future__ import annotations

import os
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from ioplan.core.error_kinds import StoreFault
from ioplan.results.store.errors import OTHER_STORE_HINT, StoreError

LEAST_BYTES = 100
"""SQLite's header; less is left of a file that was emptied."""


class OpenFile:
    """The file that a path led to when it was opened."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._key = _key(path)

    def is_lost(self) -> bool:
        """Whether the path leads elsewhere now, or to nothing."""
        return self._key is None or _key(self.path) != self._key


def _key(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    if status.st_size < LEAST_BYTES:
        return None
    return status.st_dev, status.st_ino


def copied(connection: sqlite3.Connection, path: Path) -> Path:
    """All that the open database holds, in a new file beside. Raises StoreError."""
    now = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")
    new = path.with_name(f"{path.stem}-rescued-{now}{path.suffix}")
    try:
        os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        with sqlite3.connect(new) as copy:
            connection.backup(copy)
        copy.close()
    except (OSError, sqlite3.Error) as error:
        raise StoreError(
            f"the store {path} was removed or replaced while it was in use, and what "
            f"it held cannot be written again: {error}; {OTHER_STORE_HINT}",
            StoreFault.STORE_LOST,
        ) from error
    return new


def lost(path: Path, copy: Path) -> StoreError:
    """What happened, and where the results are."""
    return StoreError(
        f"the store {path} was removed or replaced while it was in use; all that it "
        f"held is in {copy}: name that with --store or IOPLAN_STORE to go on",
        StoreFault.STORE_LOST,
    )
