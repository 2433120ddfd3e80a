"""The tables on disk: as they were since layout 1, so that every store opens."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import paths
import pytest
from run_data import record, run, session

from ioplan.store.store import Store
from ioplan.store.tables import COLUMNS

OLD = paths.ROOT / "tests/golden/store/layout_1.sql"
"""A dump of a store that an earlier ioplan wrote, with one session and one run."""
ABOUT = ("table_info", "foreign_key_list", "index_list")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(OLD.read_text())
    return path


def tables(path: Path) -> dict[str, list[object]]:
    """Columns, keys and indexes of all tables, as SQLite understands them."""
    with closing(sqlite3.connect(path)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type='table'")
        return {
            name: [
                connection.execute(f"PRAGMA {it}({name})").fetchall() for it in ABOUT
            ]
            for (name,) in names.fetchall()
        }


def test_a_new_store_has_the_tables_of_an_old_one(tmp_path: Path, old: Path) -> None:
    new = tmp_path / "new.db"
    Store.open(new).close()
    assert tables(new) == tables(old)


def test_an_old_store_is_read_and_written(old: Path) -> None:
    id = session().id
    with Store.open(old) as store:
        assert [(one.id, one.args) for one in store.sessions()] == [
            (id, {"target": "/dev/sim0", "qd": 4})
        ]
        assert [one.run_id for one in store.records(id)] == ["run-1"]
        assert store.detail(id, 1) == run(1)[1]
        assert [one.text for one in store.events(id)] == ["written"]
        assert store.add(record(2), run(2)[1])
        assert [one.seq for one in store.records(id)] == [1, 2]


def test_the_columns_are_those_of_the_tables(old: Path) -> None:
    columns = {
        name: tuple(c[1] for c in info) for name, (info, *_) in tables(old).items()
    }
    assert columns == COLUMNS
