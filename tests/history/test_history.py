"""`ioplan history` on stores with many sessions of the same runs."""

import json
import re
import shutil
import sqlite3
from contextlib import closing

import jsonschema
import numpy as np
import pytest
from command import ioplan, plan_file
from figures import assessed, measurement, record, without_io
from msgspec.structs import replace
from paths import ROOT
from sessions import nightly_id, put, put_nights

from ioplan.language import parse_metric
from ioplan.results.history import History, Question, history
from ioplan.results.store import Store

SESSIONS, CELLS, AT = 24, 4, 18
RUNS = [f"run-{cell + 1}" for cell in range(CELLS)]
NEW = {"identity": {"firmware": "1.1"}}
OLD = {"identity": {"firmware": "1.0"}}


def facts(number):
    """A firmware that came with the change, and a governor that changed before."""
    governor = "powersave" if number < 5 else "performance"
    return (NEW if number >= AT else OLD) | {"host": {"governor": governor}}


def factor(number, cell):
    """The last two cells lose 8 % with the new firmware."""
    rng = np.random.default_rng((number, cell))
    return float(np.exp(0.01 * rng.normal())) * (
        0.92 if number >= AT and cell >= 2 else 1.0
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("history") / "results.db"
    with Store.open(path) as store:
        put_nights(store, SESSIONS, CELLS, factor, facts)
    return path


@pytest.fixture
def asked(made, monkeypatch):
    monkeypatch.setenv("IOPLAN_STORE", str(made))
    return lambda *words: ioplan("history", *words)


@pytest.fixture
def found(made):
    with Store.open(made) as store:
        yield history(store, "demo", RUNS, Question())


@pytest.mark.promise("history.step")
def test_a_change_is_called_with_what_changed_beside_it(found):
    assert [one.name for one in found.series] == [
        "all cells",
        *(f"demo qd={2**cell}" for cell in range(CELLS)),
    ]
    assert [len(one.changes) for one in found.series] == [1, 0, 0, 1, 1]
    for one in found.series[3:]:
        (change,) = one.changes
        assert (change.point, change.session) == (AT, nightly_id(AT))
        assert (change.verdict, change.with_it_off) == ("worse", 0)
        assert change.with_it == ("firmware 1.0 -> 1.1",)
        assert change.low < 0.92 < change.high and change.ratio < 0.95
        first, second = one.levels
        assert (first.last, second.first, second.last) == (AT - 1, AT, SESSIONS - 1)
        assert one.points[5].changed == ("governor powersave -> performance",)
    assert found.series[0].changes[0].ratio == pytest.approx(0.92**0.5, rel=0.02)


def test_series_are_parted_and_narrowed(made):
    asked = (
        Question(by=("firmware",)),
        Question(only={"firmware": "1.1"}),
        Question(metrics=(parse_metric("p99"),)),
    )
    with Store.open(made) as store:
        by, only, slow = (history(store, "demo", RUNS, one) for one in asked)
    groups = [one.group for one in by.series if one.test == "all cells"]
    assert groups == [{"firmware": "1.0"}, {"firmware": "1.1"}] and not by.changes
    assert {len(one.points) for one in only.series} == {SESSIONS - AT}
    (change,) = slow.series[-1].changes
    assert change.verdict == "worse" and change.ratio > 1.05  # a latency that rises


def rounds(path):
    """Sessions of a cell in rounds, of which the last three count, and one without I/O."""
    with Store.open(path) as store:
        for night in range(4):
            rates = []
            runs = []
            for number in range(1, 6):
                made = measurement(10 * night + number)
                rates.append(made.total.iops)
                steady = assessed(*rates, window=3, range_percent=1000)
                asked = {"round": number, "cell": {}, "run_id": "r"}
                runs.append(record(number, made, steady=steady, **asked))
            none = without_io(6, status="ok", run_id="none", cell={"qd": "none"})
            put(store, *runs, none, id=nightly_id(night), ended="ok")
    return ["r", "none"]


def changed_copy(path, copy, statement):
    shutil.copy(path, copy)
    with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        connection.execute(statement)
    return copy


@pytest.mark.parametrize("of", ["sweep", "rounds"])
def test_it_is_the_same_of_columns_and_of_records(of, made, tmp_path):
    """Records are read where a metric is of a stream."""
    path, ids = made, RUNS
    if of == "rounds":
        path = tmp_path / "rounds.db"
        ids = rounds(path)
    names = ("iops", "p99", "read.mean", "stddev", "cpu")
    metrics, stream = (
        tuple(map(parse_metric, names)),
        replace(parse_metric("iops"), stream="main"),
    )
    with Store.open(path) as store:
        quick = history(store, "demo", ids, Question(metrics=metrics))
        read = history(store, "demo", ids, Question(metrics=(*metrics, stream)))
    points = [one.points for one in quick.series]
    assert points == [one.points for one in read.series][: len(points)] and points
    assert bool(quick.changes) == (of == "sweep")


@pytest.mark.parametrize(
    "damage",
    [
        *(
            f"UPDATE figure SET {column} = {value}"
            for column in ("iops", "ios", "min_ns")
            for value in ("'x'", "NULL" if column == "min_ns" else "9e999")
        ),
        "DELETE FROM figure WHERE direction = 'total'",
        "UPDATE figure SET percentiles = 'no JSON'",
        *(
            f"UPDATE run SET {column} = '{text}'"
            for column in ("backend", "target", "cell", "steady")
            for text in ("[]", "no JSON")
        ),
    ],
)
def test_damage_is_an_error(damage, made, tmp_path):
    path = changed_copy(made, tmp_path / "damaged.db", damage)
    for words in (["history"], ["compare", nightly_id(0), nightly_id(1)]):
        done = ioplan(*words, "--store", path)
        assert done.code == 2 and done.err.startswith("error: the store's ")


@pytest.mark.parametrize(
    ("damage", "metric"),
    [
        ("UPDATE run SET run_s = 'x'", "iops"),
        ("UPDATE run SET run_s = 9e999", "iops"),
        ("UPDATE run SET cpu_percent = 'x'", "cpu"),
        ("UPDATE run SET backend = '[]'", "iops"),
        ("UPDATE run SET started_at = x''", "iops"),
        ("UPDATE run SET cell = 'no JSON'", "iops"),
        ("UPDATE figure SET ios = 'x'", "iops"),
        ("UPDATE figure SET p99_ns = 9e999", "p99"),
        ("UPDATE figure SET min_ns = NULL", "min"),
        ("UPDATE figure SET percentiles = 'no JSON'", "p99"),
        ("DELETE FROM figure", "iops"),
    ],
)
def test_damage_in_one_of_many_alike_is_an_error(damage, metric, made, tmp_path):
    newest = "WHERE session = (SELECT max(id) FROM session)"
    path = changed_copy(made, tmp_path / "damaged.db", f"{damage} {newest}")
    done = ioplan("history", nightly_id(0), "--metric", metric, "--store", path)
    assert done.code == 2 and done.err.startswith("error: the store"), done.err


@pytest.mark.parametrize(
    ("nights", "said"),
    [
        (3, "2 series of 3 sessions: fewer than 4 sessions: no change can be called"),
        (8, "no change confirmed in 2 series of 8 sessions;"),
    ],
)
def test_no_change_needs_enough_nights(nights, said, tmp_path):
    with Store.open(tmp_path / "s.db") as store:
        put_nights(store, nights, 2, lambda number, cell: 1 + 0.001 * (number % 3))
    done = ioplan("history", "--store", tmp_path / "s.db")
    assert said in " ".join(done.out.split()), done.out


def test_the_terminal(asked):
    """As the document shows it."""
    out = asked().out
    rows = [row.rstrip() for row in out.splitlines() if row.strip()]
    assert all(len(row) <= 80 for row in rows)
    _, shown = (ROOT / "docs/history.md").read_text("utf-8").split("```text\n")
    assert shown.partition("```")[0].splitlines() == rows
    assert " ".join(out.split()).endswith(
        f"3 changes confirmed in 5 series of {SESSIONS} sessions; at most one false "
        "alarm in 4 years over 5 series"
    )
    single = asked("--cell", "qd=8", "--metric", "p99").out
    assert "governor powersave" in single and single.count(nightly_id(AT)) == 2


def test_json_has_a_schema(asked, found):
    made = json.loads(asked("--format", "json").out)
    jsonschema.validate(made, History.model_json_schema(mode="serialization"))
    assert History.model_validate(made) == found


@pytest.mark.promise("history.never_rewritten")
def test_looks_are_kept_in_the_store(asked, made):
    """Of one call; a second look at the same sessions adds nothing."""
    one = json.loads(asked("--format", "json").out)["series"][-1]["signals"]
    assert one[-1]["state"] == "confirmed" and one[-1]["session"] == nightly_id(AT)
    with Store.open(made) as store:
        kept = store.events_of_kind("signal")
        assert asked("--format", "json").code == 0
        assert kept and store.events_of_kind("signal") == kept
        assert any(store.events(id) for id in map(nightly_id, range(AT, SESSIONS)))


def test_the_page(asked, tmp_path):
    page = tmp_path / "history.html"
    done = asked("--format", "html", "-o", page)
    text = page.read_text()
    assert done.code == 0
    changes = re.findall(r"<li[^>]*>([^<]+; with it: firmware 1.0 -&gt; 1.1)", text)
    assert changes and all(text.count(change) == 1 for change in changes)
    assert text.count('data-kind="history"') == 5
    assert '"key":"low"' in text


def test_what_cannot_be_answered(asked):
    for words, said in (
        (("--by", "firmwere"), "did you mean"),
        (("--cell", "qd"), "takes NAME=VALUE"),
        (("--cell", "qd=3"), "no cell of session"),
        (("--test", "Nothing*"), "its tests are demo"),
        (("--only", "drive=S2"), "no session fits"),
        (("--metric", "p99.9999999"), "--metric"),
        (("--metric", "errors"), "compared as a ratio"),
        (("--metric", "waf"), "was not measured"),
        (("--preparations",), "no preparation"),
        (("--format", "yaml"), "unknown format"),
    ):
        done = asked(*words)
        assert done.code == 2 and said in done.err.replace("\n", " "), words


PLAN = """
precondition filled { write sequential 128KiB, qd 8, 1 pass }
test "W" {
  after filled
  run random 4KiB 0/100, qd 32 for 1s
}
"""


@pytest.mark.usefixtures("store_path", "rough_sim")
def test_sessions_of_the_simulated_drive(tmp_path):
    """Wear of runs and of preparations; figures that are all the same."""
    plan = plan_file(tmp_path, PLAN)
    for _ in range(2):
        sized = ("--target", tmp_path / "scratch", "--create", "256MiB")
        ioplan("run", plan, "--backend", "sim", *sized)
    words = ("history", "--metric", "waf", "--format", "json")
    (one,) = json.loads(ioplan(*words).out)["series"]
    assert one["metric"] == "waf" and len(one["points"]) == 2
    (prepared,) = json.loads(ioplan(*words, "--preparations").out)["series"]
    assert prepared["test"] == "preparation filled"
    assert prepared["points"][0]["value"] == pytest.approx(1.0)
