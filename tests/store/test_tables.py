"""The tables on disk, stores of another layout, the schema of records, and the views."""

import gzip
import io
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import jsonschema
import paths
import pytest
from figures import assessed, measurement, record, run
from pydantic import ValidationError
from sessions import put

from ioplan.records import PERCENTILES, Drive, RunRecord, Steady, Verdict, record_schema
from ioplan.results import export
from ioplan.results.store import COLUMNS, VIEWS, Store, StoreError

OLDEST, LAYOUT = 5, 8


@pytest.mark.parametrize("other", [OLDEST - 1, LAYOUT + 1])
@pytest.mark.promise("store.layout")
def test_another_layout_is_refused_and_left_alone(tmp_path, other):
    path = tmp_path / "other.db"
    Store.open(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE meta SET value = ?", (str(other),))
    before = path.read_bytes()
    said = rf"layout {other}, .*layout {LAYOUT} only: use the ioplan"
    for opened in (Store.open, Store.to_read):
        with pytest.raises(StoreError, match=said):
            opened(path)
    assert path.read_bytes() == before


def test_the_columns_are_those_of_the_tables(tmp_path):
    path = tmp_path / "new.db"
    Store.open(path).close()
    for table, columns in COLUMNS.items():
        assert columns == tuple(
            c["name"] for c in rows(path, f"PRAGMA table_info({table})")
        )


@pytest.fixture
def oldest(tmp_path):
    """A store of the oldest layout that is upgraded."""
    path = tmp_path / "old.db"
    path.write_bytes(gzip.decompress(paths.LAB_STORE.read_bytes()))
    assert rows(path, "SELECT value FROM meta") == [{"value": str(OLDEST)}]
    return path


OLD_RUNS = """
    SELECT run.session, run.record, env.facts,
      (SELECT json_group_array(json(v.verdict)) FROM verdict AS v
       WHERE v.session = run.session AND v.seq = run.seq ORDER BY v.position) AS judged
    FROM run JOIN env ON run.env = env.digest ORDER BY run.session, run.seq"""


@pytest.mark.promise("store.layout")
def test_the_oldest_layout_is_upgraded_with_all_that_it_has(oldest):
    """Each run had its record as one JSON, as its own model still reads it."""
    before = [
        RunRecord.model_validate(
            json.loads(row["record"])
            | {"host": json.loads(row["facts"]), "verdicts": json.loads(row["judged"])}
        )
        for row in rows(oldest, OLD_RUNS)
    ]
    fresh = oldest.with_name("new.db")
    Store.open(fresh).close()
    with Store.open(oldest) as store:
        ids = sorted(store.ids())
        assert [one for id in ids for one in store.records(id)] == before
        store.add(*run(9, session=ids[0]))
        assert {one.verdict for one in store.overview()} >= {"held", "failed"}
    made = (
        "SELECT type, name, trim(sql) AS sql FROM sqlite_master WHERE type <> 'table'"
    )
    assert sorted(map(str, rows(oldest, made))) == sorted(map(str, rows(fresh, made)))
    Store.to_read(oldest).close()


UNDECIDED = Verdict(
    expectation="p99 < 1 ms", outcome="undecided", actual=None, limit=1e6, unit="ns"
)


def test_exported_records_are_valid(tmp_path):
    """By a schema with descriptions and no id; figures are finite."""
    schema, steady, out = record_schema(), assessed(1.0, 2.0), io.BytesIO()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["title"] == "ioplan run record" and "$id" not in schema
    described = schema["$defs"]["DirectionResult"]["properties"]["iops"]
    assert described["description"] == "ios / measured time"
    assert set(schema["required"]) == set(RunRecord.model_fields)
    judged = record(2, steady=steady, verdicts=(UNDECIDED,), warnings=("hot",))
    with Store.open(tmp_path / "results.db") as store:
        put(store, run(1), (judged, measurement(2).detail))
        export(store, "last", "jsonl", out)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    validator = jsonschema.Draft202012Validator(schema)
    assert [list(validator.iter_errors(line)) for line in lines] == [[], []]
    assert not validator.is_valid(lines[0] | {"surprise": 1})
    with pytest.raises(ValidationError, match="finite"):
        Steady(**steady.model_dump() | {"mean": float("nan")})


OLDER = Drive(serial="S4EV", model="ACME", firmware="1.0", lab_name="fast1")
NEWER = OLDER.model_copy(update={"firmware": "1.1", "lab_name": "fast2"})


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A store of a lab, with two sessions of one drive that got other firmware."""
    path = tmp_path_factory.mktemp("views") / "results.db"
    path.write_bytes(gzip.decompress(paths.LAB_STORE.read_bytes()))
    with Store.open(path) as store:
        made, later = run(1), {"drive": NEWER, "note": "a new cable"}
        put(store, made, id="20261201-050000-aaaa", drive=OLDER, tags=("b", "a"))
        put(store, made, id="20261202-050000-aaaa", **later)
    return path


@pytest.fixture(scope="module")
def store(path):
    with Store.open(path) as opened:
        yield opened


def rows(path, query):
    """As any program reads them."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(query)]


def test_sessions(path, store):
    found = rows(path, "SELECT * FROM v_session ORDER BY session DESC")
    same = ("plan", "status", "verdict", "runs", "person", "job", "note", "held")
    for row, one in zip(found, store.overview(), strict=True):
        assert (row["session"], row["host"]) == (one.id, one.host_name)
        assert tuple(json.loads(row["tags"])) == one.tags
        assert row["duration_s"] == pytest.approx(one.duration_s, abs=1e-4)
        for name in same:
            assert row[name] == getattr(one, name)
        for name in Drive.model_fields:
            assert row[name] == getattr(one.drive or Drive(), name)


def test_runs(path, store):
    found = rows(path, "SELECT * FROM v_run ORDER BY session, seq")
    records = [one for id in sorted(store.ids()) for one in store.records(id)]
    assert len(records) == 11
    for row, one in zip(found, records, strict=True):
        assert row["test"] == one.asked.test
        assert json.loads(row["cell"]) == one.asked.cell
        for name in ("session", "seq", "run_id", "status", "cause", "started_at"):
            assert row[name] == getattr(one, name)
        assert (row["iops"], row["run_s"]) == (one.total.iops, one.run_s)
        assert (row["ios"], row["errors"]) == (one.total.ios, one.total.errors)
        latency = one.total.latency
        assert latency
        by = {each.percent: each.latency_ns for each in latency.percentiles}
        assert tuple(by) == PERCENTILES
        told = [row[name] for name in ("max_ns", "p50_ns", "p99_ns", "p99_9_ns")]
        assert told == [latency.max_ns, by[50], by[99], by[99.9]]


def test_verdicts(path, store):
    found = rows(path, "SELECT * FROM v_verdict ORDER BY session, seq, expectation")
    verdicts = [
        (one.session, one.seq, v.outcome, v.expectation, v.actual, v.limit, v.unit)
        for id in sorted(one.id for one in store.sessions())
        for one in store.records(id)
        for v in sorted(one.verdicts, key=lambda v: v.expectation)
    ]
    assert [tuple(row.values()) for row in found] == verdicts
    assert {row["outcome"] for row in found} == {"held", "failed"}


def test_a_drive_is_one_row_with_what_is_known_of_it_last(path):
    found = {row["drive"]: row for row in rows(path, "SELECT * FROM v_drive")}
    assert found.keys() == {"S4EV", "SIMA59CD158", "SIME0FF1ACB", "SIME7AD5670"}
    acme, lab = found["S4EV"], found["SIME0FF1ACB"]
    assert (acme["firmware"], acme["lab_name"], acme["sessions"]) == ("1.1", "fast2", 2)
    assert (acme["last_session"], acme["last_plan"]) == ("20261202-050000-aaaa", "demo")
    assert (lab["sessions"], lab["lab_name"], lab["last_status"]) == (2, "fast1", "ok")


def test_figures(path, store):
    """Each direction of all streams; the document says what stands for all."""
    records = [one for id in sorted(store.ids()) for one in store.records(id)]
    query = """SELECT direction, ios, bytes, p99_9_ns, supported_percent FROM v_figure
        WHERE session = '{0.session}' AND seq = {0.seq} AND stream = ''"""
    for one in records:
        wanted = {**one.directions, "total": one.total}
        figures = {row["direction"]: row for row in rows(path, query.format(one))}
        assert figures.keys() == wanted.keys()
        for direction, row in figures.items():
            known = wanted[direction]
            percentiles = known.latency.percentiles if known.latency else ()
            assert (row["ios"], row["bytes"]) == (known.ios, known.bytes)
            by = {each.percent: each.latency_ns for each in percentiles}
            assert row["p99_9_ns"] == by.get(99.9)
            supported = [each.percent for each in percentiles if each.supported]
            assert row["supported_percent"] == max(supported, default=None)


def test_tags_and_jobs(path):
    """No view is left out here."""
    tagged = [[*row.values()] for row in rows(path, "SELECT session, tag FROM v_tag")]
    assert sorted(tagged) == [["20261201-050000-aaaa", tag] for tag in "ab"]
    (job,) = rows(path, "SELECT job, lanes, lanes_ok, lanes_running FROM v_job")
    assert [*job.values()] == ["20261122-155027-ru5q", 2, 2, 0]
    text = Path(__file__).read_text()
    assert [name for name in VIEWS if f"FROM {name}" not in text] == []


def test_histograms_from_before_there_were_phases_are_read(store):
    """Stores of layout 5 are upgraded, and their blobs left as they are."""
    checked = 0
    for id in (one.id for one in store.sessions()):
        for one in store.records(id):
            bins = [h.bins for h in store.detail(id, one.seq).histograms]
            assert sum(sum(some[1::2]) for some in bins) >= one.total.ios
            checked += bool(bins)
    assert checked > 5


@pytest.mark.promise("store.views")
def test_the_document_has_all_columns_and_right_examples(path):
    text = (paths.ROOT / "docs/store.md").read_text()
    lines = re.findall(r"^\| `(v_\w+)` \|[^|]*\|(.*)\|$", text, re.M)
    told = {name: re.findall(r"`(\w+)`", columns) for name, columns in lines}
    with closing(sqlite3.connect(path)) as connection:
        found = {view: connection.execute(f"SELECT * FROM {view}") for view in VIEWS}
        assert told == {v: [c[0] for c in one.description] for v, one in found.items()}
    first, second = re.findall(r"^SELECT.*?;", text, re.M | re.S)
    asked = first.replace("S4EVNX0R123456", "SIME0FF1ACB")
    tests = [row["test"] for row in rows(path, asked)]
    assert tests == ["Too fast", "Read share", "Read share"]
    assert [row["plan"] for row in rows(path, second)] == ["q"]
