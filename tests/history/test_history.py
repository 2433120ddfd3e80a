"""`ioplan history` on stores with many sessions of the same runs."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from command import ioplan
from figures import record
from paths import ROOT
from sessions import nightly_id, put_nights

from ioplan.language import Metric, parse_metric
from ioplan.records import Steady
from ioplan.records.record import Decided
from ioplan.results.compare.side import needs_parts, outlined
from ioplan.results.history import History, Question, Series, history, summary_text
from ioplan.results.history.analysis import TOO_FEW
from ioplan.results.history.model import SignalEntry
from ioplan.results.history.visits import CONDITIONS, changed, conditions_of
from ioplan.results.report import Reader
from ioplan.results.report.reader import is_plain
from ioplan.results.store import Store, StoreError, pages
from ioplan.results.store.briefs import (
    brief_of,
    brief_row,
    results_of,
    setting_of,
)

SESSIONS, CELLS, AT = 24, 4, 18
RUNS = [f"run-{cell + 1}" for cell in range(CELLS)]
NEW = {"identity": {"firmware": "1.1"}}
OLD = {"identity": {"firmware": "1.0"}}


def facts(number: int) -> dict[str, Any]:
    """A firmware that came with the change, and a governor that changed before."""
    governor = "powersave" if number < 5 else "performance"
    return (NEW if number >= AT else OLD) | {"host": {"governor": governor}}


def factor(number: int, cell: int) -> float:
    """The last two cells lose 8 % with the new firmware."""
    rng = np.random.default_rng((number, cell))
    return float(np.exp(0.01 * rng.normal())) * (
        0.92 if number >= AT and cell >= 2 else 1.0
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("history") / "results.db"
    with Store.open(path) as store:
        put_nights(store, SESSIONS, CELLS, factor, facts)
    return path


@pytest.fixture
def asked(made: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setenv("IOPLAN_STORE", str(made))
    return lambda *words: ioplan("history", *words)


@pytest.fixture
def found(made: Path) -> Iterator[History]:
    with Store.open(made) as store:
        yield history(store, "demo", RUNS, Question())


@pytest.mark.promise("history.step")
def test_a_change_is_called_with_what_changed_beside_it(found: History) -> None:
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


def test_latency_that_rises_is_worse(made: Path) -> None:
    question = Question(metrics=(parse_metric("p99"),))
    with Store.open(made) as store:
        one = history(store, "demo", RUNS, question).series[-1]
    (change,) = one.changes
    assert change.verdict == "worse" and change.ratio > 1.05


def test_series_are_parted_and_narrowed(made: Path) -> None:
    with Store.open(made) as store:
        by = history(store, "demo", RUNS, Question(by=("firmware",)))
        only = history(store, "demo", RUNS, Question(only={"firmware": "1.1"}))
    groups = [one.group for one in by.series if one.test == "all cells"]
    assert groups == [{"firmware": "1.0"}, {"firmware": "1.1"}]
    assert not by.changes
    assert {len(one.points) for one in only.series} == {SESSIONS - AT}


def test_one_query_reads_a_page_of_sessions(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    query = pages._page
    monkeypatch.setattr(
        pages, "_page", lambda *size: (asked.append(size[0]), query(*size))[1]
    )
    monkeypatch.setattr(pages, "PAGE_RUNS", 10 * CELLS)
    with Store.open(made) as store:
        whole = history(store, "demo", RUNS, Question())
    assert asked == [10, 10, 4]
    assert {len(one.points) for one in whole.series} == {SESSIONS}


@pytest.mark.parametrize("name", ["iops", "p99", "read.mean", "mean", "stddev"])
def test_figures_are_those_of_whole_records(made: Path, name: str) -> None:
    metric = parse_metric(name)
    with Store.open(made) as store:
        (page,) = pages.pages_of_runs(store, [nightly_id(3)], RUNS, whole=True)
        outlines = [outlined(row, needs_parts(metric)) for row in page]
        briefs = [brief_of(row) for row in page]
        whole = list(store.records(nightly_id(3)))
        reader = Reader(store)
        for short, brief, full in zip(outlines, briefs, whole, strict=True):
            figure = reader.figure(metric, [full])
            assert figure == reader.figure(metric, [short])
            assert figure == reader.figure(metric, [brief])
            assert figure == reader.of_single(metric)(brief)
        if is_plain(metric):
            each = map(reader.of_single(metric), map(results_of, page))
            assert [*each] == [reader.figure(metric, [full]) for full in whole]
        settings = pages.whole_runs(store, [(one.session, one.seq) for one in whole])
        for row, full in zip(settings, whole, strict=True):
            assert conditions_of(setting_of(row)) == conditions_of(full)


def test_columns_and_records_tell_the_same(made: Path, tmp_path: Path) -> None:
    """Of the columns no record is read; of a store without them, all are."""
    path = shutil.copy(made, tmp_path / "without.db")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE run SET place = NULL, figures = NULL")
        connection.commit()
    question = Question(metrics=tuple(map(parse_metric, ("iops", "p99", "read.mean"))))
    with Store.open(made) as store, Store.open(path) as without:
        (page,) = pages.pages_of_runs(store, [nightly_id(3)], RUNS, whole=False)
        assert {row["record"] for row in page} == {None}
        (page,) = pages.pages_of_runs(without, [nightly_id(3)], RUNS, whole=False)
        assert None not in {row["record"] for row in page}
        told = history(store, "demo", RUNS, question)
        assert told == history(without, "demo", RUNS, question)
    assert told.changes


@pytest.mark.parametrize("figures", ["", "[]", "[1,2,3,4]", '["a",null,{},null]'])
def test_damaged_columns_are_said_so(figures: str) -> None:
    row = brief_row(record(1)) | {"figures": figures}
    row |= {"session": "20260101-060000-aaaa", "seq": 1, "run_id": "r", "status": "ok"}
    with pytest.raises(StoreError, match=r"run 1 of session '2026.* is damaged"):
        brief_of(row)
    with pytest.raises(StoreError, match="is damaged"):
        _ = results_of(row).total


def test_a_run_without_io_has_no_figure_and_ends_no_history(tmp_path: Path) -> None:
    """Neither of its columns, nor of its whole record."""
    one = record(1)
    nothing = one.total.model_copy(
        update={"ios": 0, "bytes": 0, "iops": 0.0, "latency": None}
    )
    idle = one.model_copy(update={"total": nothing, "directions": {"read": nothing}})
    row = {"session": one.session, "seq": 1, "run_id": one.run_id, "status": "ok"}
    row |= brief_row(idle)
    with Store.open(tmp_path / "s.db") as store:
        for name in ("iops", "mean", "p99"):
            figures = Reader(store).of_single(parse_metric(name))
            assert figures(idle).value is figures(brief_of(row)).value is None
    assert Reader(store).of_single(Metric(name="iops"))(results_of(row)).value is None


def test_rounds_keep_their_windows_in_the_columns() -> None:
    steady = Steady.model_construct(window=4, reached=True)
    decided = Decided.model_construct(values=(1.0, 2.0, 3.0), reached=False)
    update = {"steady": steady, "decided": decided}
    one = record(1).model_copy(update=update)
    row = {"session": one.session, "seq": 1, "run_id": one.run_id, "status": "ok"}
    brief = brief_of(row | brief_row(one))
    assert brief.steady and (brief.steady.window, brief.steady.reached) == (4, True)
    assert brief.decided and len(brief.decided.values) == 3
    assert not brief.decided.reached
    assert brief.asked.cell == one.asked.cell and brief.asked.after == one.asked.after


def test_metrics_of_the_host_and_of_wear_need_more_of_a_record() -> None:
    assert all(needs_parts(Metric(name=name)) for name in ("watts", "waf", "cpu"))
    assert needs_parts(parse_metric("a.iops", ["a"]))
    assert not any(needs_parts(Metric(name=name)) for name in ("iops", "p99", "max"))


def test_what_changed_is_told_once_and_only_if_it_is_known() -> None:
    one = conditions_of(record(1))
    two = {**one, "backend": "fio", "backend version": "fio 3.36", "governor": ""}
    assert not changed(one, one) and not changed({**two, "governor": "x"}, two)
    assert changed(one, two) == ("backend version sim 1 -> fio 3.36",)
    assert set(one) == set(CONDITIONS)


def test_the_terminal(asked: Callable[..., Any]) -> None:
    out = asked().out
    assert all(len(row) <= 80 for row in out.splitlines())
    flat = " ".join(out.split())
    assert "with it: firmware 1.0 -> 1.1" in flat
    assert flat.endswith(
        f"3 changes confirmed in 5 series of {SESSIONS} sessions; at most one false "
        "alarm in 4 years over 5 series"
    )
    single = asked("--cell", "qd=8", "--metric", "p99").out
    assert f"{nightly_id(AT)}" in single and "governor powersave" in single
    assert single.count(nightly_id(AT)) == 2


def summary(*states: str | None, short: int = 0) -> str:
    """Of series without a change: the state of the newest signal of each."""
    about = {"group": {}, "test": "t", "cell": {}, "run_id": "r", "metric": "iops"}
    named: dict[str, Any] = {**about, "unit": "1/s", "points": ()}
    entry = SignalEntry.model_construct
    series = [
        Series(**named, signals=(entry(state=state),) if state else ())
        for state in states
    ]
    series += [Series(**named, why=TOO_FEW) for _ in range(short)]
    found = History(plan="p", by=(), sessions=5, series=tuple(series), watched=2)
    return summary_text(found).partition(";")[0]


def test_no_change_is_said_of_what_was_long_enough_only() -> None:
    assert summary(None) == "no change confirmed in 1 series of 5 sessions"
    assert summary("suspected", None, "withdrawn") == (
        "no change confirmed, 1 suspected in 3 series of 5 sessions"
    )
    assert summary(None, short=2) == (
        "no change confirmed in 3 series of 5 sessions, 2 of them too short to call one"
    )
    assert summary(short=2) == (
        "2 series of 5 sessions: fewer than 4 sessions: no change can be called"
    )
    assert summary() == "0 series of 5 sessions: nothing was measured"


def test_the_document_shows_what_the_program_says(asked: Callable[..., Any]) -> None:
    _, shown = (ROOT / "docs/history.md").read_text("utf-8").split("```text\n")
    rows = [row.rstrip() for row in asked().out.splitlines() if row.strip()]
    assert shown.partition("```")[0].splitlines() == rows


@pytest.mark.parametrize("record", ["{}", "no JSON", '{"schema_version": 99}'])
def test_a_damaged_record_is_said_so(record: str) -> None:
    row = {"session": "s", "seq": 1, "record": record, "facts": "{}"}
    with pytest.raises(StoreError):
        outlined(row, parts=False)


def test_json_has_a_schema(asked: Callable[..., Any], found: History) -> None:
    made = json.loads(asked("--format", "json").out)
    jsonschema.validate(made, History.model_json_schema(mode="serialization"))
    assert History.model_validate(made) == found


@pytest.mark.promise("history.never_rewritten")
def test_looks_are_kept_in_the_store(asked: Callable[..., Any], made: Path) -> None:
    """Of one call; a second look at the same sessions adds nothing."""
    one = json.loads(asked("--format", "json").out)["series"][-1]["signals"]
    assert one[-1]["state"] == "confirmed" and one[-1]["session"] == nightly_id(AT)
    with Store.open(made) as store:
        kept = store.events_of_kind("signal")
        assert asked("--format", "json").code == 0
        assert kept and store.events_of_kind("signal") == kept
        assert any(store.events(id) for id in map(nightly_id, range(AT, SESSIONS)))


def test_the_page(asked: Callable[..., Any], tmp_path: Path) -> None:
    page = tmp_path / "history.html"
    done = asked("--format", "html", "-o", page)
    text = page.read_text()
    assert done.code == 0 and "firmware 1.0 -&gt; 1.1" in text
    assert text.count('data-kind="history"') == 5
    assert '"key":"low"' in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
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
    ],
)
def test_what_cannot_be_answered(
    asked: Callable[..., Any], words: tuple[str, ...], said: str
) -> None:
    done = asked(*words)
    assert done.code == 2 and said in done.err.replace("\n", " ")


PLAN = """
precondition filled { write sequential 128KiB, qd 8, 1 pass }
test "W" {
  after filled
  run random 4KiB 0/100, qd 32 for 1s
}
"""


def test_real_sessions_of_the_simulated_drive(
    tmp_path: Path, store_path: Path, rough_sim: None
) -> None:
    """Wear of runs and of preparations; figures that are all the same."""
    plan, target = tmp_path / "w.ioplan", tmp_path / "scratch"
    plan.write_text(PLAN)
    for _ in range(2):
        sized = ("--target", target, "--create", "256MiB")
        ioplan("run", plan, "--backend", "sim", *sized)
    runs = json.loads(ioplan("history", "--metric", "waf", "--format", "json").out)
    (one,) = runs["series"]
    assert one["metric"] == "waf" and len(one["points"]) == 2
    asked = ("--preparations", "--metric", "waf", "--format", "json")
    (prepared,) = json.loads(ioplan("history", *asked).out)["series"]
    assert prepared["test"] == "preparation filled"
    assert prepared["points"][0]["value"] == pytest.approx(1.0)
