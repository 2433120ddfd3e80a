"""Remembers what was made of an immutable object, by its identity.

Planning 100,000 runs asks the same few hundred objects the same questions again
and again; hashing them would take longer than the answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Made = TypeVar("Made")

MOST = 10_000


class ByIdentity(Generic[Made]):
    """Calls `make` once for each combination of arguments that are alive."""

    def __init__(self, make: Callable[..., Made]) -> None:
        self.make = make
        self.known: dict[int | tuple[int, ...], tuple[Any, Made]] = {}

    def __call__(self, one: Any) -> Made:
        """What was made of one object, which is kept alive: its identity is the key."""
        found = self.known.get(id(one))
        return found[1] if found else self._keep(id(one), (one,))

    def of(self, one: Any, other: Any) -> Made:
        """What was made of two objects."""
        found = self.known.get((id(one), id(other)))
        return found[1] if found else self._keep((id(one), id(other)), (one, other))

    def _keep(self, key: int | tuple[int, ...], arguments: tuple[Any, ...]) -> Made:
        if len(self.known) >= MOST:
            self.known.clear()
        made = self.make(*arguments)
        self.known[key] = (arguments, made)
        return made
