"""The views for other programs say what the records, `show` and `export` say."""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import paths
import pytest
from figures import run
from sessions import put

from ioplan.records import PERCENTILES, Drive, RunRecord
from ioplan.results.store import VIEWS, Store

OLDER = Drive(serial="S4EV", model="ACME", firmware="1.0", lab_name="fast1")
NEWER = OLDER.model_copy(update={"firmware": "1.1", "lab_name": "fast2"})


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of a lab, with two sessions of one drive that got other firmware."""
    path = tmp_path_factory.mktemp("views") / "results.db"
    path.write_bytes(gzip.decompress(paths.LAB_STORE.read_bytes()))
    with Store.open(path) as store:
        made, later = run(1), {"drive": NEWER, "note": "a new cable"}
        put(store, made, id="20261201-050000-aaaa", drive=OLDER, tags=("b", "a"))
        put(store, made, id="20261202-050000-aaaa", **later)
    return path


@pytest.fixture(scope="module")
def store(path: Path) -> Iterator[Store]:
    with Store.open(path) as opened:
        yield opened


def rows(path: Path, query: str) -> list[dict[str, Any]]:
    """As any program reads them."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(query)]


def test_sessions(path: Path, store: Store) -> None:
    found = rows(path, "SELECT * FROM v_session ORDER BY session DESC")
    for row, one in zip(found, store.overview(), strict=True):
        assert (row["session"], row["host"]) == (one.id, one.host_name)
        assert tuple(json.loads(row["tags"])) == one.tags
        assert row["duration_s"] == pytest.approx(one.duration_s, abs=1e-4)
        for name in (
            "plan",
            "status",
            "verdict",
            "runs",
            "person",
            "job",
            "note",
            "held",
        ):
            assert row[name] == getattr(one, name)
        for name in Drive.model_fields:
            assert row[name] == getattr(one.drive or Drive(), name)


def test_runs(path: Path, store: Store) -> None:
    found = rows(path, "SELECT * FROM v_run ORDER BY session, seq")
    ids = sorted(one.id for one in store.sessions())
    records = [one for id in ids for one in store.records(id)]
    assert len(records) == 11
    for row, one in zip(found, records, strict=True):
        assert row["test"] == one.asked.test
        assert json.loads(row["cell"]) == one.asked.cell
        for name in ("session", "seq", "run_id", "status", "cause", "started_at"):
            assert row[name] == getattr(one, name)
        assert (row["iops"], row["run_s"]) == (one.total.iops, one.run_s)
        assert (row["ios"], row["errors"]) == (one.total.ios, one.total.errors)
        assert (row["max_ns"], row["p50_ns"], row["p99_ns"], row["p99_9_ns"]) == (
            latencies_ns(one)
        )


def latencies_ns(one: RunRecord) -> tuple[float, ...]:
    assert one.total.latency
    by = {found.percent: found.latency_ns for found in one.total.latency.percentiles}
    assert tuple(by) == PERCENTILES
    return (one.total.latency.max_ns, by[50], by[99], by[99.9])


def test_verdicts(path: Path, store: Store) -> None:
    found = rows(path, "SELECT * FROM v_verdict ORDER BY session, seq, expectation")
    verdicts = [
        (one.session, one.seq, v.outcome, v.expectation, v.actual, v.limit, v.unit)
        for id in sorted(one.id for one in store.sessions())
        for one in store.records(id)
        for v in sorted(one.verdicts, key=lambda v: v.expectation)
    ]
    assert [tuple(row.values()) for row in found] == verdicts
    assert {row["outcome"] for row in found} == {"held", "failed"}


def test_a_drive_is_one_row_with_what_is_known_of_it_last(path: Path) -> None:
    found = {row["drive"]: row for row in rows(path, "SELECT * FROM v_drive")}
    assert found.keys() == {"S4EV", "SIMA59CD158", "SIME0FF1ACB", "SIME7AD5670"}
    acme, lab = found["S4EV"], found["SIME0FF1ACB"]
    assert (acme["firmware"], acme["lab_name"], acme["sessions"]) == ("1.1", "fast2", 2)
    assert (acme["last_session"], acme["last_plan"]) == ("20261202-050000-aaaa", "demo")
    assert (lab["sessions"], lab["lab_name"], lab["last_status"]) == (2, "fast1", "ok")


def test_tags_and_jobs(path: Path) -> None:
    assert rows(path, "SELECT session, tag FROM v_tag ORDER BY tag") == [
        {"session": "20261201-050000-aaaa", "tag": "a"},
        {"session": "20261201-050000-aaaa", "tag": "b"},
    ]
    (job,) = rows(path, "SELECT job, lanes, lanes_ok, lanes_running FROM v_job")
    assert [*job.values()] == ["20261122-155027-ru5q", 2, 2, 0]


def test_histograms_from_before_there_were_phases_are_read(store: Store) -> None:
    """Stores of layout 5 are upgraded, and their blobs left as they are."""
    checked = 0
    for id in (one.id for one in store.sessions()):
        for one in store.records(id):
            bins = [h.bins for h in store.detail(id, one.seq).histograms]
            assert sum(sum(some[1::2]) for some in bins) >= one.total.ios
            checked += bool(bins)
    assert checked > 5


def test_no_view_is_left_out_here() -> None:
    text = Path(__file__).read_text()
    assert [name for name in VIEWS if f"FROM {name}" not in text] == []


@pytest.mark.promise("store.views")
def test_the_document_has_all_columns(path: Path) -> None:
    text = (paths.ROOT / "docs/store.md").read_text()
    told = {
        name: re.findall(r"`(\w+)`", columns)
        for name, columns in re.findall(r"^\| `(v_\w+)` \|[^|]*\|(.*)\|$", text, re.M)
    }
    with closing(sqlite3.connect(path)) as connection:
        found = {
            name: [
                column[0]
                for column in connection.execute(f"SELECT * FROM {name}").description
            ]
            for name in VIEWS
        }
    assert told == found


def test_the_examples_of_the_document(path: Path) -> None:
    text = (paths.ROOT / "docs/store.md").read_text()
    queries = re.findall(r"^SELECT.*?;", text, re.M | re.S)
    assert len(queries) == 2
    asked = queries[0].replace("S4EVNX0R123456", "SIME0FF1ACB")
    assert [row["test"] for row in rows(path, asked)] == ["Too fast"] + [
        "Read share"
    ] * 2
    assert [row["plan"] for row in rows(path, queries[1])] == ["q"]
