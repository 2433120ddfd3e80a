"""The desk's own tables: people, their tokens, and what they did.

They are in the database of the lab's results where that is PostgreSQL, so that a desk
can be moved to another host; else in a file of the state folder.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from ioplan.core import StoreFault
from ioplan.core.state_folder import state_folder
from ioplan.results.store import (
    Prepared,
    Source,
    SqliteFile,
    Store,
    StoreError,
    is_address,
)

# Times as the desk's tables keep them: UTC, ISO 8601, so that they sort as text.

NEVER = timedelta(0)


def stamp(after: timedelta = NEVER) -> str:
    """The time now, or so much later, such as 2026-11-22T15:45:12Z."""
    return f"{datetime.now(UTC) + after:%Y-%m-%dT%H:%M:%SZ}"


def time_in_words(at: str) -> str:
    """A stamp as people read it: 2026-11-22 15:45 UTC."""
    return f"{at[:10]} {at[11:16]} UTC"


BUSY_S = 10.0


def desk_folder() -> Path:
    """The desk's own folder in the user's state folder."""
    return state_folder() / "desk"


class DeskDatabase(Prepared):
    """Transactions on the desk's tables. Every method may raise StoreError."""

    def __init__(self, source: Source, tables: Mapping[str, str]) -> None:
        """Make the tables that are missing; each is its `CREATE TABLE`."""
        self._tables = tables
        super().__init__(source)

    @classmethod
    def at(cls, results: str | None, folder: Path, tables: Mapping[str, str]) -> Self:
        """Beside the lab's results if a server has them, else in the desk's folder."""
        if results and is_address(results):
            Store.at(results).close()  # its own tables must be the first
            from ioplan.results.store import PostgresDatabase  # noqa: PLC0415

            return cls(PostgresDatabase(results), tables)
        return cls(SqliteFile(_private(folder) / "desk.db", BUSY_S), tables)

    def _prepare(self) -> None:
        tables = self._tables
        with self.reading() as connection:
            missing = tables.keys() - connection.table_names()
        if not missing:
            return
        with self.writing() as connection:
            connection.lock_schema()
            for name in tables.keys() - connection.table_names():
                connection.define(tables[name])


def _private(folder: Path) -> Path:
    """The folder and its database are for this user only: tokens are made there."""
    file = folder / "desk.db"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileExistsError):
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise StoreError(
            f"the desk's folder {folder} cannot be made: {error.strerror}; set "
            f"XDG_STATE_HOME to another one",
            StoreFault.STORE_NOT_OPENED,
        ) from error
    return folder
