"""What goes wrong with a store, in words that say what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

OTHER_STORE_HINT = "set IOPLAN_STORE to another file"

# by the first word of SQLite's error names, such as SQLITE_READONLY_DIRECTORY
TEXTS = {
    "FULL": (
        "cannot grow, the disk is full: the last run was not stored, earlier "
        f"ones are; free some space, or {OTHER_STORE_HINT}"
    ),
    "READONLY": (
        "is read-only: give yourself the right to write to the file and its "
        f"folder, or {OTHER_STORE_HINT}"
    ),
    "NOTADB": f"is not an SQLite database: move the file away, or {OTHER_STORE_HINT}",
    "CORRUPT": (
        "is damaged: keep a copy, and save what can be read with "
        "`sqlite3 FILE .recover`"
    ),
    "CANTOPEN": (
        "cannot be opened: see that the folder exists and that you may write "
        f"to it (SQLite keeps two more files there), or {OTHER_STORE_HINT}"
    ),
    "BUSY": (
        "is locked by another process: wait until that one has finished, or end it"
    ),
    "IOERR": (
        f"cannot be read or written, the disk reports an error: {OTHER_STORE_HINT}"
    ),
}
FULL = ("FULL", "IOERR_SHMSIZE")
"""SQLite cannot say it better of the file that its processes share."""
TEXTS["LOCKED"] = TEXTS["BUSY"]
TEXTS["PERM"] = TEXTS["AUTH"] = TEXTS["CANTOPEN"]


class StoreError(Exception):
    """The store cannot do it; the text says what, where, and what to do."""


class StoreFullError(StoreError):
    """The disk of the store is full."""


class ReserveUsedError(StoreFullError):
    """It is stored, in the last room that there was; what follows will not be."""


@contextmanager
def database_errors(where: str) -> Iterator[None]:
    """Turn the database's errors into StoreError. A key's violation passes."""
    try:
        yield
    except IntegrityError:
        raise
    except DBAPIError as error:
        kind = _kind(error.orig)
        if not kind and _is_unreachable(error):
            raise StoreError(f"the store {where} {_unreachable_text(error)}") from error
        made = StoreFullError if kind == "FULL" else StoreError
        text = TEXTS.get(kind, f"reports: {error.orig}")
        raise made(f"the store {where} {text}") from error


def _kind(error: BaseException | None) -> str:
    name = getattr(error, "sqlite_errorname", None) or ""
    kind = str(name).removeprefix("SQLITE_")
    return "FULL" if kind in FULL else kind.split("_")[0]


def _is_unreachable(error: DBAPIError) -> bool:
    """A server's own errors have an SQL state; without one it said nothing."""
    return isinstance(error, OperationalError) and not getattr(
        error.orig, "sqlstate", None
    )


def _unreachable_text(error: DBAPIError) -> str:
    reason = " ".join(str(error.orig).split())
    return (
        f"cannot be reached: {reason}; see that the server runs and lets you in "
        f"(psql with the same address); what is kept on this host stays there"
    )
