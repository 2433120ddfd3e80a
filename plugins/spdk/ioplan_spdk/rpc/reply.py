"""Values out of replies, which may lack them."""

from __future__ import annotations

from math import isfinite
from typing import Any


class BadReply(Exception):
    """A reply, or a text, is not as it should be."""


def number(reply: Any, key: str) -> int | float:
    """A number that is there, finite and not negative. Raises BadReply."""
    value = reply.get(key) if isinstance(reply, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadReply(f"the reply has no number {key!r}")
    if not isfinite(value) or value < 0:
        raise BadReply(f"the reply's {key!r} is {value}")
    return value
