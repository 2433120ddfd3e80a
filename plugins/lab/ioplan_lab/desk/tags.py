"""Words that people give to drives, to choose them by: `--on tag:qual`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ioplan_lab.desk.database import DeskDatabase
from ioplan_lab.desk.errors import DeskError, Refused
from ioplan_lab.desk.pairs import Pairs
from ioplan_lab.desk.queue.permissions import PERMISSIONS

TAGS = Pairs("desk_tag", "drive", "tag")
TABLES = TAGS.definition
TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,31}")


class DriveTags:
    """By the drives' names in the lab. Every method may raise StoreError."""

    def __init__(self, database: DeskDatabase) -> None:
        self.database = database

    def all(self) -> dict[str, tuple[str, ...]]:
        """The tags of each drive that has some, by name."""
        with self.database.reading() as connection:
            return TAGS.all(connection)

    def change(
        self,
        drives: Sequence[str],
        add: Sequence[str],
        remove: Sequence[str] = (),
        is_admin: bool = True,
    ) -> None:
        """Give and take tags. Raises DeskError for a word that is none.

        Those that say who may use a drive are an admin's. Raises Refused.
        """
        for word in (*add, *remove):
            check_tag(word)
        with self.database.writing() as connection:
            kept = {*add, *remove} & PERMISSIONS.all(connection).keys()
            if kept and not is_admin:
                raise Refused(
                    f"the tag {min(kept)} says who may use a drive; only an admin "
                    "gives and takes it"
                )
            TAGS.change(connection, drives, add, remove)


def check_tag(word: str) -> None:
    """Raises DeskError."""
    if not TAG.fullmatch(word):
        raise DeskError(
            f"{word!r} is no tag: a tag has letters, digits, '.', '_', '+' and "
            "'-', at most 32, and begins with a letter or a digit"
        )
