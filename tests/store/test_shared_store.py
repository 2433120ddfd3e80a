"""A store in a real PostgreSQL."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import paths
import pytest
from command import ioplan, plan_file
from figures import record, run
from postgres import needs_postgres, postgres
from sessions import session

from ioplan.records import Drive
from ioplan.results.store import COLUMNS, Store

JOB = "20261122-155027-ru5q"
DRIVE = Drive(serial="S4EV", model="ACME", firmware="1.0", capacity_bytes=10**13)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres() as address:
        yield address


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "lab.db"
    path.write_bytes(gzip.decompress(paths.LAB_STORE.read_bytes()))
    Store.open(path).close()  # it has layout 5, and gets today's
    return path


@pytest.fixture
def shared(server: str, file: Path, request: pytest.FixtureRequest) -> str:
    """A database with what the file has."""
    import psycopg

    name = f"t{abs(hash(request.node.name))}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    address = server.replace("/postgres?", f"/{name}?")
    Store.at(address).close()
    with psycopg.connect(address) as there, closing(sqlite3.connect(file)) as here:
        for table in COLUMNS.keys() - {"meta"}:
            names = COLUMNS[table]
            rows = here.execute(f"SELECT {', '.join(names)} FROM {table}").fetchall()
            marks = ", ".join(["%s"] * len(names))
            there.execute("SET session_replication_role = replica")
            there.cursor().executemany(
                f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", rows
            )
    return address


VIEWS = {
    "v_session": "session",
    "v_run": "session, seq",
    "v_verdict": "session, seq",
    "v_drive": "drive",
    "v_tag": "session, tag",
    "v_job": "job",
}


@needs_postgres
@pytest.mark.long
@pytest.mark.promise("store.views")
def test_each_view_is_the_same_in_both(shared: str, file: Path) -> None:
    import psycopg

    for place in (shared, file):
        with Store.at(place) as store:
            one = session(tags=("nightly", "lab2"), note="a new cable", drive=DRIVE)
            store.begin(one)
            store.add(record(1), run(1)[1])
    with psycopg.connect(shared) as there, closing(sqlite3.connect(file)) as here:
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


PLAN = """test "T" {
  run    random 4KiB 100/0 for 200ms
  vary   qd in 1, 2
  expect errors == 0
}
"""


@pytest.fixture
def lab(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, Path]]:
    """A lab that names a database of its own, and this host's own store."""
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS lab")
        connection.execute("CREATE DATABASE lab")
    address = server.replace("/postgres?", "/lab?")
    file, home = tmp_path / "lab.toml", tmp_path / "home"
    targets = "".join(f'[targets.{name}]\npath = "/x/{name}"\n' for name in "ab")
    said = f'backend = "sim"\nresults = "{address}"\n{targets}'
    file.write_text(f'{said}[groups]\nall = ["*"]\n')
    monkeypatch.delenv("IOPLAN_STORE", raising=False)
    monkeypatch.setenv("IOPLAN_LAB", str(file))
    monkeypatch.setenv("XDG_DATA_HOME", str(home))
    yield address, home / "ioplan/results.db"


@pytest.mark.long
@needs_postgres
def test_the_results_of_the_lab_are_read_without_being_told(
    lab: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, own = lab
    plan = plan_file(tmp_path, PLAN)
    words = ("--target", "all", "--create", "1GiB", "--tag", "nightly", "--quiet")
    assert ioplan("run", plan, *words).code == 0
    done = ioplan("ls", "--tag", "nightly", "--format", "jsonl")
    assert "note: from postgresql://" in done.err and f"--store {own}" in done.err
    job = done.lines[0]["job"]
    assert sorted(str(one["lab_name"]) for one in done.lines) == ["a", "b"]
    own.rename(tmp_path / "away.db")  # what follows can come from nowhere else
    assert f"{job}-002" in ioplan("show", str(job)).out
    assert ioplan("report", str(job), "-o", tmp_path / "r.html").code == 0
    assert ioplan("compare", f"{job}-001", f"{job}-002").code in (0, 1)
    assert "2 sessions" in ioplan("history").out
    assert ioplan("export", f"{job}-001", "--format", "csv").out.count("nightly") > 1
    (tmp_path / "away.db").rename(own)

    away = ("--store", own)
    assert ioplan("ls", *away).err == ""
    later = ioplan("run", plan, "--target", "a", "--create", "1GiB", "--quiet", *away)
    assert later.code == 0
    told = ioplan("tag", f"{job}-001", "good")
    assert told.out == f"{job}-001: good nightly\n"
    for place in (own, address):
        with Store.to_read(place) as store:
            assert store.session(f"{job}-001").tags == ("good", "nightly")

    monkeypatch.setenv("IOPLAN_STORE", str(own))
    assert ioplan("ls").err == ""


@needs_postgres
def test_what_is_not_there_yet_comes_from_this_host(
    lab: tuple[str, Path], tmp_path: Path
) -> None:
    _, own = lab
    with Store.open(own) as store:
        store.begin(session())
        store.add(record(1), run(1)[1])
    done = ioplan("show", session().id)
    assert done.code == 0 and session().id in done.out
    assert f"note: not there yet; from this host's {own}" in done.err
    assert "has no session '2027'" in ioplan("show", "2027").err


@needs_postgres
def test_a_lab_that_cannot_be_reached_is_one_clear_error(
    lab: tuple[str, Path], tmp_path: Path
) -> None:
    _, own = lab
    file = tmp_path / "lab.toml"
    file.write_text(file.read_text().replace("host=", "host=/nowhere"))
    done = ioplan("ls")
    assert done.code != 0 and done.out == ""
    assert "cannot be reached" in done.err
    assert f"to read this host's own results: --store {own}" in done.err
    assert ioplan("ls", "--store", own).code == 0
