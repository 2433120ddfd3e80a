"""`last` is what was started last, however short the time between two starts."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from command import ioplan
from sessions import session

from ioplan.records import new_session_id
from ioplan.results import Bundled, bundle_bytes
from ioplan.results.store import Store
from ioplan_lab import Job, Jobs, lane_folders

INSTANT_NS = 1_795_000_000_123_456_789
HOUR_NS = 3600 * 10**9
MORE_IDS = """
from ioplan.records.session_id import new_session_id
print(*(new_session_id() for _ in range(200)))"""

Clock = Callable[[int], None]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Clock:
    """Stops the clock of ids, and sets it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def stopped(time_ns: int) -> None:
        now = SimpleNamespace(time_ns=lambda: time_ns)
        monkeypatch.setattr("ioplan.records.session_id.time", now)

    return stopped


@pytest.fixture(params=["runs", "stands"])
def ten(clock: Clock, request: pytest.FixtureRequest) -> list[str]:
    """Ids of ten that were started in one second, and in one instant."""
    if request.param == "stands":
        clock(INSTANT_NS)
    begun_s = time.monotonic()
    ids = [new_session_id() for _ in range(10)]
    assert time.monotonic() - begun_s < 1
    return ids


def shuffled(ids: list[str]) -> list[str]:
    return random.Random(7).sample(ids, len(ids))


def listed(column: str) -> list[str]:
    """Of all sessions, in the order of `ioplan ls`."""
    lines = ioplan("ls", "--format", "jsonl").out.splitlines()
    return [Path(json.loads(line)[column]).name for line in lines]


def test_ids_tell_their_time_to_a_microsecond(clock: Clock) -> None:
    clock(INSTANT_NS)
    at = datetime.fromtimestamp(INSTANT_NS // 10**9, UTC)
    first = new_session_id()
    assert first[:16] == f"{at:%Y%m%d-%H%M%S}-" and len(first) == 22
    clock(INSTANT_NS + 2000)
    second = new_session_id()
    assert first[:-2] < second[:-2], "not by what is drawn"


def test_the_last_session_has_the_greatest_id(ten: list[str], tmp_path: Path) -> None:
    path = tmp_path / "results.db"
    with Store.open(path) as store:
        for id in ten:
            store.begin(session(id=id))
            assert store.session("last").id == id
        assert [one.id for one in store.sessions()] == ten[::-1]
        assert [one.id for one in store.overview()] == ten[::-1]


def test_the_last_job_has_the_greatest_id(ten: list[str], tmp_path: Path) -> None:
    jobs = Jobs(tmp_path / "results.db")
    for id in ten:
        jobs.keep_new(Job(id=id, plan="p", where="all", calls=()))
        assert jobs.job("last").id == id
        lane = tmp_path / "lanes" / id / f"{id}-001"
        lane.mkdir(parents=True)
        (lane / "call.json").touch()
    assert jobs.ids() == ten[::-1]
    lanes = [one.path.parent.name for one in lane_folders(tmp_path / "lanes")]
    assert lanes == ten[::-1]


def test_of_a_bundle_the_last_is_what_was_started_last(
    ten: list[str], tmp_path: Path
) -> None:
    sessions = [Bundled(session(id=id, status="ok"), (), ()) for id in shuffled(ten)]
    bundle = tmp_path / "x.ioplan-bundle"
    bundle.write_bytes(bundle_bytes(tuple(sessions), b"report"))
    path = tmp_path / "results.db"
    assert ioplan("unbundle", bundle, "--store", path).code == 0
    with Store.open(path) as store:
        assert store.session("last").id == ten[-1]
        own = new_session_id()
        store.begin(session(id=own))
        assert store.session("last").id == own


@pytest.mark.usefixtures("store_path")
def test_of_imports_the_last_is_what_fio_ended_last(tmp_path: Path) -> None:
    """Not what was imported last; fio tells milliseconds."""
    for at in shuffled([f"{ms:03}" for ms in range(0, 1000, 100)]):
        made = tmp_path / f"r{at}.json"
        made.write_text(json.dumps(fio_results(int(f"1700000000{at}"))))
        assert ioplan("import", made).code in (0, 1)
    assert listed("plan_file") == [f"r{at}00.json" for at in range(9, -1, -1)]
    assert "r900.json" in ioplan("show", "last").out


def fio_results(ended_ms: int) -> dict[str, object]:
    part = {"io_bytes": 4096, "total_ios": 1, "runtime": 1000}
    job = {"jobname": "a", "job options": {"rw": "randread"}, "read": part}
    none = {"write": part | {"io_bytes": 0, "total_ios": 0}}
    return {
        "fio version": "fio-3.36",
        "timestamp": ended_ms // 1000,
        "timestamp_ms": ended_ms,
        "global options": {"runtime": "1"},
        "jobs": [job | none | {"trim": none["write"], "groupid": 0, "error": 0}],
    }


def test_a_clock_that_is_set_back_changes_no_order(clock: Clock) -> None:
    ids = []
    for time_ns in (INSTANT_NS, INSTANT_NS - HOUR_NS, INSTANT_NS - HOUR_NS + 1000):
        clock(time_ns)
        ids.append(new_session_id())
    assert ids == sorted(ids)


def test_a_clock_that_was_years_ahead_does_not_lead_ids_for_ever(clock: Clock) -> None:
    clock(INSTANT_NS + 24 * 365 * HOUR_NS)
    ahead = new_session_id()
    clock(INSTANT_NS)
    assert new_session_id()[:4] == "2026" < ahead[:4]


@pytest.mark.slow
def test_processes_that_start_at_once_differ_and_have_an_order(clock: Clock) -> None:
    """What one process has got is before what any gets later, and none is got twice."""
    words = [sys.executable, "-c", MORE_IDS]
    before = new_session_id()
    started = [subprocess.Popen(words, stdout=subprocess.PIPE) for _ in range(4)]
    found = [one.communicate()[0].decode().split() for one in started]
    every = sorted(id for ids in found for id in ids)
    assert all(ids == sorted(ids) for ids in found)
    assert all(one[:-2] < other[:-2] for one, other in pairwise(every))
    assert len(every) == 800 and before < every[0] and every[-1] < new_session_id()


def test_without_a_place_for_it_the_time_alone_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    first = new_session_id()
    time.sleep(0.001)
    assert first < new_session_id()


@pytest.mark.parametrize("content", [b"", b"what", b"-1", b"9" * 24])
def test_a_damaged_counter_is_left(
    clock: Clock, content: bytes, tmp_path: Path
) -> None:
    clock(INSTANT_NS)
    new_session_id()
    (kept,) = (tmp_path / "state").rglob("last-id")
    kept.write_bytes(content)
    first = new_session_id()
    assert first.startswith("2026") and first < new_session_id()
