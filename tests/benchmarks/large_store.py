"""Stores as a large lab has them: sessions of many runs, and many sessions."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from figures import measurement, record

from ioplan.language import Source, check
from ioplan.records import Session, Verdict
from ioplan.results.measure import Measurement
from ioplan.results.store import COLUMNS, Store
from ioplan.results.store.connection import Connection
from ioplan.results.store.sessions import drive_row, env_row, session_row

KINDS, PAGE = 64, 500
COPY = """
INSERT INTO {table} ({columns}) SELECT {values} FROM {table} AS one JOIN session
ON session.id >= :first AND session.id <= :last WHERE one.session = :base"""


def add_session(store: Store, session: Session, *verdicts: Verdict) -> None:
    """With all runs of its plan, each with its histograms and its series."""
    (test,) = check(Source("plan", session.plan_text)).tests
    names = [axis.names[0] for axis in test.axes]
    values = product(*([value[0].text for value in axis.values] for axis in test.axes))
    store.begin(session)
    for seq, row in enumerate(values, start=1):
        made, cell = kind(seq % KINDS), dict(zip(names, row, strict=True))
        run = record(seq, test=test.title, session=session.id, made=made, cell=cell)
        store.add(run.model_copy(update={"verdicts": verdicts}), made.detail)
    store.finish(session.id, "ok", "2026-11-21T09:00:00Z")


@cache
def kind(seed: int) -> Measurement:
    """So many different results take turns."""
    return measurement(seed)


def add_copies(store: Store, base: str, sessions: Sequence[Session]) -> None:
    """Sessions with the runs and verdicts of another one, which the database copies."""
    for first in range(0, len(sessions), PAGE):
        page = sessions[first : first + PAGE]
        with store.writing() as connection:
            connection.insert_missing("env", *(env_row(each.host) for each in page))
            connection.insert_missing("drive", *drive_rows(page))
            connection.insert("session", *map(session_row, page))
            for table in ("run", "figure", "verdict"):
                copy(connection, table, base, page)


def drive_rows(page: Iterable[Session]) -> Iterator[dict[str, object]]:
    return (drive_row(each.drive) for each in page if each.drive)


def copy(
    connection: Connection, table: str, base: str, page: Sequence[Session]
) -> None:
    """The rows of the base for each of these, under its id."""
    other = {
        "session": "session.id",
        "env": "session.env",
        "plan_digest": "session.plan_digest",
    }
    names = COLUMNS[table]
    values = ", ".join(other.get(name, f"one.{name}") for name in names)
    statement = COPY.format(table=table, columns=", ".join(names), values=values)
    ends = {"base": base, "first": page[0].id, "last": page[-1].id}
    connection.change(statement, ends)
