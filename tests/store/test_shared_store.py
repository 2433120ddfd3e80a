"""A store in a real PostgreSQL: of an older layout, and of roles that may only read."""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import paths
import pytest
from postgres import needs_postgres, postgres
from run_data import record, run, session

from ioplan.records.drive import Drive
from ioplan.store.errors import StoreError
from ioplan.store.layout.tables import ALL
from ioplan.store.overview import SessionFilter, SessionOverview
from ioplan.store.store import Store

OLD_LAB = paths.ROOT / "tests/golden/store/layout_1.db.gz"
JOB = "20261122-155027-ru5q"
DRIVE = Drive(serial="S4EV", model="ACME", firmware="1.0", capacity_bytes=10**13)
READER = """
CREATE ROLE {0} LOGIN;
GRANT USAGE ON SCHEMA public TO {0};
GRANT SELECT ON ALL TABLES IN SCHEMA public TO {0};
ALTER ROLE {0} SET default_transaction_read_only = on;
"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres() as address:
        yield address


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "old.db"
    path.write_bytes(gzip.decompress(OLD_LAB.read_bytes()))
    return path


@pytest.fixture
def old(server: str, file: Path, request: pytest.FixtureRequest) -> str:
    """A database of layout 1, as an earlier ioplan made it, with what the file has."""
    import psycopg

    name = f"t{abs(hash(request.node.name))}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    address = server.replace("/postgres?", f"/{name}?")
    with psycopg.connect(address) as there, closing(sqlite3.connect(file)) as here:
        made = here.execute(
            "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid"
        ).fetchall()
        for table, text in made:
            own = re.sub(r" BLOB\b", " BYTEA", text)
            there.execute(re.sub(r" DOUBLE\b", " DOUBLE PRECISION", own))
            if table in ALL:
                rows = here.execute(f"SELECT * FROM {table}").fetchall()
                marks = ", ".join(["%s"] * len(rows[0])) if rows else ""
                there.cursor().executemany(
                    f"INSERT INTO {table} VALUES ({marks})", rows
                )
    return address


def reader(address: str, name: str) -> str:
    """The address for a role that may only read."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(READER.format(name))
    return address.replace("ioplan@", f"{name}@")


def listed(place: str | Path) -> list[SessionOverview]:
    with Store.to_read(place) as store:
        return store.overview()


@needs_postgres
def test_reading_leaves_the_layout_that_others_know(old: str) -> None:
    with Store.to_read(reader(old, "old_reader")) as store:
        assert store.layout == 1
        assert len(store.overview()) == len(store.sessions()) == 6
        assert len(store.overview(SessionFilter(verdict="failed"))) == 1
        assert len(list(store.records(f"{JOB}-001"))) == 2
        assert store.detail(f"{JOB}-001", 1).histograms
        assert store.session("last").drive is None
    with Store.to_read(old) as store:  # its owner only reads, too
        assert store.layout == 1


@needs_postgres
def test_who_may_not_change_it_is_told_who_can(old: str) -> None:
    said = "has layout 1; .* which this user may not; have their owner"
    with pytest.raises(StoreError, match=said):
        Store.at(reader(old, "writer"))


@needs_postgres
def test_it_is_brought_up_as_a_file_is(old: str, file: Path) -> None:
    """By several at once."""
    threads = [threading.Thread(target=lambda: Store.at(old).close()) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    read_only = reader(old, "new_reader")
    assert listed(read_only) == listed(file)
    with Store.to_read(read_only) as there, Store.to_read(file) as here:
        assert there.layout == here.layout == 2
        assert there.sessions() == here.sessions()


VIEWS = {
    "v_session": "session",
    "v_run": "session, seq",
    "v_verdict": "session, seq",
    "v_drive": "drive",
    "v_tag": "session, tag",
    "v_job": "job",
}


@needs_postgres
def test_each_view_is_the_same_in_both(old: str, file: Path) -> None:
    import psycopg

    for place in (old, file):
        with Store.at(place) as store:
            one = session(tags=("nightly", "lab2"), note="a new cable", drive=DRIVE)
            store.begin(one)
            store.add(record(1), run(1)[1])
    with psycopg.connect(old) as there, closing(sqlite3.connect(file)) as here:
        for view, order in VIEWS.items():
            query = f"SELECT * FROM {view} ORDER BY {order}"
            ours, theirs = here.execute(query), there.execute(query)
            assert names(ours) == names(theirs)
            mine, other = ours.fetchall(), theirs.fetchall()
            assert len(mine) == len(other) > 0
            for one_row, other_row in zip(mine, other, strict=True):
                assert plain(one_row) == plain(other_row), view


def names(cursor: Any) -> list[str]:
    return [column[0] for column in cursor.description]


def plain(row: Sequence[Any]) -> list[Any]:
    """JSON as what it says, and figures to what a time of day is exact to."""
    return [
        json.loads(value)
        if isinstance(value, str) and value[:1] in ("{", "[")
        else pytest.approx(value, abs=1e-4)
        if isinstance(value, float)
        else value
        for value in row
    ]
