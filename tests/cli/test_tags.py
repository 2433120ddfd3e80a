"""Tags and notes: given to a run, or later, and where they are seen."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow.parquet
import pytest
from command import ioplan, plan_file, refuse

from ioplan.records import Session
from ioplan.results.store import Store

PLAN = """test "T" {
  run    random 4KiB 100/0 for 200ms
  vary   qd in 1, 2
}
"""
CALL = ("--backend", "sim", "--create", "1GiB", "--quiet")
NOTE = "the new cable, 2 m"


def last(store: Path) -> Session:
    with Store.open(store) as opened:
        return opened.session("last")


def test_a_run_keeps_them_everywhere(tmp_path: Path, store_path: Path) -> None:
    plan = plan_file(tmp_path, PLAN)
    words = ("--tag", "nightly", "--tag", "lab2", "--tag", "nightly", "--note", NOTE)
    assert ioplan("run", plan, *CALL, *words, "--person", "ada").code == 0
    made = last(store_path)
    assert (made.tags, made.note, made.person) == (("lab2", "nightly"), NOTE, "ada")
    assert f"by ada; tags lab2, nightly; {NOTE}" in ioplan("show").out
    (record,) = [json.loads(ioplan("export").out)["session"]]
    assert (record["tags"], record["note"]) == (["lab2", "nightly"], NOTE)
    rows = list(csv.DictReader(io.StringIO(ioplan("export", "--format", "csv").out)))
    assert {(row["tags"], row["note"], row["person"]) for row in rows} == {
        ("lab2 nightly", NOTE, "ada")
    }
    assert {row["drive_serial"] for row in rows} == {"SIMF68C79D8"}
    file = tmp_path / "runs.parquet"
    ioplan("export", "--format", "parquet", "-o", file)
    assert set(pyarrow.parquet.read_table(file)["tags"].to_pylist()) == {"lab2 nightly"}
    ioplan("report", "-o", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "lab2, nightly" in page and NOTE in page and "Started by" in page


def test_they_may_be_given_later_and_resume_keeps_them(
    tmp_path: Path, store_path: Path
) -> None:
    plan = plan_file(tmp_path, PLAN)
    ioplan("run", plan, *CALL, "--tag", "nightly")
    told = ioplan("tag", "last", "good", "best", "--remove", "nightly", "--note", NOTE)
    assert told.out == f"{last(store_path).id}: best good\n{NOTE}\n"
    plan.write_text(PLAN.replace("1, 2", "1, 2, 4"))
    assert ioplan("resume", "--quiet").code == 0
    made = last(store_path)
    assert (made.tags, made.note) == (("best", "good"), NOTE)
    with Store.open(store_path) as store:
        events = [one.text for one in store.events(made.id) if one.kind == "tagged"]
        assert events == ["+best +good -nightly note"]
        assert store.count(made.id) == 3
    assert ioplan("tag").out == told.out  # it only tells
    wrong = ioplan("tag", "last", "--remove", "nightly")
    assert (wrong.code, "has no tag 'nightly'; it has: best, good" in wrong.err) == (
        2,
        True,
    )


@pytest.mark.parametrize(
    "words, said",
    [
        (("run", "PLAN", "--tag", "two words"), "--tag takes one word"),
        (("run", "PLAN", "--note", "x" * 2001), "--note takes at most 2000 characters"),
        (("tag", "last", "a,b"), "ioplan tag takes one word"),
    ],
)
def test_what_is_no_word_is_refused_before_anything_runs(
    words: tuple[str, ...], said: str, tmp_path: Path, store_path: Path
) -> None:
    plan = str(plan_file(tmp_path, PLAN))
    refuse(said, *(plan if word == "PLAN" else word for word in words))
    assert not store_path.exists()
