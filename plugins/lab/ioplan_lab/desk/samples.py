"""IOPS and p99 of running lanes over time, for charts that grow while a job runs.

A row for each look at a lane: of its host, every two seconds, or of the desk that
started it. Two that look at the same state write one row.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from ioplan.results.store import Connection
from ioplan_lab.cluster.jobs.lane import LaneState
from ioplan_lab.desk.database import DeskDatabase
from ioplan_lab.desk.table import table

TABLES = table(
    "desk_sample",
    "job session at_s:DOUBLE iops:DOUBLE p99_ns:DOUBLE?",
    "job session at_s",
)
KEPT_S = 7 * 86400.0
POINTS = 240
"""So many of a lane are drawn: longer jobs have means of their IOPS, and the highest
p99, over longer times."""
ADD = """
    INSERT INTO desk_sample (job, session, at_s, iops, p99_ns)
    VALUES (:job, :session, :at_s, :iops, :p99_ns) ON CONFLICT DO NOTHING"""
SPAN = """
    SELECT min(at_s) AS first_s, max(at_s) AS last_s FROM desk_sample
    WHERE job = :job"""
READ = """
    SELECT session, min(at_s) AS at_s, avg(iops) AS iops, max(p99_ns) AS p99_ns
    FROM desk_sample WHERE job = :job
    GROUP BY session, CAST((at_s - :first_s) / :step_s AS INTEGER)
    ORDER BY session, min(at_s)"""


class Sample(Struct, frozen=True):
    """Of a lane's last interval; `at_s` is of its host's clock."""

    at_s: float
    iops: float
    p99_ns: float | None


def add_samples(connection: Connection, states: Iterable[LaneState]) -> None:
    """Of the lanes that do I/O."""
    rows = [
        {
            "job": one.job,
            "session": one.session,
            "at_s": one.at_s,
            "iops": one.iops,
            "p99_ns": one.p99_ns,
        }
        for one in states
        if one.status == "running" and one.iops is not None
    ]
    connection.change(ADD, *rows)


def forget_samples(connection: Connection, now_s: float) -> None:
    """Those of long ago."""
    old = {"before": now_s - KEPT_S}
    connection.change("DELETE FROM desk_sample WHERE at_s < :before", old)


class Samples:
    """Every method may raise StoreError."""

    def __init__(self, database: DeskDatabase) -> None:
        self.database = database

    def add(self, states: Iterable[LaneState]) -> None:
        """What the desk that started them has seen itself."""
        with self.database.writing() as connection:
            add_samples(connection, states)

    def of(self, job: str) -> dict[str, list[Sample]]:
        """By session, the oldest first."""
        with self.database.reading() as connection:
            (span,) = connection.rows(SPAN, job=job)
            if span["first_s"] is None:
                return {}
            step_s = max(1.0, (span["last_s"] - span["first_s"]) / POINTS)
            named = {"job": job, "first_s": span["first_s"], "step_s": step_s}
            rows = connection.rows(READ, **named)
        found: dict[str, list[Sample]] = {}
        for row in rows:
            one = Sample(row["at_s"], row["iops"], row["p99_ns"])
            found.setdefault(row["session"], []).append(one)
        return found
