"""Sessions: which is the last, all in few words, and the filters of what is listed."""

import json
import random
import subprocess
import sys
import time
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from command import ioplan
from figures import record
from pydantic import ValidationError
from sessions import session

from ioplan.records import Drive, RunDetail, Verdict, new_session_id
from ioplan.results import Bundled, bundle_bytes
from ioplan.results.store import SessionFilter, Store
from ioplan_lab import DriveJob, JobFolder, drive_jobs_root

INSTANT_NS = 1_795_000_000_123_456_789
HOUR_NS = 3600 * 10**9
MORE_IDS = """
from ioplan.records.session_id import new_session_id
print(*(new_session_id() for _ in range(200)))"""


@pytest.fixture
def clock(monkeypatch, tmp_path):
    """Stops the clock of ids, and sets it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def stopped(time_ns):
        now = SimpleNamespace(time_ns=lambda: time_ns)
        monkeypatch.setattr("ioplan.records.session_id.time", now)

    return stopped


@pytest.fixture(params=["runs", "stands"])
def ten(clock, request):
    """Ids of ten that were started in one second, and in one instant."""
    if request.param == "stands":
        clock(INSTANT_NS)
    begun_s = time.monotonic()
    ids = [new_session_id() for _ in range(10)]
    assert time.monotonic() - begun_s < 1
    return ids


def shuffled(ids):
    return random.Random(7).sample(ids, len(ids))


def test_ids_tell_their_time_to_a_microsecond(clock, tmp_path, monkeypatch):
    """Which alone decides where there is no place for what came last."""
    (tmp_path / "file").write_text("")
    at = datetime.fromtimestamp(INSTANT_NS // 10**9, UTC)
    for state in ("state", "file"):
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / state))
        clock(INSTANT_NS)
        first = new_session_id()
        assert first[:16] == f"{at:%Y%m%d-%H%M%S}-" and len(first) == 22
        clock(INSTANT_NS + 2000)
        assert first[:-2] < new_session_id()[:-2], "not by what is drawn"


def test_the_last_has_the_greatest_id(ten, tmp_path):
    """Of sessions, and of jobs of this host."""
    path = tmp_path / "results.db"
    said = {
        "schema_version": 1,
        "person": "ada",
        "host": "",
        "plan": "",
    }
    said |= {"files": {}, "drives": ("a",), "store": str(path)}
    with Store.open(path) as store:
        for id in ten:
            store.begin(session(id=id))
            assert store.session("last").id == id
            JobFolder.of(
                DriveJob(job=id, session=f"{id}-001", **said), drive_jobs_root(path)
            )
            told = ioplan("lab", "status", "--store", path)
            assert told.out.startswith(f"job {id}:")
        assert [one.id for one in store.sessions()] == ten[::-1]
        assert [one.id for one in store.overview()] == ten[::-1]
    listed = ioplan("lab", "status", "--all", "--json", "--store", path)
    assert [json.loads(row)["job"] for row in listed.out.splitlines()] == ten[::-1]


def test_of_a_bundle_the_last_began_last(ten, tmp_path):
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
def test_of_imports_the_last_is_what_fio_ended_last(tmp_path):
    """Not what was imported last; fio tells milliseconds."""
    for at in shuffled([f"{ms:03}" for ms in range(0, 1000, 100)]):
        made = tmp_path / f"r{at}.json"
        made.write_text(json.dumps(fio_results(int(f"1700000000{at}"))))
        assert ioplan("import", made).code in (0, 1)
    listed = ioplan("ls", "--format", "jsonl").lines
    names = [Path(str(one["plan_file"])).name for one in listed]
    assert names == [f"r{at}00.json" for at in range(9, -1, -1)]
    assert "r900.json" in ioplan("show", "last").out


def fio_results(ended_ms):
    part = {"io_bytes": 4096, "total_ios": 1, "runtime": 1000}
    none = part | {"io_bytes": 0, "total_ios": 0}
    job = {"jobname": "a", "job options": {"rw": "randread"}, "groupid": 0, "error": 0}
    times = {"timestamp": ended_ms // 1000, "timestamp_ms": ended_ms}
    jobs = [job | {"read": part, "write": none, "trim": none}]
    head = {"fio version": "fio-3.36", "global options": {"runtime": "1"}}
    return head | times | {"jobs": jobs}


def test_a_clock_that_is_set_back_changes_no_order(clock):
    """But one that was years ahead does not lead ids for ever."""
    ids = []
    for time_ns in (INSTANT_NS, INSTANT_NS - HOUR_NS, INSTANT_NS - HOUR_NS + 1000):
        clock(time_ns)
        ids.append(new_session_id())
    assert ids == sorted(ids)
    clock(INSTANT_NS + 24 * 365 * HOUR_NS)
    ahead = new_session_id()
    clock(INSTANT_NS)
    assert new_session_id()[:4] == "2026" < ahead[:4]


@pytest.mark.slow
def test_processes_that_start_at_once_differ_and_have_an_order(clock):
    """What one process has got is before what any gets later, and none is got twice."""
    words = [sys.executable, "-c", MORE_IDS]
    before = new_session_id()
    started = [subprocess.Popen(words, stdout=subprocess.PIPE) for _ in range(4)]
    found = [one.communicate()[0].decode().split() for one in started]
    every = sorted(id for ids in found for id in ids)
    assert all(ids == sorted(ids) for ids in found)
    assert all(one[:-2] < other[:-2] for one, other in pairwise(every))
    assert len(every) == 800 and before < every[0] and every[-1] < new_session_id()


@pytest.mark.parametrize("content", [b"", b"what", b"-1", b"9" * 24])
def test_a_damaged_counter_is_none(clock, content, tmp_path):
    clock(INSTANT_NS)
    new_session_id()
    (kept,) = (tmp_path / "state").rglob("last-id")
    kept.write_bytes(content)
    first = new_session_id()
    assert first.startswith("2026") and first < new_session_id()


FAST = Drive(serial="S4EV_1", model="ACME 9", firmware="1.0", lab_name="fast1")
SLOW = Drive(serial="S4EVX2", model="ACME 9", wwid="eui.0011")
HELD = Verdict(expectation="e", outcome="held", actual=2, limit=1, unit="1/s")


def made(number, **more):
    at = f"2026-11-21T05:00:0{number}.000+00:00"
    return session(f"20261121-05000{number}-aaaa", **{"started_at": at, **more})


SESSIONS = (
    made(
        1, drive=FAST, host_name="alpha", job="J1", tags=("nightly", "lab_2"),
        note="new cable", person="ada", status="ok",
        ended_at="2026-11-21T06:00:01.500+00:00",
    ),
    made(2, drive=SLOW, host_name="beta", job="J1", tags=("labx2",), plan="Other one"),
    made(3, target="/srv/a.bin", host_name="beta", status="failed"),
)  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("overview") / "results.db"
    outcomes = (("held", "failed", "undecided"), ("held", "undecided"), ("held",))
    with Store.open(path) as opened:
        for one, verdicts in zip(SESSIONS, outcomes, strict=True):
            opened.begin(one)
            for seq, outcome in enumerate(verdicts, 1):
                judged = HELD.model_copy(update={"outcome": outcome})
                made = record(seq, session=one.id, verdicts=(judged,))
                opened.add(made, RunDetail())
        yield opened


def test_an_overview_says_what_the_session_and_its_records_say(store):
    found = store.overview()
    for one, whole in zip(found, store.sessions(), strict=True):
        same = ("plan", "plan_file", "status", "started_at", "ended_at", "backend")
        same += ("target", "host_name", "person", "job", "drive", "tags", "note")
        for name in ("id", "ioplan", *same):
            assert getattr(one, name) == getattr(whole, name)
        assert one.runs == store.count(one.id)
    assert [one.verdict for one in found] == ["undecided", "undecided", "failed"]
    assert found[-1].duration_s == 3600.5
    assert [one.drive_name for one in found] == ["/srv/a.bin", "S4EVX2", "fast1"]


FILTERS = [
    *(({}, "321"), ({"limit": 2}, "32"), ({"limit": 0}, "")),
    *(({"drive": "FAST1"}, "1"), ({"drive": "s4ev*"}, "21"), ({"drive": "s4ev"}, "")),
    ({"drive": "S4EV_*"}, "1"),  # `_` and `%` stand for themselves
    *(({"drive": "eui.0011"}, "2"), ({"drive": "/srv/a.bin"}, "3")),
    *(({"host": "beta"}, "32"), ({"host": "beta", "status": "failed"}, "3")),
    *(({"plan": "other*"}, "2"), ({"job": "j1"}, "21"), ({"tag": "nightly"}, "1")),
    *(({"tag": ("nightly", "lab_2")}, "1"), ({"tag": ("nightly", "labx2")}, "")),
    *(({"tag": "lab_2"}, "1"), ({"tag": "ab_2"}, ""), ({"tag": "lab*"}, "21")),
    *(({"verdict": "failed"}, "1"), ({"verdict": "undecided"}, "32")),
    *(({"status": "running"}, "2"), ({"since": "2026-11-21T05:00:02"}, "32")),
]


def test_filters(store):
    for wanted, numbers in FILTERS:
        found = [one.id for one in store.overview(SessionFilter(**wanted))]
        assert found == [made(int(n)).id for n in numbers], wanted


def test_it_is_one_query_for_all(store, monkeypatch):
    asked = []
    with store.reading() as connection:
        kind = type(connection)
    rows = kind.rows

    def noted(self, query, **values):
        asked.append(query)
        return rows(self, query, **values)

    monkeypatch.setattr(kind, "rows", noted)
    store.overview(SessionFilter(drive="fast1", tag="nightly", verdict="failed"))
    assert len(asked) == 1


def test_tags_are_a_set_of_words():
    assert made(1, tags=("b", "a", "b")).tags == ("a", "b")
    for tag in ("", "two words", "a,b", 'a"b', "-x", "x" * 65):
        with pytest.raises(ValidationError, match="tags"):
            made(1, tags=(tag,))
