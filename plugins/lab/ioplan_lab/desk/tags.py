"""Words that people give to drives, to choose them by: `--on tag:qual`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ioplan_lab.desk.database import DeskDatabase
from ioplan_lab.desk.errors import DeskError

TABLES = {
    "desk_tag": """
CREATE TABLE desk_tag (
  drive VARCHAR NOT NULL,
  tag VARCHAR NOT NULL,
  PRIMARY KEY (drive, tag)
)""",
}
TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,31}")
ADD = "INSERT INTO desk_tag (drive, tag) VALUES (:drive, :tag) ON CONFLICT DO NOTHING"
REMOVE = "DELETE FROM desk_tag WHERE drive = :drive AND tag = :tag"


class DriveTags:
    """By the drives' names in the lab. Every method may raise StoreError."""

    def __init__(self, database: DeskDatabase) -> None:
        self.database = database

    def all(self) -> dict[str, tuple[str, ...]]:
        """The tags of each drive that has some, by name."""
        with self.database.reading() as connection:
            rows = connection.rows(
                "SELECT drive, tag FROM desk_tag ORDER BY drive, tag"
            )
        found: dict[str, tuple[str, ...]] = {}
        for row in rows:
            found[row["drive"]] = (*found.get(row["drive"], ()), row["tag"])
        return found

    def change(
        self, drives: Sequence[str], add: Sequence[str], remove: Sequence[str] = ()
    ) -> None:
        """Give and take tags. Raises DeskError for a word that is none."""
        for word in (*add, *remove):
            if not TAG.fullmatch(word):
                raise DeskError(
                    f"{word!r} is no tag: a tag has letters, digits, '.', '_', '+' and "
                    "'-', at most 32, and begins with a letter or a digit"
                )
        with self.database.writing() as connection:
            for statement, words in ((ADD, add), (REMOVE, remove)):
                rows = [{"drive": one, "tag": tag} for one in drives for tag in words]
                connection.change(statement, *rows)
