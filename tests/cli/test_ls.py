"""`ioplan ls`: what it lists, its filters, and the lanes of a job by its id."""

import csv
import gzip
import io
import json
from datetime import UTC, datetime, timedelta

import paths
import pytest
from command import ioplan, succeed
from figures import run
from sessions import session

from ioplan.records import Drive, Verdict
from ioplan.results.store import Store

pytestmark = pytest.mark.usefixtures("store_path")

JOB = "20261122-155027-ru5q"
FAILED = Verdict(
    expectation="iops > 1", outcome="failed", actual=0, limit=1, unit="1/s"
)
PATH = f"/srv/{'long/' * 10}scratch.bin"


@pytest.fixture
def store_path(store_path):
    """A store of a lab, and two sessions with all that can be listed."""
    store_path.write_bytes(gzip.decompress(paths.LAB_STORE.read_bytes()))
    with Store.open(store_path) as store:
        store.begin(
            session(
                "20261130-050000-aaaa",
                started_at="2026-11-30T05:00:00+00:00",
                ended_at="2026-11-30T12:05:00+00:00",
                status="ok",
                plan="A review of what this drive does after a week of writes",
                drive=Drive(serial="S4EVNX0R123456", model="ACME"),
                host_name="alpha",
                tags=("nightly",),
                note="a, b",
            )
        )
        made, detail = run(1)
        update = {"session": "20261130-050000-aaaa", "verdicts": (FAILED,)}
        store.add(made.model_copy(update=update), detail)
        store.begin(
            session(
                "20261130-060000-bbbb",
                started_at="2026-11-30T06:00:00+00:00",
                target=PATH,
                status="interrupted",
            )
        )
    return store_path


def ids(*words):
    done = succeed("ls", *words, "--format", "jsonl")
    return [str(one["id"]) for one in done.lines]


def test_it_has_a_line_for_each_in_80_columns():
    done = ioplan("ls")
    lines = done.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert " ".join(lines[0].split()) == "session plan drive runs verdict status took"
    rows = {line.split()[0]: line for line in lines[1:] if not line.startswith(" ")}
    assert list(rows) == ids()
    assert len(rows) == 8
    week = rows["20261130-050000-aaaa"]
    assert " A review… S4EVNX0R… " in week
    assert week.endswith("1 failed  ok          7 h 05 min")
    assert "…atch.bin " in rows["20261130-060000-bbbb"]
    assert rows["20261130-060000-bbbb"].endswith("interrupted")


@pytest.mark.parametrize(
    "words, found",
    [
        ("--drive fast1", [f"{JOB}-001", "20261122-155026-52c4"]),
        ("--drive s4ev*", ["20261130-050000-aaaa"]),
        (f"--drive {PATH}", ["20261130-060000-bbbb"]),
        ("--host alpha", ["20261130-050000-aaaa"]),
        (f"--job {JOB}", [f"{JOB}-002", f"{JOB}-001"]),
        ("--tag nightly", ["20261130-050000-aaaa"]),
        ("--status interrupted", ["20261130-060000-bbbb"]),
        ("--verdict failed", ["20261130-050000-aaaa", "20261122-155026-52c4"]),
        ("--since 2026-11-30 --limit 1", ["20261130-060000-bbbb"]),
        ("--since 2026-11-30T05:30", ["20261130-060000-bbbb"]),
        ("--plan q", ["20261122-155026-52c4"]),
        ("--plan q --verdict held", []),
    ],
)
def test_filters(words, found):
    assert ids(*words.split()) == found


@pytest.mark.parametrize(
    "words, said",
    [
        ("--drive fast3", "has 'fast3', did you mean 'fast"),
        ("--tag nigtly", "did you mean 'nightly'?"),
        ("--host xyz", "has 'xyz'; there is alpha, host-a"),
        ("--plan q --job 2027", "--job: no session in"),
        ("--verdict hold", "--verdict: there is no 'hold', did you mean 'held'?"),
        ("--status done", "it is one of running, ok, failed, interrupted"),
        ("--since yesterday", "--since takes a day or a time in UTC"),
        ("--limit 0", "--limit is at least 1"),
    ],
)
def test_a_word_that_nothing_has_is_an_error(words, said):
    done = ioplan("ls", *words.split())
    assert (done.code, said in done.err, done.out) == (2, True, "")


def test_a_list_for_programs_has_all_of_it():
    (row,) = csv.DictReader(
        io.StringIO(ioplan("ls", "--tag", "nightly", "--format", "csv").out)
    )
    told = {"serial": "S4EVNX0R123456", "verdict": "failed", "duration_s": "25500.0"}
    told |= {"tags": "nightly", "note": "a, b", "host_name": "alpha", "runs": "1"}
    assert told.items() <= row.items()
    whole = json.loads(ioplan("ls", "--job", JOB, "--format", "json").out)["sessions"]
    assert [one["lab_name"] for one in whole] == ["fast2", "fast1"]


@pytest.mark.parametrize(
    ("age", "shown"), [("2d", True), ("26h", True), ("90min", False)]
)
def test_since_is_also_an_age(age, shown, store_path):
    began = datetime.now(UTC) - timedelta(hours=25)
    with Store.open(store_path) as store:
        store.begin(session("20261201-000000-cccc", started_at=began.isoformat()))
    assert ("20261201-000000-cccc" in ids("--since", age)) is shown


def test_a_job_stands_for_its_lanes(tmp_path):
    for key in (JOB, JOB[:-1]):
        shown = ioplan("show", key)
        assert shown.code == 0 and max(map(len, shown.out.splitlines())) <= 80
        assert [f"{JOB}-00{n}  p     fast{n}" in shown.out for n in (1, 2)] == [
            True
        ] * 2
        assert "SIME7AD5670" in shown.out  # the league
    page = tmp_path / "r.html"
    assert ioplan("report", JOB, "-o", page).code == 0
    assert page.read_text().count(f"{JOB}-002") > 0
    alone = "20261122-155026-c5ds"
    assert "SIMF68C79D8" not in ioplan("compare", alone, JOB).err
    assert ioplan("compare", alone, JOB).code in (0, 1)
    for words in (("export", JOB), ("show", JOB, "--format", "csv")):
        assert f"{JOB} has 2 sessions: show one of them" in ioplan(*words).err
    several = ioplan("show", JOB[:10])
    assert several.code != 0 and "sessions begin with" in several.err
