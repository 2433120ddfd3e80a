"""A report's first screen, its sections, and many sessions in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command import ioplan
from figures import changed, run
from report_charts import ID, column, composed
from sessions import put

from ioplan.language import Metric
from ioplan.records import Verdict
from ioplan.results.report import Document, Reader, page, worst
from ioplan.results.store import Store


def verdict(outcome: Any, number: int = 0) -> Verdict:
    text = f"expect p99 < {number}us"
    return Verdict(expectation=text, outcome=outcome, actual=1.0, limit=2.0, unit="ns")


@pytest.mark.parametrize(
    ("outcomes", "ended", "sentence"),
    [
        ((), True, "Measured; the plan has no expectations"),
        (("held",), True, "The expectation held"),
        (("held", "held"), True, "All 2 expectations held"),
        (
            ("held", "undecided"),
            True,
            "1 of 2 expectations could not be judged; the rest held",
        ),
        (("failed", "undecided"), True, "1 of 2 expectations did not hold"),
        (("held",), False, "The expectation held, but not all of the plan has run"),
    ],
)
def test_the_first_screen(
    store: Store, outcomes: tuple[str, ...], ended: bool, sentence: str
) -> None:
    judged = tuple(verdict(one, number) for number, one in enumerate(outcomes))
    store.add(*run(1, verdicts=judged))
    if ended:
        store.finish(ID, "ok", "2026-11-21T05:46:12Z")
    found = composed(store)
    assert found.verdict.sentence == sentence
    assert ended or found.verdict.outcome == "undecided"
    told = [f"{line.outcome}: {line.text}" for line in found.sections[0].judged]
    assert all(text.endswith("1.00 ns, limit 2.00 ns") for text in told)
    assert page(found).count("Power was not measured") == 1


def test_a_failed_run_comes_first(store: Store) -> None:
    store.add(*run(1, verdicts=(verdict("held"),)))
    store.add(*run(2, status="failed", message="the drive is gone", cell={"qd": "4"}))
    found = composed(store)
    assert found.verdict.sentence == "1 run failed"
    assert any("the drive is gone" in line.text for line in found.sections[0].remarks)


def many(store: Store, count: int, bad: int = -1) -> Document:
    """So many sessions that held, but one."""
    made, detail = run(1)
    ids = [f"20261122-054512-b{n:03}" for n in range(count)]
    for number, id in enumerate(ids):
        verdicts = (verdict("failed" if number == bad else "held"),)
        put(store, (changed(made, verdicts=verdicts), detail), id=id, ended="ok")
    return composed(store, *ids)


def test_what_fails_in_one_of_many_sessions_is_seen(store: Store) -> None:
    found = many(store, 20, bad=15)
    (section,) = found.sections
    assert found.verdict.sentence == "1 of 20 expectations did not hold"
    assert worst(section) == "failed"
    assert [line.outcome for line in section.judged] == ["failed", "held"]
    assert section.judged[0].text.startswith("sim0, b015: failed: expect p99")
    assert "held in 19 of 20 cells: expect p99" in section.judged[1].text
    assert section.counted == "20 runs of 1 cell in 20 sessions"


def test_many_sessions_share_one_card(store: Store) -> None:
    found = many(store, 9)
    assert page(found).count("<dd>sim 1</dd>") == 1
    assert "What all 9 sessions share" in page(found)


def test_several_sessions_share_their_charts(store: Store) -> None:
    other = put(store, id="20261122-054512-b7k2", backend="fio")
    for seq in (1, 2, 3):
        store.add(*run(seq))
        store.add(*run(seq, session=other))
    found = composed(store, ID, other)
    labels = ("sim0, sim", "sim0, fio")
    assert tuple(one.heading for one in found.sessions) == labels
    (section,) = found.sections
    picture = section.pictures[0]
    assert picture.frame.column(picture.channels.color).order == labels
    figure = Reader(store).figure(Metric(name="iops"), list(store.records(ID))[:1])
    assert figure.value in column(picture, "y")


@pytest.mark.parametrize(
    ("drives", "headings"),
    [
        (["F1"], ["M"]),
        (["F1", "F2"], ["M, F1", "M, F2"]),
        (["F1", "F2", "N"], ["M, F1", "M, F2", "N"]),
        (["F1", "F1"], ["M, aaa0", "M, aaa1"]),
    ],
)
def test_a_session_is_called_what_tells_it_from_the_others(
    store: Store, drives: list[str], headings: list[str]
) -> None:
    ids = []
    for number, firmware in enumerate(drives):
        model = "N" if firmware == "N" else "M"
        target = {"identity": {"model": model, "firmware": firmware}}
        one = run(1, target=target)
        ids.append(put(store, one, id=f"20261122-054512-aaa{number}"))
    found = composed(store, *ids)
    assert [one.heading for one in found.sessions] == headings


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
