"""A report's first screen, its sections, and many sessions in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command import ioplan
from report_charts import ID, column, composed
from run_data import (
    run,
    session,
)

from ioplan.language import Metric
from ioplan.records import Verdict
from ioplan.results.report import Document, Reader, document, page, worst
from ioplan.results.report.many_sessions import many_sessions
from ioplan.results.share import recorded_plan as plans
from ioplan.results.store import Store


def verdict(outcome: Any, number: int = 0) -> Verdict:
    text = f"expect p99 < {number}us"
    return Verdict(expectation=text, outcome=outcome, actual=1.0, limit=2.0, unit="ns")


@pytest.mark.parametrize(
    ("outcomes", "sentence"),
    [
        ((), "Measured; the plan has no expectations"),
        (("held",), "The expectation held"),
        (("held", "held"), "All 2 expectations held"),
        (
            ("held", "undecided"),
            "1 of 2 expectations could not be judged; the rest held",
        ),
        (("failed", "undecided"), "1 of 2 expectations did not hold"),
    ],
)
def test_the_first_screen(
    store: Store, outcomes: tuple[str, ...], sentence: str
) -> None:
    judged = tuple(verdict(one, number) for number, one in enumerate(outcomes))
    store.add(*run(1, verdicts=judged))
    store.finish(ID, "ok", "2026-11-21T05:46:12Z")
    found = composed(store)
    assert found.verdict.sentence == sentence
    told = [f"{line.outcome}: {line.text}" for line in found.sections[0].judged]
    assert all(text.endswith("1.00 ns, limit 2.00 ns") for text in told)


def test_what_has_not_run_takes_from_a_good_verdict(store: Store) -> None:
    store.add(*run(1, verdicts=(verdict("held"),)))
    found = composed(store).verdict
    assert found.outcome == "undecided"
    assert found.sentence == "The expectation held, but not all of the plan has run"


def test_a_failed_run_comes_first(store: Store) -> None:
    store.add(*run(1, verdicts=(verdict("held"),)))
    store.add(*run(2, status="failed", message="the drive is gone", cell={"qd": "4"}))
    found = composed(store)
    assert found.verdict.sentence == "1 run failed"
    assert any("the drive is gone" in line.text for line in found.sections[0].remarks)


def test_what_was_not_measured_is_said_once(store: Store) -> None:
    store.add(*run(1))
    assert page(composed(store)).count("Power was not measured") == 1


def many(store: Store, count: int, bad: int = -1) -> Document:
    """So many sessions that held, but one."""
    sessions = [session(id=f"20261122-054512-b{n:03}") for n in range(count)]
    for number, one in enumerate(sessions):
        store.begin(one)
        outcome = "failed" if number == bad else "held"
        store.add(*run(1, session=one.id, verdicts=(verdict(outcome),)))
        store.finish(one.id, "ok", "2026-11-22T05:46:12Z")
    sessions = [store.session(one.id) for one in sessions]
    return document(store, sessions, {}, "")


@pytest.mark.long
def test_what_fails_in_one_of_many_sessions_is_seen(store: Store) -> None:
    found = many(store, 60, bad=55)
    (section,) = found.sections
    assert found.verdict.sentence == "1 of 60 expectations did not hold"
    assert worst(section) == "failed"
    assert [line.outcome for line in section.judged] == ["failed", "held"]
    assert section.judged[0].text.startswith("sim0, b055: failed: expect p99")
    assert "held in 59 of 60 cells: expect p99" in section.judged[1].text
    assert section.counted == "60 runs of 1 cell in 60 sessions"


def test_many_sessions_share_one_card(store: Store) -> None:
    assert many_sessions(many(store, 8).sessions) is None
    found = many_sessions(many(store, 9).sessions)
    assert found
    assert dict(found.shared.pairs)["Backend"] == "sim 1"
    assert [column.title for column in found.differing.columns] == [
        "session",
        "Session",
    ]
    assert len(found.differing.rows) == 9


def test_what_many_drives_ran_is_checked_once(
    store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    many(store, 9)
    checked: list[str] = []
    monkeypatch.setattr(plans, "recorded_plan", lambda one: checked.append(one.id))
    ids = [f"20261122-054512-b{n:03}" for n in range(9)]
    out = ("--store", store.where, "-o", tmp_path / "report.html")
    assert ioplan("report", *ids, *out).code == 0
    assert len(checked) == 1


def test_several_sessions_share_their_charts(store: Store) -> None:
    other = session(id="20261122-054512-b7k2", backend="fio")
    store.begin(other)
    for seq in (1, 2, 3):
        store.add(*run(seq))
        store.add(*run(seq, session=other.id))
    found = document(store, [store.session(ID), other], {}, "")
    assert [one.heading for one in found.sessions] == ["sim0, sim", "sim0, fio"]
    (section,) = found.sections
    picture = section.pictures[0]
    assert picture.frame.column(picture.channels.color).order == (
        "sim0, sim",
        "sim0, fio",
    )
    figure = Reader(store).figure(Metric(name="iops"), list(store.records(ID))[:1])
    assert figure.value in column(picture, "y")


def test_a_report_of_the_last_session(tmp_path: Path, store: Store) -> None:
    store.add(*run(1))
    out = tmp_path / "report.html"
    done = ioplan("report", "--store", store.where, "-o", out)
    assert done.code == 0
    assert str(out) in done.out.replace("\n", "")
    assert out.read_text().startswith("<!doctype html>")


def test_errors_say_what_to_do(tmp_path: Path, store: Store) -> None:
    out = tmp_path / "missing" / "report.html"
    empty = ioplan("report", "last", "--store", store.where, "-o", out)
    assert (empty.code, "has no run to report" in empty.err) == (2, True)
    store.add(*run(1))
    unknown = ioplan("report", "2027", "--store", store.where)
    assert (unknown.code, "no session '2027'" in unknown.err) == (2, True)
    nowhere = ioplan("report", "last", "--store", store.where, "-o", out)
    assert (nowhere.code, "cannot write" in nowhere.err) == (2, True)
