"""How much there is of sessions, so that two stores can be compared.

Every statement is about the sessions named, and is answered from the tables' keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ioplan.results.store.connection import Connection

COUNTED = (
    *("run", "run_blob", "run_telemetry", "run_intervals"),
    *("verdict", "event"),
)
CONSTANT_COLUMNS = ("started_at", "backend", "target", "env")
"""What a session never changes."""
RUN_IDENTITY = ("run_id", "status", "env", "iops")
"""Which run it is, and that its record is the same: every digit of the figure."""


class SessionExtent(NamedTuple):
    """How much there is of a session: `counts` are rows by table.

    `constants` are the values of what it never changes.
    """

    constants: tuple[str, ...]
    status: str
    ended_at: str | None
    counts: dict[str, int]

    @property
    def runs(self) -> int:
        """How many it has."""
        return self.counts.get("run", 0)

    def covers(self, other: SessionExtent) -> bool:
        """Whether nothing of the other one is missing in this."""
        return self[:-1] == other[:-1] and all(
            self.counts.get(table, 0) >= count for table, count in other.counts.items()
        )


def extents(connection: Connection, ids: Sequence[str]) -> dict[str, SessionExtent]:
    """The extents of those of these sessions that are there; a few hundred at most."""
    keys = {f"id{at}": id for at, id in enumerate(ids)}
    listed = ", ".join(f":{key}" for key in keys)
    names = ", ".join(("id", "status", "ended_at", *CONSTANT_COLUMNS))
    found = f"SELECT {names} FROM session WHERE id IN ({listed})"
    rows = connection.rows(found, **keys)
    counts: dict[str, dict[str, int]] = {}
    for row in connection.rows(_counts(listed), **keys):
        counts.setdefault(row["session"], {})[row["what"]] = row["number"]
    return {
        row["id"]: SessionExtent(
            tuple(row[name] for name in CONSTANT_COLUMNS),
            row["status"],
            row["ended_at"],
            counts.get(row["id"], {}),
        )
        for row in rows
    }


def _counts(listed: str) -> str:
    return " UNION ALL ".join(
        f"SELECT session, '{table}' AS what, count(*) AS number FROM {table} "
        f"WHERE session IN ({listed}) GROUP BY session"
        for table in COUNTED
    )


def run_identities(connection: Connection, id: str) -> dict[int, tuple[Any, ...]]:
    """The runs of a session by seq, in order."""
    names = ", ".join(RUN_IDENTITY)
    query = f"SELECT seq, {names} FROM run WHERE session = :session ORDER BY seq"
    found = connection.rows(query, session=id)
    return {row["seq"]: tuple(row[name] for name in RUN_IDENTITY) for row in found}
