"""A store in a real PostgreSQL: its views, its roles, the lab's results, Grafana's queries."""

import gzip
import json
import re
import sqlite3
from contextlib import closing
from itertools import product

import paths
import pytest
import yaml
from command import ioplan, plan_file
from figures import run
from paths import ROOT
from postgres import needs_postgres, postgres, psql
from sessions import put
from small_lab import small_lab

from ioplan.records import Drive, Verdict
from ioplan.results.store import COLUMNS, Store, push

JOB = "20261122-155027-ru5q"
DRIVE = Drive(serial="S4EV", model="ACME", firmware="1.0", capacity_bytes=10**13)


@pytest.fixture(scope="module")
def server():
    with postgres() as address:
        yield address


def new_database(server, name):
    """An empty database of this name; its address."""
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}"')
        connection.execute(f'CREATE DATABASE "{name}"')
    return server.replace("/postgres?", f"/{name}?")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "lab.db"
    path.write_bytes(gzip.decompress(paths.LAB_STORE.read_bytes()))
    Store.open(path).close()  # it has layout 5, and gets today's
    return path


@pytest.fixture
def shared(server, file):
    """A database with what the file has."""
    import psycopg

    address = new_database(server, "views")
    Store.at(address).close()
    with psycopg.connect(address) as there, closing(sqlite3.connect(file)) as here:
        there.execute("SET session_replication_role = replica")
        for table in COLUMNS.keys() - {"meta"}:
            names = ", ".join(COLUMNS[table])
            rows = here.execute(f"SELECT {names} FROM {table}").fetchall()
            marks = ", ".join(["%s"] * len(COLUMNS[table]))
            query = f"INSERT INTO {table} ({names}) VALUES ({marks})"
            there.cursor().executemany(query, rows)
    return address


VIEWS = {
    **{"v_session": "session", "v_run": "session, seq", "v_verdict": "session, seq"},
    **{"v_drive": "drive", "v_tag": "session, tag", "v_job": "job"},
}


@needs_postgres
@pytest.mark.long
@pytest.mark.promise("store.views")
def test_each_view_is_the_same_in_both(shared, file):
    import psycopg

    words = {"tags": ("nightly", "lab2"), "note": "a new cable", "drive": DRIVE}
    for place in (shared, file):
        with Store.at(place) as store:
            put(store, run(1), **words)
    with psycopg.connect(shared) as there, closing(sqlite3.connect(file)) as here:
        for view, order in VIEWS.items():
            query = f"SELECT * FROM {view} ORDER BY {order}"
            (ours, mine), (theirs, other) = (
                ([column[0] for column in found.description], [*map(plain, found)])
                for found in (here.execute(query), there.execute(query))
            )
            assert ours == theirs and len(mine) > 0 and mine == other, view


def plain(row):
    """JSON as what it says, and figures to what a time of day is exact to."""

    def one(value):
        if isinstance(value, str) and value[:1] in ("{", "["):
            return json.loads(value)
        return pytest.approx(value, abs=1e-4) if isinstance(value, float) else value

    return [one(value) for value in row]


PLAN = """test "T" {
  run    random 4KiB 100/0 for 200ms
  vary   qd in 1, 2
  expect errors == 0
}
"""


@pytest.fixture
def lab(server, tmp_path, monkeypatch):
    """A lab that names a database of its own, and this host's own store."""
    address = new_database(server, "lab")
    file, home = tmp_path / "lab.toml", tmp_path / "home"
    targets = "".join(f'[targets.{name}]\npath = "/x/{name}"\n' for name in "ab")
    said = f'backend = "sim"\nresults = "{address}"\n{targets}'
    file.write_text(f'{said}[groups]\nall = ["*"]\n')
    monkeypatch.delenv("IOPLAN_STORE", raising=False)
    monkeypatch.setenv("IOPLAN_LAB", str(file))
    monkeypatch.setenv("XDG_DATA_HOME", str(home))
    return address, home / "ioplan/results.db"


@pytest.mark.long
@needs_postgres
def test_the_results_of_the_lab_are_read(lab, tmp_path, monkeypatch):
    """Without being told."""
    (address, own), plan = lab, plan_file(tmp_path, PLAN)
    words = ("--create", "1GiB", "--quiet", "--target")
    assert ioplan("run", plan, *words, "all", "--tag", "nightly").code == 0
    done = ioplan("ls", "--tag", "nightly", "--format", "jsonl")
    assert "note: from postgresql://" in done.err and f"--store {own}" in done.err
    job = str(done.lines[0]["job"])
    first, second = f"{job}-001", f"{job}-002"
    assert sorted(str(one["lab_name"]) for one in done.lines) == ["a", "b"]
    own.rename(tmp_path / "away.db")  # what follows can come from nowhere else
    assert second in ioplan("show", job).out
    assert ioplan("report", job, "-o", tmp_path / "r.html").code == 0
    assert ioplan("compare", first, second).code in (0, 1)
    assert "2 sessions" in ioplan("history").out
    assert ioplan("export", first, "--format", "csv").out.count("nightly") > 1
    (tmp_path / "away.db").rename(own)

    assert ioplan("ls", "--store", own).err == ""
    assert ioplan("run", plan, *words, "a", "--store", own).code == 0
    assert ioplan("tag", first, "good").out == f"{first}: good nightly\n"
    for place in (own, address):
        with Store.to_read(place) as store:
            assert store.session(first).tags == ("good", "nightly")
    monkeypatch.setenv("IOPLAN_STORE", str(own))
    assert ioplan("ls").err == ""


@needs_postgres
def test_what_is_not_there_is_from_here(lab, tmp_path):
    """And a lab that cannot be reached is one clear error."""
    _, own = lab
    id = put(own, run(1))
    done = ioplan("show", id)
    assert done.code == 0 and id in done.out
    assert f"note: not there yet; from this host's {own}" in done.err
    assert "has no session '2027'" in ioplan("show", "2027").err
    file = tmp_path / "lab.toml"
    file.write_text(file.read_text().replace("host=", "host=/nowhere"))
    done = ioplan("ls")
    assert done.code != 0 and done.out == "" and "cannot be reached" in done.err
    assert f"to read this host's own results: --store {own}" in done.err
    assert ioplan("ls", "--store", own).code == 0


RETENTION = ROOT / "examples/lab/retention.sql"
OLD_ID = "20200101-000000-old"
OLD, NEW = "2020-01-01T00:00:00+00:00", "2999-01-01T00:00:00+00:00"


@pytest.mark.long
@needs_postgres
def test_retention_does_what_it_says(tmp_path):
    """Of sessions without a lab, and of a lab's jobs as well."""
    ended = {OLD_ID: OLD, "20200101-000000-kept": OLD, "2999-new": NEW}
    with small_lab(tmp_path / "lab", workers=False) as lab, postgres() as alone:
        lab.execute(AT_WORK)
        lab.execute(f"UPDATE lab.drive_job SET status = 'ok', ended_at = '{OLD}'")
        for address in (lab.postgres.local, alone):
            with Store.open(tmp_path / "a.db") as local, Store.at(address) as shared:
                for id, end in ended.items():
                    tags = ("keep",) if "kept" in id else ()
                    if id not in local.ids():
                        put(local, run(1), id=id, tags=tags)
                        local.finish(id, "ok", end)
                list(push(local, shared))
            psql(address, RETENTION, "-v", "days=730")
            with Store.at(address) as shared:
                assert {one.id for one in shared.sessions()} == {*ended} - {OLD_ID}
                assert [shared.count(one.id) for one in shared.sessions()] == [1, 1]
        for table in ("lab.job", "lab.drive_job", "queue.procrastinate_jobs"):
            assert lab.value(f"SELECT count(*) FROM {table}") == 0


BOARD = json.loads((paths.ROOT / "examples/lab/grafana/ioplan.json").read_text())
PANELS = [one for one in BOARD["panels"] if one["type"] != "row"]
LANES_JOB = "20261121-054512-k3f9"
LAB_DRIVE = Drive(serial="S4EV", model="ACME", firmware="1.0", lab_name="gen5-1")


def targets(kind):
    """The queries of the panels by their titles, for one kind of source."""
    found = {one["title"]: one["targets"][0] for one in PANELS}
    return {t: q for t, q in found.items() if kind in q["datasource"]["type"]}


def as_grafana_asks(query):
    """With Grafana's macros and variables filled in."""
    span = r"\1 BETWEEN '2026-11-01T00:00:00Z' AND '2026-12-01T00:00:00Z'"
    query = re.sub(r"\$__timeFilter\(([^()]*)\)", span, query)
    for name, values in {"drive": "'S4EV','/dev/sim0'", "plan": "'demo'"}.items():
        query = query.replace(f"${{{name}:sqlstring}}", values)
    assert "$" not in query, query
    return query


@pytest.fixture(scope="module")
def filled(server):
    """Two lanes of a job and a session by hand, with runs and verdicts."""
    import psycopg

    more = {"job": LANES_JOB, "person": "ada", "host_name": "h1", "drive": LAB_DRIVE}
    more |= {"tags": ("nightly",), "note": "why"}
    limit = {"expectation": "expect p99 < 1ms", "limit": 1.0, "unit": "ms"}
    missed = Verdict(outcome="failed", actual=2.0, **limit)
    address = new_database(server, "filled")
    with Store.at(address) as store:
        for number in (1, 2):
            id = put(store, run(1), run(2), id=f"{LANES_JOB}-{number:03}", **more)
            store.add_verdicts(id, 1, [missed])
            store.finish(id, "ok", "2026-11-21T06:45:12Z")
        put(store, id="20261121-070000-abcd", ended="failed")
    with psycopg.connect(address) as connection:
        yield connection


FIRST_ROWS = {
    "Sessions with a missed expectation": {"missed": 2},
    "Sessions that failed": {"failed": 1},
    "Drives": {"lab_name": "gen5-1", "sessions": 2},
    "Jobs": {"person": "ada", "lanes": 2, "lanes_ok": 2},
    "Sessions by tag": {"tag": "nightly", "sessions": 2},
    "Missed expectations": {"actual": 2.0, "limit": 1.0},
}


@needs_postgres
def test_panels_show_what_there_is(filled):
    """And choices are those that there are."""
    for title, target in targets("postgresql").items():
        found = filled.execute(as_grafana_asks(target["rawSql"]))
        names = [one.name for one in found.description]
        rows = [dict(zip(names, row, strict=True)) for row in found]
        assert rows and all(row[names[0]] is not None for row in rows), title
        if target["format"] == "time_series":
            assert names == ["time", "metric", "value"] and len(rows) == 4
            assert all(row["value"] > 0 for row in rows)
            assert {row["metric"][:9] for row in rows} == {"S4EV demo"}
        assert FIRST_ROWS.get(title, {}).items() <= rows[0].items(), title
    asked = [one for one in BOARD["templating"]["list"] if one["type"] == "query"]
    choices = {
        one["name"]: [r for (r,) in filled.execute(one["query"])] for one in asked
    }
    assert choices == {"drive": ["/dev/sim0", "S4EV"], "plan": ["demo"]}


EXPORTED = yaml.safe_load((ROOT / "examples/lab/postgres_exporter.yml").read_text())
AT_WORK = """INSERT INTO lab.host VALUES ('h9', '', now());
INSERT INTO lab.drive (host, name) VALUES ('h9', 'd1');
INSERT INTO lab.job VALUES ('20261128-100000-aaaa', 'ada', 'T', now(), 0, 1, 'plan/p', '{}', '{}', false);
INSERT INTO lab.drive_job (session, job, host, drives, status, iops, p99_ns, started_at)
  VALUES ('a-1', '20261128-100000-aaaa', 'h9', '{d1}', 'running', 5, 1000, now());
INSERT INTO lab.drive_job (session, job, host, drives, status, runs)
  VALUES ('a-2', '20261128-100000-aaaa', 'h9', '{d1}', 'ok', 3);
INSERT INTO lab.drive_job (session, job, host, drives)
  VALUES ('a-3', '20261128-100000-aaaa', 'h9', '{d1}');
SELECT lab.enqueue('a-3'); CREATE ROLE exporter LOGIN IN ROLE lab_read"""
AT_WORK_ROWS = {
    "ioplan_drive_job": {"host": "h9", "iops": 5.0, "p99_seconds": 1e-6},
    "ioplan_queue": {"host": "h9", "length": 1},
    "ioplan_drives": {"state": "busy", "count": 1},
    "ioplan_undelivered": {"host": "h9", "runs": 3},
    "ioplan_host": {"host": "h1", "silent_seconds": 1e9},
}


@needs_postgres
def test_prometheus_gets_what_runs_now(tmp_path):
    import psycopg
    from psycopg.rows import dict_row

    with small_lab(tmp_path / "lab", workers=False) as lab:
        lab.execute(AT_WORK)
        with psycopg.connect(lab.of("exporter"), row_factory=dict_row) as reader:
            for name, entry in EXPORTED.items():
                row = reader.execute(entry["query"]).fetchall()[0]
                assert set(row) == {key for one in entry["metrics"] for key in one}
                assert AT_WORK_ROWS[name].items() <= row.items(), name


def test_live_panels_ask_for_metrics_that_are_exported():
    known = {
        f"{name}_{key}"
        for name, entry in EXPORTED.items()
        for one in entry["metrics"]
        for key in one
    }
    for title, target in targets("prometheus").items():
        asked = set(re.findall(r"ioplan_\w+", target["expr"]))
        assert asked and asked <= known, title


def test_panels_do_not_overlap():
    taken = set()
    for one in PANELS:
        at = one["gridPos"]
        columns, rows = (range(at[k], at[k] + at[n]) for k, n in ("xw", "yh"))
        assert taken.isdisjoint(product(columns, rows)), one["title"]
        assert columns.stop <= 24, one["title"]
        taken |= {*product(columns, rows)}
