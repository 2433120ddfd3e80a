"""What a person may do at the desk."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """Each may do what those before it may."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    @property
    def meaning(self) -> str:
        """In a few words."""
        return MEANINGS[self]

    def may(self, needed: Role) -> bool:
        """Whether it is enough where another one is needed."""
        order = list(Role)
        return order.index(self) >= order.index(needed)


MEANINGS = {
    Role.VIEWER: "sees everything, changes nothing",
    Role.OPERATOR: "also starts and cancels plans",
    Role.ADMIN: "also signs consent lists, and manages people",
}
