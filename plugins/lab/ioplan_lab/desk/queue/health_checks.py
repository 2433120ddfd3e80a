"""Drives whose health check has failed: out of service by themselves, once for each
failure.

What the SMART log said after a drive's last run, or says to its host since, is judged
as the pages judge it. A person puts the drive back; it stays in service as long as its
log says the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from ioplan.results.store import Row, Store
from ioplan.runner import Lab
from ioplan_lab.desk.database import DeskDatabase, stamp
from ioplan_lab.desk.drives import Health, healths, last_rows
from ioplan_lab.desk.queue.tables import insert, locked
from ioplan_lab.desk.table import table

TABLES = table("desk_health", "drive failure at", "drive")
"""What each drive's last health check found, empty where it was good."""
ENDED = """
    SELECT COUNT(*) AS ended, MAX(ended_at) AS last_at
    FROM session WHERE status <> 'running'"""
KEEP = """
    INSERT INTO desk_health (drive, failure, at) VALUES (:drive, :failure, :at)
    ON CONFLICT (drive) DO UPDATE SET failure = excluded.failure, at = excluded.at"""
OUT = "SELECT drive FROM desk_out_of_service WHERE drive = :drive"


class Checked(Struct, frozen=True):
    """What a drive's log said on a host, and when: UTC, ISO 8601.

    Of a session it is when that began.
    """

    health: Health
    host: str
    at: str


class HealthChecks:
    """The drives of a lab, by the results in `store`."""

    def __init__(
        self, store: Store, database: DeskDatabase, lab: Callable[[], Lab]
    ) -> None:
        self.store, self.database, self._lab = store, database, lab
        self._ended: Row = {}
        self._judged: dict[str, tuple[str, str]] = {}

    def turn(self) -> None:
        """Judge what has ended since the last turn. Raises StoreError, LabError."""
        with self.store.reading() as connection:
            (ended,) = connection.rows(ENDED)
        if ended == self._ended:
            return
        rows = last_rows(self.store, self._lab())
        now = {
            name: (one["last_session"], one["last_status"])
            for name, one in rows.items()
        }
        new = [name for name, one in now.items() if one != self._judged.get(name)]
        told = healths(self.store, (rows[name]["last_session"] for name in new))
        judge(self.database, {name: _checked(rows[name], told) for name in new})
        self._ended, self._judged = ended, now


def _checked(row: Row, told: Mapping[str, Health]) -> Checked:
    return Checked(told[row["last_session"]], row["host"], row["last_at"])


def judge(database: DeskDatabase, found: Mapping[str, Checked]) -> None:
    """Take those out that have failed since they were judged last. Raises StoreError.

    What is out already keeps its reason.
    """
    known = {name: one for name, one in found.items() if one.health.text}
    if not known:
        return
    with database.writing() as connection:
        locked(connection, "drives", waits=True)
        rows = connection.rows("SELECT drive, failure, at FROM desk_health")
        before = {row["drive"]: (row["failure"], row["at"]) for row in rows}
        for name, one in known.items():
            failure, (last, at) = one.health.failure, before.get(name, ("", ""))
            if one.at < at:
                continue
            kept = {"drive": name, "failure": failure, "at": one.at}
            connection.change(KEEP, kept)
            if failure not in ("", last) and not connection.rows(OUT, drive=name):
                insert(connection, "desk_out_of_service", _out(name, one))


def _out(name: str, one: Checked) -> Row:
    who = f"health check on {one.host}" if one.host else "health check"
    row = {"drive": name, "reason": one.health.failure, "person": who}
    return {**row, "at": stamp()}
