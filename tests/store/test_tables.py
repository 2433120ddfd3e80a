"""The tables on disk, and stores of another layout."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ioplan.store.errors import StoreError
from ioplan.store.layout.tables import COLUMNS, LAYOUT
from ioplan.store.store import Store


@pytest.mark.parametrize("other", [LAYOUT - 1, LAYOUT + 1])
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
