"""The tables on disk, and stores of another layout."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from figures import record, run
from sessions import session

from ioplan.records import RunRecord
from ioplan.results.store import COLUMNS, VIEWS, Store, StoreError
from ioplan.results.store.database import Database
from ioplan.results.store.layout.tables import BY_RUN_ID, LAYOUT, UPGRADES
from ioplan.results.store.pages import pages_of_runs
from ioplan.results.store.sqlite import SqliteFile


@pytest.mark.parametrize("other", [min(UPGRADES) - 1, LAYOUT + 1])
@pytest.mark.promise("store.layout")
def test_another_layout_is_refused_and_left_alone(tmp_path: Path, other: int) -> None:
    path = tmp_path / "other.db"
    Store.open(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE meta SET value = ?", (str(other),))
        connection.commit()
    before = path.read_bytes()
    for opened in (Store.open, Store.to_read):
        with pytest.raises(
            StoreError, match=rf"layout {other}, .*layout {LAYOUT} only: use the ioplan"
        ):
            opened(path)
    assert path.read_bytes() == before


def test_the_columns_are_those_of_the_tables(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    Store.open(path).close()
    with closing(sqlite3.connect(path)) as connection:
        columns = {
            name: tuple(c[1] for c in connection.execute(f"PRAGMA table_info({name})"))
            for name in COLUMNS
        }
    assert columns == COLUMNS


def older(path: Path) -> list[RunRecord]:
    """A store with two runs as the oldest layout that is upgraded has it."""
    with Store.open(path) as store:
        store.begin(session())
        store.add(*run(1))
        store.add(*run(2))
        runs = list(store.records(session().id))
    with closing(sqlite3.connect(path)) as connection:
        views = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'view'"
        ).fetchall()
        for name, _ in views:
            connection.execute(f"DROP VIEW {name}")
        for table, column in (
            ("run", "place"),
            ("run", "figures"),
            ("session", "unmet"),
        ):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        for _, text in views:
            connection.execute(text.replace("session.unmet", "0"))
        connection.execute("UPDATE meta SET value = ?", (str(min(UPGRADES)),))
        connection.commit()
    return runs


@pytest.mark.promise("store.layout")
def test_the_oldest_layout_is_upgraded_with_all_that_it_has(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    runs = older(path)
    with Store.open(path) as store:
        assert list(store.records(session().id)) == runs
        store.add(*run(3))
        ids = [one.run_id for one in runs] + [record(3).run_id]
        assert store.verdict(session().id) == store.overview()[0].verdict
        (rows,) = pages_of_runs(store, [session().id], ids, whole=False)
    with closing(sqlite3.connect(path)) as connection:
        (index,) = connection.execute(
            "SELECT sql FROM sqlite_master WHERE name = 'run_by_run_id'"
        ).fetchone()
        views = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'view'"
        ).fetchall()
    assert index == BY_RUN_ID
    assert {name: sql.strip() for name, sql in views} == {
        name: sql.strip() for name, sql in VIEWS.items()
    }
    assert [row["place"] is None for row in rows] == [True, True, False]
    assert [row["record"] is None for row in rows] == [False, False, True]
    Store.to_read(path).close()


def test_who_may_not_write_does_not_upgrade_it(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    older(path)
    before = path.read_bytes()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    source = SqliteFile(path, immutable=True)
    with pytest.raises(StoreError, match=r"layout 5, .*open it once where it may be"):
        Database(source)
    assert path.read_bytes()[100:] == before[100:]
