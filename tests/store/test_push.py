"""`ioplan push`, and reading what a lab shares, with a real PostgreSQL."""

import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from command import ioplan, plan_file
from figures import SESSION_ID, measurement, run
from postgres import needs_postgres
from postgres import server as running_server
from sessions import put, session

from ioplan.records import Drive, SessionEvent, Verdict
from ioplan.results.history import Question, history
from ioplan.results.store import Outbox, Store, StoreError, push, send_all
from ioplan.results.store import pushing as push_module

PLAN = """test "T" {
  run    random 4KiB 100/0 for 200ms
  vary   qd in 1, 2, 4
  expect errors == 0
}
"""
MADE = measurement()
NOW = "2026-11-21T06:00:00Z"
HELD = Verdict(expectation="iops > 1000", outcome="held", actual=2, limit=1, unit="1/s")


@pytest.fixture(scope="module")
def server():
    with running_server() as made:
        yield made


@pytest.fixture
def database(server, request):
    """An empty database of the test's own."""
    import psycopg

    name = f"t{abs(hash(request.node.name))}"
    with psycopg.connect(server.address, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return server.address.replace("/postgres?", f"/{name}?")


def contents(store):
    """All that a reader of a store can see of its sessions."""
    return [
        (
            one,
            records,
            store.events(one.id),
            [store.detail(one.id, r.seq) for r in records],
        )
        for one in store.sessions()
        for records in [list(store.records(one.id))]
    ]


def filled(path, runs, id=SESSION_ID):
    """A store with one session that goes on."""
    store = Store.open(path)
    put(store, *(run(seq, MADE) for seq in range(1, runs + 1)), id=id)
    return store


def tables_walked(file, statement):
    """What SQLite reads from end to end for it."""
    with sqlite3.connect(file) as plain:
        steps = [row[3] for row in plain.execute(f"EXPLAIN QUERY PLAN {statement}")]
    return [step for step in steps if step.startswith("SCAN")]


@pytest.fixture
def both(tmp_path, database):
    """A store with a session of three runs, and an empty one that a lab shares."""
    with filled(tmp_path / "a.db", 3) as local, Store.at(database) as shared:
        yield local, shared


@pytest.mark.long
@needs_postgres
@pytest.mark.promise("labs.push")
def test_what_is_pushed_is_what_was_there(tmp_path, database):
    with filled(tmp_path / "a.db", 60) as local, Store.at(database) as shared:
        local.add_event(session().id, SessionEvent(at=NOW, kind="state", text="a \0 b"))
        assert [one.runs for one in push(local, shared)] == [60]
        before, there = contents(local), contents(shared)
        assert "\\x00" in str(before)
        assert str(there) == str(before).replace("\\x00", "\ufffd")
        assert list(push(local, shared)) == []


@needs_postgres
@pytest.mark.long
def test_a_session_is_complete_with_its_runs(both, monkeypatch):
    """Not before, as where the database's disk is full once the session's row is there."""
    local, shared = both
    local.finish(session().id, "ok", NOW)

    def no_room(*stores):
        raise StoreError("the store reports: no room")

    with monkeypatch.context() as broken:
        broken.setattr(push_module, "_push_runs", no_room)
        with pytest.raises(StoreError, match="no room"):
            list(push(local, shared))
    (seen,) = shared.overview()
    assert (seen.status, seen.runs, seen.ended_at) == ("running", 0, None)
    assert [one.runs for one in push(local, shared)] == [3]
    (seen,) = shared.overview()
    assert (seen.status, seen.runs, seen.ended_at) == ("ok", 3, NOW)


@needs_postgres
def test_what_comes_later_is_sent_later(both, tmp_path):
    """But not to another session of that id; a history is the same in both."""
    local, shared = both
    id, runs = session().id, ["run-1", "run-2"]
    list(push(local, shared))
    local.add(*run(4, MADE))
    local.add_verdicts(id, 2, [HELD])
    local.finish(id, "ok", NOW)
    assert [one.runs for one in push(local, shared)] == [1]
    assert contents(shared) == contents(local)
    local.add_verdicts(id, 2, [HELD.model_copy(update={"outcome": "failed"})])
    local.add_event(id, SessionEvent(at=NOW, kind="resumed", text="again"))
    filled(tmp_path / "a.db", 2, "20261120-060000-aaaa").close()
    list(push(local, shared))
    assert contents(shared) == contents(local)
    with Store.open(tmp_path / "b.db") as foreign:
        foreign.begin(session(target="another drive"))
        with pytest.raises(StoreError, match="its target is another one"):
            list(push(foreign, shared))
    assert contents(shared) == contents(local)
    found = history(shared, "demo", runs, Question())
    assert found == history(local, "demo", runs, Question())
    assert [len(one.points) for one in found.series] == [2, 2]


def test_pushing_looks_at_one_only(tmp_path, monkeypatch):
    """No statement on either side walks through a table, however many rows it has."""
    ids = [f"20261121-05000{number}-aaaa" for number in range(3)]
    for id in ids:
        filled(tmp_path / "a.db", 2, id).close()
    heard = []

    class Traced(sqlite3.Connection):
        def __init__(self, *words, **more):
            super().__init__(*words, **more)
            self.set_trace_callback(heard.append)

    local, shared = (Store.open(tmp_path / name) for name in ("a.db", "b.db"))
    with local, shared, monkeypatch.context() as traced:
        for store in (local, shared):
            store.close()  # what is opened from now on is traced
        connect = partial(sqlite3.connect, factory=Traced)
        traced.setattr(sqlite3, "connect", connect)
        assert [one.runs for one in push(local, shared, ids[:1])] == [2]
        said = list(heard)
        assert shared.ids() == ids[:1]
    asked = [one for one in said if one.split()[0] in ("SELECT", "INSERT", "UPDATE")]
    assert len(asked) > 20
    assert not [one for one in asked if tables_walked(tmp_path / "b.db", one)]


@needs_postgres
@pytest.mark.parametrize(
    "made, said",
    [
        ("meta (k text, v text)", "is a database of something else"),
        ("meta AS SELECT 'layout' AS name, '9' AS value", "has layout 9"),
    ],
)
def test_a_foreign_database_gets_no_tables(database, made, said):
    import psycopg

    tables = "SELECT table_name FROM information_schema.tables"
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {made}")
        connection.execute("CREATE TABLE photos (name text)")
        before = set(connection.execute(tables))
        with pytest.raises(StoreError, match=said):
            Store.at(database)
        assert set(connection.execute(tables)) == before


@needs_postgres
def test_many_hosts_push_at_once(tmp_path, database):
    """Into an empty database, and one of the sessions twice."""
    first, second = "20261121-050000-aaaa", "20261121-050001-bbbb"

    def send(number, id):
        path = tmp_path / f"{number}.db"
        with filled(path, 60, id) as local, Store.at(database) as shared:
            list(push(local, shared))

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(send, range(3), (first, second, second)))
    with Store.at(database) as shared:
        assert [shared.count(one) for one in (first, second)] == [60, 60]


MANY = 320
"""Runs, of which 50 are sent at once: far more than arrive before the push is killed."""
PUSHER = """
import sys
from ioplan.results.store.pushing import push
from ioplan.results.store.store import Store
with Store.open(sys.argv[1]) as local, Store.at(sys.argv[2]) as shared:
    list(push(local, shared))
"""


@pytest.mark.long
@needs_postgres
@pytest.mark.promise("labs.push")
def test_a_push_that_is_killed_goes_on(tmp_path, database):
    """Killed twice, each time as soon as some of its runs have arrived."""
    path, id = tmp_path / "a.db", session().id
    with filled(path, MANY) as local, Store.at(database) as shared:
        left = [0]
        for _ in range(2):
            command = [sys.executable, "-c", PUSHER, path, database]
            with subprocess.Popen(command) as pusher:
                while shared.count(id) == left[-1] and pusher.poll() is None:
                    time.sleep(0.001)
                pusher.kill()
            left.append(shared.count(id))
        assert 0 < left[1] < left[2] < MANY, left
        (sent,) = push(local, shared)
        assert sent.runs == MANY - left[2]
        assert contents(shared) == contents(local)


def test_tags_join_those_that_are_there(tmp_path):
    """People tag a session here and there; its drive goes with it."""
    drive = Drive(serial="S4EV", firmware="1.0")
    words = {"tags": ("here",), "note": "first", "person": "ada", "job": "J"}
    made = session(drive=drive, host_name="h1", status="ok", ended_at=NOW, **words)
    with Store.open(tmp_path / "a.db") as local, Store.open(tmp_path / "b.db") as there:
        local.begin(made)
        assert len(list(push(local, there))) == 1
        assert there.sessions() == [made]
        there.change_words(made.id, ["there"], note="second")
        local.change_words(made.id, ["later"], note="")
        local.add_event(made.id, SessionEvent(at=NOW, kind="tagged", text="+later"))
        assert len(list(push(local, there))) == 1
        words = {"tags": ("here", "later", "there"), "note": "second"}
        assert there.sessions() == [made.model_copy(update=words)]


@pytest.mark.long
@needs_postgres
def test_a_killed_server_gets_the_rest(tmp_path, database, server):
    """And no row of what it had committed is sent again."""
    id, path = session().id, tmp_path / "a.db"
    outbox = Outbox(path)
    with filled(path, MANY) as local:
        outbox.add(id, database)
        sender = threading.Thread(target=send_all, args=(path, 60))
        with Store.at(database) as shared:
            sender.start()
            while not shared.count(id):
                time.sleep(0.001)
        server.kill()
        while "Connection" not in outbox.report()[id].error:
            time.sleep(0.01)
        server.start()
        with Store.at(database) as shared:
            before = shared.count(id)
            sender.join()
            assert 0 < before < MANY and outbox.entries() == []
            assert contents(shared) == contents(local)


def lab_file(folder, database, more=""):
    """A lab whose results are shared there, on simulated drives."""
    lab = folder / "lab.toml"
    lab.write_text(f'backend = "sim"\nresults = "{database}"\n{more}')
    return lab


@pytest.mark.long
@needs_postgres
def test_each_drive_job_is_shared(tmp_path, database, store_path):
    targets = "".join(f'[targets.{name}]\npath = "/x/{name}"\n' for name in "ab")
    away = database.replace("host=", "host=/nowhere")
    more = f'delivery_s = 0\n{targets}[groups]\nall = ["*"]\n'
    lab = lab_file(tmp_path, away, more)
    words = ("--lab", lab, "--target", "all")
    done = ioplan("run", plan_file(tmp_path, PLAN), *words, "--create", "1GiB")
    assert done.code == 4, done.err
    assert "0 of 6 runs stored in postgresql://" in done.out
    told = ioplan("lab", "status")
    assert told.code == 4
    assert told.out.count("No such file or directory") == 2
    with Store.open(store_path) as local:
        (job,) = {one.job for one in local.sessions()}
    lab_file(tmp_path, database, more)
    done = ioplan("push", str(job), "--lab", lab)
    assert "2 sessions, 6 runs sent to postgresql://" in done.out
    told = ioplan("lab", "status")
    assert told.code == 0
    assert "6 of 6 runs stored in postgresql://" in told.out
    with Store.at(database) as shared:
        counted = {one.target: shared.count(one.id) for one in shared.sessions()}
    assert counted == {"a": 3, "b": 3}


@needs_postgres
@pytest.mark.long
@pytest.mark.promise("exit_codes.undelivered")
def test_a_run_needs_no_database(tmp_path, database, store_path):
    away = database.replace("host=", "host=/nowhere")
    lab = lab_file(tmp_path, away, "delivery_s = 0\n")
    plan = plan_file(tmp_path, PLAN)
    done = ioplan("run", plan, "--lab", lab, "--create", "1GiB")
    assert done.code == 4
    assert "yet: No such file or directory; to send it: ioplan push" in done.err
    lab_file(tmp_path, database)
    assert "1 sessions, 3 runs sent" in ioplan("push", "--lab", lab).out
    assert Outbox(store_path).entries() == []


@pytest.mark.slow
@needs_postgres
def test_the_next_command_sends(tmp_path, database, store_path):
    filled(store_path, 3).close()
    Outbox(store_path).add(session().id, database)
    assert ioplan("ls").code == 0
    while Outbox(store_path).entries():
        time.sleep(0.02)
    with Store.at(database) as shared:
        assert shared.count(session().id) == 3


def test_where_results_go_must_be_right(tmp_path, store_path, monkeypatch):
    """A run is not kept across a network, and a server needs a library."""
    plan = plan_file(tmp_path, PLAN)
    done = ioplan("run", plan, "--backend", "sim", "--store", "postgresql://db/x")
    assert done.code == 2
    assert "results are kept in a file on the host first" in done.err
    assert "no destination" in ioplan("push").err
    monkeypatch.delitem(sys.modules, "ioplan.results.store.postgres", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)  # type: ignore[arg-type]
    with pytest.raises(StoreError, match=r"need psycopg: .* -m pip install 'ioplan\["):
        Store.at("postgresql://db/x")
