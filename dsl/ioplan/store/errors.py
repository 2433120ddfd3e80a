"""Errors of the store, with texts that say what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

from ioplan.core.error_kinds import ExplainedError, StoreFault

OTHER_STORE_HINT = "set IOPLAN_STORE to another file"

FAULTS = {
    "FULL": StoreFault.STORE_FULL,
    "READONLY": StoreFault.STORE_READ_ONLY,
    "NOTADB": StoreFault.STORE_NOT_A_DATABASE,
    "CORRUPT": StoreFault.STORE_DAMAGED,
    "CANTOPEN": StoreFault.STORE_NOT_OPENED,
    "PERM": StoreFault.STORE_NOT_OPENED,
    "AUTH": StoreFault.STORE_NOT_OPENED,
    "BUSY": StoreFault.STORE_LOCKED,
    "LOCKED": StoreFault.STORE_LOCKED,
    "IOERR": StoreFault.STORE_IO,
}
"""By the first word of SQLite's error names, such as SQLITE_READONLY_DIRECTORY."""
FULL = ("FULL", "IOERR_SHMSIZE")
"""SQLite cannot say it better of the file that its processes share."""
TEXTS = {
    StoreFault.STORE_FULL: (
        "cannot grow, the disk is full: the last run was not stored, earlier "
        f"ones are; free some space, or {OTHER_STORE_HINT}"
    ),
    StoreFault.STORE_READ_ONLY: (
        "is read-only: give yourself the right to write to the file and its "
        f"folder, or {OTHER_STORE_HINT}"
    ),
    StoreFault.STORE_NOT_A_DATABASE: (
        f"is not an SQLite database: move the file away, or {OTHER_STORE_HINT}"
    ),
    StoreFault.STORE_DAMAGED: (
        "is damaged: keep a copy, and save what can be read with "
        "`sqlite3 FILE .recover`"
    ),
    StoreFault.STORE_NOT_OPENED: (
        "cannot be opened: see that the folder exists and that you may write "
        f"to it (SQLite keeps two more files there), or {OTHER_STORE_HINT}"
    ),
    StoreFault.STORE_LOCKED: (
        "is locked by another process: wait until that one has finished, or end it"
    ),
    StoreFault.STORE_IO: (
        f"cannot be read or written, the disk reports an error: {OTHER_STORE_HINT}"
    ),
}


class StoreError(ExplainedError):
    """The store cannot do it; the text says what, where, and what to do."""

    kind: str = StoreFault.STORE


class StoreFullError(StoreError):
    """The disk of the store is full."""

    kind = StoreFault.STORE_FULL


class ReserveUsedError(StoreFullError):
    """It is stored, in the last room that there was; what follows will not be."""

    kind = StoreFault.STORE_RESERVE_USED


@contextmanager
def database_errors(where: str) -> Iterator[None]:
    """Turn the database's errors into StoreError. A key's violation passes."""
    try:
        yield
    except IntegrityError:
        raise
    except DBAPIError as error:
        fault = _fault(error)
        text = f"the store {where} {_text(error, fault)}"
        made = StoreFullError if fault is StoreFault.STORE_FULL else StoreError
        raise made(text, fault) from error


def _fault(error: DBAPIError) -> StoreFault:
    name = str(getattr(error.orig, "sqlite_errorname", None) or "")
    word = name.removeprefix("SQLITE_")
    if not word and _is_unreachable(error):
        return StoreFault.STORE_UNREACHABLE
    word = "FULL" if word in FULL else word.split("_")[0]
    return FAULTS.get(word, StoreFault.STORE_DATABASE)


def _is_unreachable(error: DBAPIError) -> bool:
    """A server's own errors have an SQL state; without one it did not answer."""
    return isinstance(error, OperationalError) and not getattr(
        error.orig, "sqlstate", None
    )


def _text(error: DBAPIError, fault: StoreFault) -> str:
    if fault is StoreFault.STORE_UNREACHABLE:
        return _unreachable_text(error)
    return TEXTS.get(fault, f"reports: {error.orig}")


def _unreachable_text(error: DBAPIError) -> str:
    reason = " ".join(str(error.orig).split())
    return (
        f"cannot be reached: {reason}; see that the server runs and lets you in "
        f"(psql with the same address); what is kept on this host stays there"
    )
