"""Why something is not delivered, and where to, in a few words."""

from __future__ import annotations

import re

from ioplan.core.error_kinds import StoreFault
from ioplan.results.store.errors import StoreError


def reason(error: StoreError) -> str:
    """In a few words, where a server does not answer: "Connection refused"."""
    if error.kind == StoreFault.STORE_UNREACHABLE:
        return str(error).partition(";")[0].rpartition(": ")[2]
    return str(error)


def shown(place: str) -> str:
    """An address without the password in it."""
    return re.sub(r"(//[^/@:]*):[^/@]*@", r"\1:***@", place)
