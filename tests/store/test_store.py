"""The store and its codec: round trips, durability, several writers, errors."""

import gzip
import json
import os
import platform
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from itertools import product
from pathlib import Path

import paths
import pytest
from command import ioplan
from figures import measurement, record, run
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import refused
from sessions import put, session

from ioplan import CommandFault, Session, StoreFault
from ioplan.records import (
    Interval,
    RunDetail,
    StoredHistogram,
    Verdict,
    new_session_id,
)
from ioplan.results.measure import bucket_index
from ioplan.results.store import (
    CodecError,
    SessionFilter,
    Store,
    StoreError,
    decode_detail,
    default_path,
    encode_detail,
    make_private,
    session_lock,
)
from ioplan.workload import DIRECTIONS
from targets import MIB, fill_up, loop_device, needs_root, tell, tmpfs

ID = session().id
MADE = measurement(1)
RESERVE_BYTES = 8 << 20
NOW = "2026-11-21T06:00:00Z"
HELD = Verdict(expectation="iops > 1000", outcome="held", actual=2, limit=1, unit="1/s")
FAILED = HELD.model_copy(update={"outcome": "failed", "actual": 0.5})
number = st.integers(0, 2**63 - 1)
figure = st.floats(allow_nan=False, allow_infinity=False)
by_direction = st.dictionaries(st.sampled_from(DIRECTIONS), number)
buckets = st.integers(0, bucket_index(2**64 - 1, bits=1))  # each layout has these
bins = st.dictionaries(buckets, st.integers(0, 2**48), max_size=40)
histogram = st.builds(
    StoredHistogram,
    stream=st.text(max_size=8),
    direction=st.sampled_from(DIRECTIONS),
    bits=st.integers(1, 12),
    bins=bins.map(lambda counts: tuple(n for p in sorted(counts.items()) for n in p)),
)
latencies = ("mean_ns", "p50_ns", "p99_ns", "p99_9_ns")
interval = st.builds(
    Interval,
    **{"t_s": figure, "length_s": figure, "ios": by_direction, "bytes": by_direction},
    **{"errors": number, "max_ns": number},
    **dict.fromkeys(latencies, st.none() | figure),
)


@settings(max_examples=25)
@given(st.lists(histogram, max_size=4), st.lists(interval, max_size=20))
def test_details_survive_the_codec(histograms, series):
    detail = RunDetail(histograms=tuple(histograms), series=tuple(series))
    assert decode_detail(encode_detail(detail)) == detail
    draw = random.Random(1)
    bins = tuple(n for i in range(2000) for n in (700 + i, draw.randrange(5000)))
    wide = StoredHistogram(stream="main", direction="read", bits=7, bins=bins)
    packed = encode_detail(RunDetail(histograms=(wide,)))
    assert len(packed["histograms"]) < 4600  # a few kilobytes for 2000 bins


@settings(max_examples=25)
@given(st.binary(max_size=60), st.integers(0, 200))
def test_damaged_bytes_are_a_codec_error(noise, cut):
    sound = encode_detail(run(1)[1])
    series = sound["series"]
    for damaged in (noise, b"\x01" + noise, series[: min(cut, len(series) - 1)]):
        with pytest.raises(CodecError):
            decode_detail(sound | {"series": damaged})
    newer = b"\x09" + sound["histograms"][1:]
    with pytest.raises(CodecError, match="layout 9, and this ioplan reads 1"):
        decode_detail(sound | {"histograms": newer})


# ---- store
@pytest.fixture
def path(tmp_path):
    return tmp_path / "data" / "results.db"


@pytest.fixture
def store(path):
    with Store.open(path, busy_s=0.3) as opened:
        opened.begin(session())
        yield opened


def test_what_is_added_comes_back(store, path):
    """In pages of 200; each run has its own host, which is kept once. Adding again changes
    nothing, and another run under the same number is refused."""
    other = {"host": {"name": "host-b"}}
    runs = [
        run(seq, test="odd" if seq % 2 else "even", **other if seq == 7 else {})
        for seq in range(1, 203)
    ]
    assert all(store.add(*one) for one in runs)
    assert not store.add(*runs[0])
    for changed in ({"status": "failed"}, other):
        with pytest.raises(StoreError, match="has another run 1 already"):
            store.add(record(1, test="odd", **changed), RunDetail())
    assert list(store.records(ID)) == [one for one, _ in runs]
    odd = [r.seq for r in store.records(ID, test="odd")]
    assert odd == list(range(1, 203, 2))
    assert list(store.records(ID, test="none")) == []
    assert store.whole_detail(ID, 2) == runs[1][1]
    assert store.count(ID) == 202 and store.session(ID) == session()
    assert rows(path, "select count(*) from env") == [(2,)]
    assert "host-a" not in rows(path, "select extras from run where seq = 1")[0][0]


def test_verdicts_are_joined_in_and_appended(store):
    """One for each expectation: what is judged again, after a resume, is replaced."""
    other = FAILED.model_copy(update={"expectation": "mean < 1ms"})
    store.add(record(1, verdicts=(HELD,)), RunDetail())
    store.add(record(2), RunDetail())
    for added, verdicts in (
        ([other], (HELD, other)),
        ([other, HELD], (HELD, other)),
        ([FAILED], (FAILED, other)),
        ([HELD], (HELD, other)),
    ):
        store.add_verdicts(ID, 1, added)
        assert [r.verdicts for r in store.records(ID)] == [verdicts, ()]
    assert not store.add(record(1, verdicts=(HELD,)), RunDetail())
    with pytest.raises(StoreError, match="has no run 7; it has 2 runs"):
        store.add_verdicts(ID, 7, [HELD])


def test_a_session_is_finished_resumed_and_copied(store):
    store.finish(ID, "interrupted", NOW)
    assert store.session(ID).status == "interrupted"
    store.begin(session())
    assert (store.session(ID).status, store.session(ID).ended_at) == ("running", None)
    store.begin(session(status="ok", ended_at=NOW))
    assert store.sessions() == [session(status="ok", ended_at=NOW)]
    with pytest.raises(StoreError, match="is of another plan"):
        store.begin(session(plan_text="test other"))


def test_words_that_are_given_at_once_are_all_kept(store, path):
    def give(word):
        with Store.open(path, busy_s=20) as own:
            own.session(ID)  # as `ioplan tag` does, for what it says
            own.change_words(ID, [word], note=word)

    with ThreadPoolExecutor() as pool:
        list(pool.map(give, "abcdef"))
    assert store.session(ID).tags == tuple("abcdef")
    before, after = store.change_words(ID, "g", "abc")
    assert (before.tags, after.tags) == (tuple("abcdef"), tuple("defg"))
    assert store.session(ID) == after


def test_sessions_are_found_by_last_id_and_prefix(store, path):
    for day in ("20261122-000000-aaaa", "20261122-000000-abbb"):
        store.begin(session(day, started_at="2026-11-22T00:00:00Z"))
    for key, id in (
        ("last", "20261122-000000-abbb"),
        ("20261121", ID),
        ("20261122-000000-aa", "20261122-000000-aaaa"),
    ):
        assert store.session(key).id == id
    assert len(store.sessions()) == 3
    for key, said in (
        ("20261122", r"2 sessions begin with '20261122'.*more"),
        ("20261121-054512-k3f8", f"did you mean '{ID}'"),
        ("", "no session ''"),
    ):
        with pytest.raises(StoreError, match=said):
            store.session(key)
    empty = Store.open(path.with_name("empty.db"))
    with empty, pytest.raises(StoreError, match="no session yet"):
        empty.session("last")


def test_unknown_sessions_and_runs(store):
    unknown = record(1, session="none"), RunDetail()
    for asks, said in (
        (lambda: store.add(*unknown), "has no session 'none'"),
        (lambda: list(store.records("none")), "has no session 'none'"),
        (lambda: store.finish("none", "ok", NOW), "has no session 'none'"),
        (lambda: store.detail(ID, 1), "has no run 1"),
    ):
        with pytest.raises(StoreError, match=said):
            asks()
    for asks in (
        lambda: store.overview(SessionFilter(limit=1 << 64)),
        lambda: store.detail(ID, 1 << 64),
    ):
        with refused(StoreFault.STORE_DATABASE, "no numbers of more than 64 bits"):
            asks()


def test_the_default_path(monkeypatch):
    """Which is in no home that nobody has."""
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    monkeypatch.delenv("IOPLAN_STORE", raising=False)
    assert default_path() == Path("/data/ioplan/results.db")
    monkeypatch.delenv("XDG_DATA_HOME")
    assert default_path() == Path.home() / ".local/share/ioplan/results.db"
    monkeypatch.setenv("IOPLAN_STORE", "~/own.db")
    assert default_path() == Path.home() / "own.db"
    monkeypatch.delenv("IOPLAN_STORE")
    for name in ("IOPLAN_STORE", "XDG_DATA_HOME"):
        with monkeypatch.context() as patched:
            patched.setenv(name, "~nobody-is-called-so/x")
            said = "'~nobody-is-called-so/x' begins with the home"
            with refused(CommandFault.USAGE, said):
                default_path()
    monkeypatch.setenv("XDG_STATE_HOME", "~nobody-is-called-so/x")
    assert new_session_id()  # by the time alone


@pytest.mark.durable
def test_every_connection_is_durable_and_checks_keys(store):
    expected = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}
    with store.reading() as one, store.reading() as two:
        for connection, (name, value) in product((one, two), expected.items()):
            assert connection.rows(f"PRAGMA {name}") == [{name: value}]


def test_threads_share_a_store(path):
    def add(seq):
        shared.add(*run(seq, MADE))
        shared.add_verdicts(ID, seq, [HELD])
        one_more = {"expectation": f"mean < {seq} ms", "actual": seq}
        shared.add_verdicts(ID, 1, [HELD.model_copy(update=one_more)])

    with Store.open(path) as shared, ThreadPoolExecutor(4) as pool:
        put(shared, run(1, MADE))
        list(pool.map(add, range(2, 60)))
        first, *others = shared.records(ID)
    assert {v.actual for v in first.verdicts} == set(range(2, 60))
    assert all(r.verdicts == (HELD,) for r in others) and len(others) == 58


@pytest.mark.parametrize("other", [0, 7])
@pytest.mark.promise("store.layout")
def test_records_of_another_schema_are_refused(store, path, other):
    store.add(*run(1))
    version = f"replace(extras, '_version\":1', '_version\":{other}')"
    change(path, f"update run set extras = {version}")
    with pytest.raises(StoreError, match=rf"schema {other}, .* reads schema 1 only"):
        list(store.records(ID))


META = "create table meta (name text, value text)"
LAYOUT = "insert into meta values ('layout', '{}')"
PHOTOS = "create table photos (name text)"
FOREIGN = [
    (["create table song (name text)"], "is a database of something else"),
    ([META], "is a database of something else"),
    (
        ["create table meta (k, v)", PHOTOS],
        "of something else .it has a table 'photos'.*set IOPLAN_STORE to another",
    ),
    ([META, LAYOUT.format(6), PHOTOS], "of something else .it has a table 'photos'"),
    ([META, LAYOUT.format(9), PHOTOS], "has layout 9, and this ioplan reads"),
    ([], "other.db is not an SQLite database"),
]


@pytest.mark.parametrize(("statements", "said"), FOREIGN)
def test_what_is_refused_is_left_as_it_was(tmp_path, statements, said):
    """No tables, no WAL, not one byte."""
    path = tmp_path / "other.db"
    if not statements:
        path.write_text("no database, but long enough to have a header " * 40)
    for statement in statements:
        change(path, statement)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=said):
        Store.open(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["other.db"]


DAMAGED = [
    *((f"{name} = x'00ff'", "in it is no text") for name in ("id", "plan", "tags")),
    ("started_at = x'00ff'", "in it is no text"),
    *(
        (f"tags = '{tags}'", "is not as ioplan writes it")
        for tags in ("x", "{}x", "[1]", "[[]]", "[" * 9999)
    ),
]


@pytest.mark.parametrize(("values", "said"), DAMAGED)
def test_a_damaged_session_is_refused(store, path, values, said):
    """SQLite keeps in any column what it is given, and a list would be made of it."""
    change(path, f"update session set {values}")
    for reads in (store.overview, store.sessions, lambda: store.session(ID)):
        with refused(StoreFault.RECORD_DAMAGED, said):
            reads()


def test_reading_leaves_the_mode_and_writing_sets_it(store, path):
    """Also while somebody else reads, which is waited for."""
    store.close()
    change(path, "pragma journal_mode = delete")
    reader = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    with Store.open(path, busy_s=60) as opened, closing(reader):
        assert opened.session("last") == session()
        assert rows(path, "pragma journal_mode") == [("delete",)]
        reader.execute("begin")
        reader.execute("select * from meta").fetchall()
        with ThreadPoolExecutor(1) as pool:
            added = pool.submit(opened.add, *run(1))
            with pytest.raises(TimeoutError):
                added.result(0.1)
            reader.execute("rollback")
            assert added.result()
        assert rows(path, "pragma journal_mode") == [("wal",)]


@pytest.fixture
def ordinary_user():
    """Root may write everywhere, so it becomes nobody for a while."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    yield
    os.seteuid(before)


@pytest.fixture
def locked_file(path):
    """In a folder that every user may enter, which pytest's own is not."""
    put(path)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy = Path(shutil.copy(path, folder))
        copy.chmod(0o444)
        folder.chmod(0o555)  # of the user who runs the tests, too
        yield copy
        folder.chmod(0o755)


def test_what_is_read_only_can_be_read(locked_file, ordinary_user):
    other = session("20261123-other")
    with pytest.raises(StoreError, match="is read-only"):
        Store.open(locked_file).begin(other)
    with Store.to_read(locked_file) as locked:
        assert locked.session("last") == session()
        with pytest.raises(StoreError, match="is read-only: give yourself the right"):
            locked.begin(other)
    assert list(locked_file.parent.iterdir()) == [locked_file]


@pytest.fixture
def oldest_file(locked_file):
    """A store of the oldest layout that is upgraded."""
    locked_file.chmod(0o644)
    locked_file.write_bytes(gzip.decompress(paths.LAB_STORE.read_bytes()))
    locked_file.chmod(0o444)
    return locked_file


def test_who_may_not_write_does_not_upgrade_it(oldest_file, ordinary_user):
    before = oldest_file.read_bytes()
    with pytest.raises(StoreError, match=r"layout 5, .*open it once where it may be"):
        Store.to_read(oldest_file)
    assert oldest_file.read_bytes() == before


@pytest.fixture
def copied_log(locked_file):
    """A store whose log holds what came last."""
    locked_file.parent.chmod(0o755)
    locked_file.with_name("results.db-wal").write_bytes(b"x" * 4096)
    locked_file.parent.chmod(0o555)
    return locked_file


def test_half_a_store_is_not_read(copied_log, ordinary_user):
    with pytest.raises(StoreError, match=r"see that .* you may write|is read-only"):
        Store.to_read(copied_log)


@needs_root
def test_readers_work_on_a_read_only_mount(tmp_path):
    place, page = tmp_path / "50% #1?", tmp_path / "r.html"
    with tmpfs(place):
        with Store.open(place / "results.db") as store:
            for id in (ID, "20261122-000000-aaaa"):
                put(store, run(1, MADE), id=id)
        tell("mount", "-o", "remount,ro", place)
        for words in (
            *(("ls",), ("show",), ("export", "--detail"), ("report", "-o", page)),
            ("compare", "20261121", "20261122"),
        ):
            done = ioplan(*words, "--store", place / "results.db")
            assert (done.code, done.err) == (0, ""), words


@pytest.mark.parametrize("size", [100, RESERVE_BYTES, RESERVE_BYTES + 100])
def test_a_file_of_somebodys_is_no_reserve(path, size):
    """It would be removed when the disk is full."""
    theirs = path.with_name(f"{path.name}-reserve")
    theirs.parent.mkdir()
    theirs.write_bytes(b"x" * size)
    with Store.open(path) as store:
        if size != RESERVE_BYTES:  # that is found out when it is needed
            with refused(StoreFault.STORE_NOT_OPENED, f"{theirs} is in the way"):
                store.begin(session())
        assert store.reserve and not store.reserve.release()
    assert theirs.read_bytes() == b"x" * size
    theirs.write_bytes(bytes(size // 200))  # of a session that was killed
    with Store.open(path) as store:
        store.begin(session())
        assert theirs.stat().st_size == RESERVE_BYTES
        assert store.reserve and store.reserve.release() and not theirs.exists()


def test_a_folder_that_cannot_be_made_or_is_one(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"cannot be made: .*set IOPLAN_STORE"):
        Store.open(tmp_path / "file" / "results.db")
    with refused(StoreFault.STORE_NOT_A_DATABASE, "is not a regular file"):
        Store.open(tmp_path)


@needs_root
def test_a_disk_is_no_store(tmp_path):
    """SQLite would take it for an empty file, as its size in the inode is 0."""
    image = tmp_path / "image"
    image.write_bytes(bytes(MIB))
    with loop_device(image) as device:
        link = tmp_path / "results.db"
        link.symlink_to(device)
        for place in (device, link):
            for opens in (Store.open, Store.to_read):
                with refused(StoreFault.STORE_NOT_A_DATABASE, "is not a regular file"):
                    opens(place)
        assert not list(device.parent.glob(f"{device.name}-*"))
    assert image.read_bytes() == bytes(MIB)


@pytest.mark.parametrize(
    ("pragma", "text"),
    [
        ("max_page_count = 1", "the disk is full.*free some space"),
        ("query_only = ON", "is read-only"),
    ],
)
def test_a_full_disk_and_a_read_only_store(path, pragma, text):
    with Store.open(path) as store:
        store.begin(session())
        with store.reading() as connection:  # the one that is used again
            connection.rows(f"PRAGMA {pragma}")
        with pytest.raises(StoreError, match=text) as caught:
            for seq in range(1, 50):
                store.add(*run(seq, MADE))
        assert str(path) in str(caught.value)


@needs_root
@pytest.mark.machine
@pytest.mark.slow
def test_a_full_disk_can_be_read(tmp_path):
    """SQLite has no room for what its processes share, which one reader needs not."""
    with tmpfs(tmp_path, "16m"):
        path = tmp_path / "store"
        with Store.open(path) as store:
            store.begin(session())
            store.add(*run(1))
        fill_up(tmp_path)
        with Store.to_read(path) as full:
            assert [one.seq for one in full.records(ID)] == [1]
        with pytest.raises(StoreError, match="is full: what was to be stored now"):
            Store.open(path)


def test_a_locked_store(store, path):
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="is locked by another process"):
            store.add(*run(1))
        assert list(store.records(ID)) == []  # reading goes on
        other.execute("ROLLBACK")
        assert store.add(*run(1))


def test_a_damaged_store(path):
    put(path, *(run(seq, MADE) for seq in range(1, 20)))
    damaged = shutil.copy(path, path.with_name("damaged.db"))
    with damaged.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 4096 * 20)
    with pytest.raises(StoreError, match="is damaged: keep a copy"):
        Store.open(damaged)


WRITER = """
import sys
from figures import run
from sessions import session
from ioplan.results.store import Store
path, name, first, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
record, detail = run(1)
with Store.open(path) as store:
    store.begin(session(name))
    print("ready", flush=True)
    for seq in range(first, last):
        store.add(record.model_copy(update={"session": name, "seq": seq}), detail)
        print(seq, flush=True)
"""


def writer(path, first, last):
    found = os.pathsep.join([str(paths.SUPPORT), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), ID, str(first), str(last)],
        env=os.environ | {"PYTHONPATH": found},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.long
def test_kill_9_loses_nothing_that_was_added(path):
    """Each kill may fall between a run's commit and the print of its number."""
    chance, stored, printed = random.Random(5), 0, set[int]()
    for kills in range(1, 6):
        with writer(path, stored + 1, 10**6) as child:
            assert child.stdout and child.stdout.readline() == "ready\n"
            time.sleep(chance.uniform(0.0, 0.15))
            child.kill()
            printed |= {int(line) for line in child.stdout if line.endswith("\n")}
        assert rows(path, "pragma integrity_check") == [("ok",)]
        with Store.open(path) as store:
            found = [r.seq for r in store.records(ID)]
            assert printed <= set(found) and len(found) <= len(printed) + kills
            for seq in found[-3:]:
                assert store.whole_detail(ID, seq) == run(1)[1]
        stored = max(found, default=0)
    assert len(printed) > 8


@pytest.mark.slow
@pytest.mark.long
def test_two_processes_write_to_one_session(path):
    children = [writer(path, 1, 60), writer(path, 30, 90)]
    for child in children:
        assert child.communicate(timeout=30) and not child.returncode
    with Store.open(path) as store:
        assert store.count(ID) == 89


def rows(path, query):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def change(path, statement):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement)


@pytest.mark.parametrize("is_at_work", [True, False])
def test_every_reader_tells_of_a_session_left_behind(path, is_at_work):
    """Its process holds the lock of its folder for as long as it lives."""
    put(path, host_name=platform.node())
    make_private(folder := path.parent / "sessions" / ID)
    with session_lock(folder) if is_at_work else nullcontext():
        status = "running" if is_at_work else "interrupted"
        exported = ioplan("export", "last", "--format", "json", "--store", path).out
        assert json.loads(exported)["session"]["status"] == status
        assert Session(path, ID).status == status
        assert status in ioplan("ls", "--store", path).out
