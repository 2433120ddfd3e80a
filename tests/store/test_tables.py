"""The tables on disk: those of layout 1 become today's, and every store opens."""

from __future__ import annotations

import gzip
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import paths
import pytest
from run_data import record, run, session

from ioplan.records.drive import Drive
from ioplan.store.database import Database
from ioplan.store.errors import StoreError
from ioplan.store.layout import migration
from ioplan.store.layout.tables import COLUMNS, LAYOUT
from ioplan.store.overview import SessionFilter
from ioplan.store.sqlite import SqliteFile
from ioplan.store.store import Store

GOLDEN = paths.ROOT / "tests/golden/store"
OLDEST = GOLDEN / "layout_1.sql"
"""A dump of a store that an earlier ioplan wrote, with one session and one run."""
OLD_LAB = GOLDEN / "layout_1.db.gz"
"""A file of layout 1: of a simulated drive, of a lab's, of a job, of a scratch file, and
one that never ran."""
ABOUT = ("table_xinfo", "foreign_key_list", "index_list")
JOB = "20261122-155027-ru5q"


@pytest.fixture
def oldest(tmp_path: Path) -> Path:
    path = tmp_path / "oldest.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(OLDEST.read_text())
    return path


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "old.db"
    path.write_bytes(gzip.decompress(OLD_LAB.read_bytes()))
    return path


def tables(path: Path) -> dict[str, list[set[Any]]]:
    """Columns, keys and indexes of all tables, as SQLite understands them."""
    with closing(sqlite3.connect(path)) as connection:
        names = connection.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
        )
        return {
            name: [
                {row[1:] for row in connection.execute(f"PRAGMA {it}({name})")}
                for it in ABOUT
            ]
            for (name,) in names.fetchall()
        }


def layout(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        return str(connection.execute("SELECT value FROM meta").fetchone()[0])


def test_an_old_store_gets_the_tables_of_a_new_one(
    tmp_path: Path, old: Path, oldest: Path
) -> None:
    new = tmp_path / "new.db"
    for path in (new, old, oldest):
        Store.open(path).close()
    assert tables(new) == tables(old) == tables(oldest)
    assert [layout(path) for path in (new, old, oldest)] == [str(LAYOUT)] * 3


def test_an_old_store_is_read_and_written(oldest: Path) -> None:
    id = session().id
    with Store.open(oldest) as store:
        assert [one.id for one in store.sessions()] == [id]
        assert [one.run_id for one in store.records(id)] == ["run-1"]
        assert store.detail(id, 1) == run(1)[1]
        assert [one.text for one in store.events(id)] == ["written"]
        assert store.add(record(2), run(2)[1])
        assert [one.seq for one in store.records(id)] == [1, 2]


def test_what_an_old_store_knows_is_filled_in(old: Path) -> None:
    with Store.open(old) as store:
        found = {one.id: one for one in store.overview()}
        assert len(found) == 6
        lane, other = found[f"{JOB}-001"], found[f"{JOB}-002"]
        assert lane.drive == Drive(
            serial="SIME0FF1ACB",
            model="ioplan sim",
            lab_name="fast1",
            capacity_bytes=1 << 30,
        )
        assert (lane.job, lane.host_name, lane.verdict) == (JOB, "host-a", "held")
        assert (other.job, other.drive_name, other.runs) == (JOB, "fast2", 2)
        assert lane.duration_s == pytest.approx(0.056)
        alone = found["20261122-155026-c5ds"]
        assert (alone.job, alone.drive_name) == (None, "SIMA59CD158")
        assert found["20261122-155026-52c4"].verdict == "failed"
        file = found["20261122-155030-gvy2"]
        assert (file.drive, file.drive_name) == (None, "/home/ada/lab/scratch2.bin")
        never = found["20261122-160000-zzzz"]
        assert (never.runs, never.verdict, never.duration_s) == (0, "none", None)
        sessions = {one.id: one for one in store.sessions()}
        assert all(sessions[id].drive == one.drive for id, one in found.items())


def test_a_file_that_cannot_be_written_is_read_as_it_is(old: Path) -> None:
    before = old.read_bytes()
    with Store(SqliteFile(old, immutable=True), migrates=False) as store:
        found = {one.id: one for one in store.overview()}
        assert store.layout == 1
        assert [one.id for one in store.sessions()] == [*found]
        assert found[f"{JOB}-001"].drive is None
        assert found["20261122-155026-52c4"].verdict == "failed"
        assert len(list(store.records(f"{JOB}-001"))) == 2
        assert store.detail(f"{JOB}-001", 1).histograms
        assert not store.overview(SessionFilter(drive="fast1", host="host-a"))
    assert old.read_bytes() == before


def test_a_damaged_row_does_not_stop_it(old: Path) -> None:
    with closing(sqlite3.connect(old)) as connection:
        connection.execute("UPDATE run SET record = '{'")
        connection.execute("UPDATE session SET args = '[1]'")
        connection.commit()
    with Store.open(old) as store:
        assert [one.drive for one in store.overview()] == [None] * 6


class Stopped(Exception):
    pass


def test_a_migration_that_ends_in_the_middle_has_changed_nothing(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(row: Any) -> None:
        raise Stopped

    before = tables(old)
    with monkeypatch.context() as patch:
        patch.setattr(migration, "known_of", stop)
        with pytest.raises(Stopped):
            Store.open(old)
    assert (tables(old), layout(old)) == (before, "1")
    with Store.open(old) as store:
        assert len(store.overview(SessionFilter(job=JOB))) == 2


STOPS = """
import sys
from ioplan.store.layout import migration
from ioplan.store.store import Store
def stop(row):
    print("in the middle", flush=True)
    sys.stdin.read()
migration.known_of = stop
Store.open(sys.argv[1])
"""
OPENS = """
import sys
from ioplan.store.store import Store
Store.open(sys.argv[1]).close()
"""


@pytest.mark.slow
def test_a_migration_is_killed_while_another_waits(old: Path) -> None:
    """The one that waits then does all of it."""
    before = layout(old)
    with process(STOPS, old) as first:
        assert first.stdout and first.stdout.readline() == b"in the middle\n"
        with process(OPENS, old) as second:
            assert layout(old) == before  # readers go on
            first.kill()
            assert second.wait(60) == 0
    assert layout(old) == str(LAYOUT)
    with Store.open(old) as store:
        assert len(store.overview(SessionFilter(job=JOB))) == 2


def process(text: str, path: Path) -> subprocess.Popen[bytes]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", text, str(path)], **pipes)  # type: ignore[call-overload]


def test_many_migrate_at_once(old: Path) -> None:
    found, begin = [], threading.Barrier(4)

    def opened() -> None:
        begin.wait()
        with suppress(StoreError), Store.open(old) as store:
            found.append(len(store.overview(SessionFilter(job=JOB))))

    threads = [threading.Thread(target=opened) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [2, 2, 2, 2]


def test_a_program_of_before_may_go_on_writing(old: Path) -> None:
    """It has the file open, and knows nothing of what was added."""
    id = f"{JOB}-001"
    row = {"session": id, "seq": 1, "position": 7, "verdict": '{"outcome":"failed"}'}
    with Database.open(old) as store, store.writing() as connection:
        names = ("session", "seq", "position", "verdict")
        values = ", ".join(f":{name}" for name in names)
        connection.change(f"INSERT INTO verdict {names!r} VALUES ({values})", row)
    with Store.open(old) as store:
        (found,) = store.overview(SessionFilter(verdict="failed", job=JOB))
    assert found.id == id


def test_the_columns_are_those_of_the_tables(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    Store.open(path).close()
    with closing(sqlite3.connect(path)) as connection:
        columns = {
            name: tuple(c[1] for c in connection.execute(f"PRAGMA table_info({name})"))
            for name in COLUMNS
        }
    assert columns == COLUMNS
