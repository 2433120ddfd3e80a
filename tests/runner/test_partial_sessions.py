"""What a session did not measure stays in view, and is in each count."""

import csv
import io
import json

import pytest
from command import ioplan, plan_file
from plans import checked
from rich.console import Console
from test_order import failing

from ioplan.results import export
from ioplan.results.report import (
    FAILED,
    document,
    page,
    parts,
    show_records,
    worst,
)

CELLS = """test "A" {
  run random 4KiB 100/0 for 2s
  vary qd in 1, 2, 4, 8, 16
  expect iops > 1
}
"""
LATER = 'test "B" { run random 4KiB 100/0 for 1s  expect iops > 1 }'
HELD = "passed in 1 of 5 cells, 4 not measured: expect iops > 1"


def stopped(bench, text, **more):
    """A session of which the first run is sound and the second fails."""
    bench.go(text, failing(*range(2, 100)), **more)
    return bench.store.session("s1")


def reported(bench, text, plan=True):
    session = bench.store.session("s1")
    plans = {session.id: checked(text) if plan else None}
    return document(bench.store, [session], plans, "")


def chips(found):
    return "; ".join(chip.text for chip in found.screen.chips)


def printed(bench, text):
    out = io.StringIO()
    session = bench.store.session("s1")
    console = Console(file=out, width=80)
    show_records(console, bench.store, session, bench.records, checked(text), True)
    return out.getvalue()


@pytest.mark.parametrize("policy", ["stop", "continue"])
@pytest.mark.promise("verdicts.not_measured")
def test_held_in_one_of_five(bench, policy):
    stopped(bench, CELLS, on_failure=policy)
    found = reported(bench, CELLS)
    failed = "1 run failed" if policy == "stop" else "4 runs failed"
    first, second, *_ = (chip.text for chip in found.screen.chips)
    assert (first, second) == (failed, "4 of 5 expectations not measured")
    assert found.screen.outcome == "failed"
    (section,) = found.sections
    assert [line.text.partition(": 100")[0] for line in section.judged] == [HELD]
    assert "1 passed, 4 not measured; " in page(found)
    assert HELD in printed(bench, CELLS)


@pytest.mark.promise("verdicts.not_measured")
def test_cells_that_never_began_have_rows_and_places_on_the_axis(bench):
    stopped(bench, CELLS)
    (section,) = reported(bench, CELLS).sections
    rows = list(section.runs.records())
    assert [row["d0"] for row in rows] == ["1", "2", "4", "8", "16"]
    assert [row["status"] for row in rows] == ["ok", "failed", *["not measured"] * 3]
    assert [row["errors"] for row in rows if "errors" in row] == []
    picture = next(one for one in section.pictures if one.x == "x" and one.frame.rows)
    (part,) = parts(picture)
    assert [float(row[picture.x]) for row in part.rows] == [1, 2, 4, 8, 16]
    drawn = [row[picture.y] is not None for row in part.rows]
    assert drawn == [True, False, False, False, False]
    assert f"{FAILED} not measured: 3 cells" in picture.notes
    text = printed(bench, CELLS)
    assert text.count("✕ not measured\n") + text.count("✕ not measured ") >= 3
    assert "not measured: 3 cells" in text
    assert section.counted == "2 runs of 2 cells, 3 cells not measured"


def test_a_test_that_never_began_is_told_of(bench):
    text = CELLS + LATER
    stopped(bench, text)
    found = reported(bench, text)
    first, second = found.sections
    assert (first.title, second.title) == ("A", "B")
    assert not second.pictures and len(second.runs.rows) == 1
    assert [line.text for line in second.judged] == ["not measured: expect iops > 1"]
    assert worst(second) == "undecided"
    assert "5 of 6 expectations not measured" in chips(found)
    told = printed(bench, text)
    assert "\nB ───" in told and "not measured: expect iops > 1" in told
    assert "1 not measured; 1 remark" in page(found)


def test_a_plan_that_is_lost_does_not_become_one_without_expectations(bench):
    bench.go(CELLS, failing(1))
    bench.store.finish("s1", "interrupted", "2026-11-21T05:46:12Z")
    expected = "1 run failed; 5 of 5 expectations not measured; 4 cells not measured"
    assert chips(reported(bench, CELLS)).startswith(expected)
    lone = 'test "A" { run random 4KiB 100/0 for 2s\n vary qd in 1, 2 }'
    bench.go(lone, failing())
    bench.store.finish("s2", "interrupted", "2026-11-21T05:46:12Z")
    one = [bench.store.session("s2")]
    known = document(bench.store, one, {"s2": checked(lone)}, "")
    assert chips(known).startswith("no expectations in the plan; the session did not")
    lost = document(bench.store, one, {"s2": None}, "")
    assert chips(lost).startswith("no expectations judged; the session did not")


def exported(bench, text, format):
    out = io.BytesIO()
    export(bench.store, "s1", format, out, plan=checked(text))
    return out.getvalue()


@pytest.mark.promise("verdicts.not_measured")
def test_the_export_has_what_was_not_measured(bench):
    text = CELLS + LATER
    stopped(bench, text)
    flat = io.StringIO(exported(bench, text, "csv").decode(), newline="")
    rows = [row for row in csv.DictReader(flat) if row["scope"] == "total"]
    places = [(row["test"], row["cell.qd"], row["status"]) for row in rows]
    assert places == [
        *[("A", "1", "ok"), ("A", "2", "failed")],
        *[("A", qd, "not measured") for qd in ("4", "8", "16")],
        ("B", "", "not measured"),
    ]
    assert [row["iops"] for row in rows[2:]] == [""] * 4
    whole = json.loads(exported(bench, text, "json"))
    missing = [(one["test"], one.get("cell.qd")) for one in whole["not_measured"]]
    assert missing == [("A", "4"), ("A", "8"), ("A", "16"), ("B", None)]
    bench.go(LATER, failing())
    out = io.BytesIO()
    export(bench.store, "s2", "json", out, plan=checked(LATER))
    assert json.loads(out.getvalue())["not_measured"] == []


@pytest.mark.parametrize(
    ("limit", "head", "code", "told"),
    [
        ("range 20%", "", 1, "not reached in 1 of 1 cases: R: settled within"),
        (
            "range 20%",
            'accept "fresh state"\n',
            0,
            "not reached in 1 of 1 cases: R: settled within",
        ),
        (
            "range 0.0001%",
            'accept "fresh state"\n',
            1,
            "not reached in 1 of 1 cases: R: range",
        ),
    ],
)
def test_only_settled_values_on_an_accepted_fresh_drive_are_no_failure(
    limit, head, code, told, tmp_path, store_path
):
    text = f"""{head}precondition p {{ purge }}
    test "R" {{ after p run random 4KiB 0/100 for 1s
    rounds until steady iops, at most 4, over 3, {limit} }}"""
    done = ioplan("run", plan_file(tmp_path, text), "--backend", "sim")
    assert (done.code, told in " ".join(done.out.split())) == (code, True), done.out
    assert store_path.exists()


@pytest.mark.parametrize(
    "text",
    [
        'test "R" { run random 4KiB 0/100, until steady iops every 1s, at most 1 passes, '
        "over 3, range 0.0001% }",
        "precondition p { write random 4KiB, until steady iops every 1s, "
        "at most 1 passes, over 3, range 0.0001% }\n"
        'test "R" { after p run random 4KiB 100/0 for 1s }',
    ],
    ids=["run", "precondition"],
)
@pytest.mark.promise("verdicts.unsteady")
def test_a_run_and_a_precondition_too(text, tmp_path, store_path):
    done = ioplan("run", plan_file(tmp_path, text), "--backend", "sim", "--quiet")
    assert done.code == 1, done.err
