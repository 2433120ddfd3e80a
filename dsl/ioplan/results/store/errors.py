"""Errors of the store, with texts that say what to do."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import MsgspecError

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
        "cannot grow, the disk is full: what was to be stored now is not, and all "
        f"before is; free some space, or {OTHER_STORE_HINT}"
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
    kind = StoreFault.STORE_FULL


class ReserveUsedError(StoreFullError):
    """It is stored, in the last room that there was; what follows will not be."""

    kind = StoreFault.STORE_RESERVE_USED


class KeyViolation(Exception):
    """A key is there already, or what it refers to is not."""


@contextmanager
def validated(what: str) -> Iterator[None]:
    """Stores are passed on, and anything may be in one. Raises StoreError."""
    try:
        yield
    except (ValueError, TypeError, LookupError, MsgspecError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        raise StoreError(
            f"the store's {what} is not as ioplan writes it ({reason}): it is damaged "
            f"or made by another program; use another store",
            StoreFault.RECORD_DAMAGED,
        ) from error


@contextmanager
def sqlite_errors(where: str) -> Iterator[None]:
    """Turn SQLite's errors into StoreError and KeyViolation."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise KeyViolation from error
    except OverflowError as error:
        text = f"the store {where} has no numbers of more than 64 bits: {error}"
        raise StoreError(text, StoreFault.STORE_DATABASE) from error
    except sqlite3.Error as error:
        fault = _fault(error)
        text = f"the store {where} {TEXTS.get(fault, f'reports: {error}')}"
        kind = StoreFullError if fault is StoreFault.STORE_FULL else StoreError
        raise kind(text, fault) from error


def _fault(error: sqlite3.Error) -> StoreFault:
    name = str(getattr(error, "sqlite_errorname", ""))  # the driver's own have none
    word = name.removeprefix("SQLITE_")
    word = "FULL" if word in FULL else word.split("_")[0]
    return FAULTS.get(word, StoreFault.STORE_DATABASE)


def short_reason(error: StoreError) -> str:
    """In a few words, where a server does not answer: "Connection refused"."""
    if error.kind == StoreFault.STORE_UNREACHABLE:
        return str(error).partition(";")[0].rpartition(": ")[2]
    return str(error)


def without_password(place: str) -> str:
    """An address as people may see it."""
    return re.sub(r"(//[^/@:]*):[^/@]*@", r"\1:***@", place)
