"""What goes wrong with a store, in words that say what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, IntegrityError

ELSEWHERE = "set IOPLAN_STORE to another file"

# by the first word of SQLite's error names, such as SQLITE_READONLY_DIRECTORY
TEXTS = {
    "FULL": (
        "cannot grow, the disk is full: the last run was not stored, earlier "
        f"ones are; free some space, or {ELSEWHERE}"
    ),
    "READONLY": (
        "is read-only: give yourself the right to write to the file and its "
        f"folder, or {ELSEWHERE}"
    ),
    "NOTADB": f"is not an SQLite database: move the file away, or {ELSEWHERE}",
    "CORRUPT": (
        "is damaged: keep a copy, and save what can be read with "
        "`sqlite3 FILE .recover`"
    ),
    "CANTOPEN": (
        "cannot be opened: see that the folder exists and that you may write "
        f"to it (SQLite keeps two more files there), or {ELSEWHERE}"
    ),
    "BUSY": (
        "is locked by another process: wait until that one has finished, or end it"
    ),
    "IOERR": f"cannot be read or written, the disk reports an error: {ELSEWHERE}",
}
TEXTS["LOCKED"] = TEXTS["BUSY"]
TEXTS["PERM"] = TEXTS["AUTH"] = TEXTS["CANTOPEN"]


class StoreError(Exception):
    """The store cannot do it; the text says what, where, and what to do."""


@contextmanager
def explained(where: str) -> Iterator[None]:
    """Turn the database's errors into StoreError. A key's violation passes."""
    try:
        yield
    except IntegrityError:
        raise
    except DBAPIError as error:
        raise StoreError(f"the store {where} {_text(error.orig)}") from error


def _text(error: BaseException | None) -> str:
    if isinstance(error, sqlite3.Error):
        name = getattr(error, "sqlite_errorname", None) or ""
        kind = name.removeprefix("SQLITE_").split("_")[0]
        if kind in TEXTS:
            return TEXTS[kind]
    return f"reports: {error}"
