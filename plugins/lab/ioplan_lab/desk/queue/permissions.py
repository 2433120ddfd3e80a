"""Projects of people, and who may use drives with a tag.

A permission names a person, or a project by `@` and its name. A tag without any is for
all; of a drive with several tags, each has to permit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ioplan_lab.desk.database import DeskDatabase
from ioplan_lab.desk.errors import DeskError
from ioplan_lab.desk.pairs import Pairs
from ioplan_lab.desk.people.people import NAME

PROJECTS = Pairs("desk_project", "project", "person")
PERMISSIONS = Pairs("desk_permission", "tag", "who")
TABLES = {**PROJECTS.definition, **PERMISSIONS.definition}
PROJECT = "@"
Words = Mapping[str, tuple[str, ...]]


class Permissions(Struct, frozen=True):
    """Who may use what; all by name."""

    tags: Words = {}
    permitted: Words = {}
    projects: Words = {}

    def refused(self, drive: str, person: str) -> str:
        """Why this person may not use a drive; empty for who may."""
        own = {
            person,
            *(f"{PROJECT}{one}" for one in projects_of(self.projects, person)),
        }
        for tag in self.tags.get(drive, ()):
            who = self.permitted.get(tag, ())
            if who and not own & {*who}:
                return f"for {', '.join(who)} only (tag {tag})"
        return ""


def projects_of(projects: Words, person: str) -> list[str]:
    """Those that a person is in."""
    return [name for name, people in projects.items() if person in people]


class Projects:
    """Every method may raise StoreError."""

    def __init__(self, database: DeskDatabase) -> None:
        self.database = database

    def projects(self) -> Words:
        """The people of each."""
        with self.database.reading() as connection:
            return PROJECTS.all(connection)

    def permitted(self) -> Words:
        """Who may use the drives with a tag, of those that are not for all."""
        with self.database.reading() as connection:
            return PERMISSIONS.all(connection)

    def change(self, project: str, add: Sequence[str], remove: Sequence[str]) -> None:
        """Put people in a project, and take them out. Raises DeskError."""
        for name in (project, *add):
            _check(name)
        with self.database.writing() as connection:
            PROJECTS.change(connection, [project], add, remove)

    def permit(self, tag: str, add: Sequence[str], remove: Sequence[str]) -> None:
        """Let people and projects use the drives with a tag. Raises DeskError."""
        for name in add:
            _check(name.removeprefix(PROJECT))
        with self.database.writing() as connection:
            PERMISSIONS.change(connection, [tag], add, remove)


def _check(name: str) -> None:
    if not NAME.fullmatch(name):
        raise DeskError(f"{name!r} is not the name of a person or a project")
