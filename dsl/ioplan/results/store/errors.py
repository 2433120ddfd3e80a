"""Errors of the store, with texts that say what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import MsgspecError

from ioplan.core.error_kinds import ExplainedError, StoreFault

OTHER_STORE_HINT = "set IOPLAN_STORE to another file"


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


def without_password(place: str) -> str:
    """An address as people may see it."""
    return re.sub(r"(//[^/@:]*):[^/@]*@", r"\1:***@", place)
