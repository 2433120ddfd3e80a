"""A table of pairs of words, such as a drive and a tag that it has."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ioplan.results.store import Connection
from ioplan_lab.desk.table import table


class Pairs(Struct, frozen=True):
    """`key` and `value` are its columns, and together its primary key."""

    table: str
    key: str
    value: str

    @property
    def definition(self) -> dict[str, str]:
        """`CREATE TABLE` by its name."""
        both = f"{self.key} {self.value}"
        return table(self.table, both, both)

    def all(self, connection: Connection) -> dict[str, tuple[str, ...]]:
        """The values of each key that has some, in order. Raises StoreError."""
        found: dict[str, tuple[str, ...]] = {}
        names = f"{self.key}, {self.value}"
        for row in connection.rows(f"SELECT * FROM {self.table} ORDER BY {names}"):
            key = row[self.key]
            found[key] = (*found.get(key, ()), row[self.value])
        return found

    def change(
        self,
        connection: Connection,
        keys: Sequence[str],
        add: Sequence[str],
        remove: Sequence[str],
    ) -> None:
        """Raises StoreError."""
        added = (
            f"INSERT INTO {self.table} ({self.key}, {self.value}) "
            "VALUES (:key, :value) ON CONFLICT DO NOTHING"
        )
        removed = (
            f"DELETE FROM {self.table} "
            f"WHERE {self.key} = :key AND {self.value} = :value"
        )
        for statement, values in ((added, add), (removed, remove)):
            rows = [{"key": key, "value": value} for key in keys for value in values]
            connection.change(statement, *rows)
