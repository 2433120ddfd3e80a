"""The places that every page leads to."""

from __future__ import annotations

from msgspec import Struct

from ioplan_lab.desk.people.role import Role


class Place(Struct, frozen=True):
    """A page of the menu, from which role on it is shown."""

    title: str
    path: str
    role: Role = Role.VIEWER

    def is_here(self, path: str) -> bool:
        """Whether a page is this place, or below it."""
        below = self.path != "/" and path.startswith(f"{self.path}/")
        return path == self.path or below


MENU = (
    Place("Now", "/"),
    Place("Sessions", "/sessions"),
    Place("Drives", "/drives"),
    Place("Queue", "/queue"),
    Place("Reservations", "/reservations"),
    Place("Schedules", "/schedules"),
    Place("Consents", "/consents"),
    Place("Web hooks", "/hooks", Role.ADMIN),
    Place("Start a plan", "/start", Role.OPERATOR),
    Place("People", "/people", Role.ADMIN),
)
