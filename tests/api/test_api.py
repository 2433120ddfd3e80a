"""ioplan from Python: what the commands give, the same refusals, and plans as tests of pytest."""

import csv
import io
import re
import sys
from collections.abc import Callable
from typing import Any

import nbformat
import pytest
from command import ioplan as command
from command import plan_file, program
from nbclient import NotebookClient
from paths import ROOT

import ioplan

PLAN = """plan "Both"
param span = 1s
test "R" {
  run random 4KiB 70/30, qd 4 for span vary qd in 1, 4
  expect p99 < 1s
  chart lines iops over qd
}
test "W" {
  run random 4KiB 0/100 for span
  expect iops < 1
}
"""
DOCUMENT = (ROOT / "docs" / "python.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```", DOCUMENT, re.S | re.M)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def session(folder):
    return ioplan.run(PLAN, backend="sim", store="r.db", tag="nightly", test="R")


def test_the_document_s_example_runs(folder):
    names: dict[str, Any] = {}
    exec(compile(EXAMPLES[0], "python.md", "exec"), names)
    assert (folder / "report.html").stat().st_size > 10_000
    (found,) = ioplan.sessions("results.db", tag="demo")
    assert found.id == names["session"].id and found.held


@pytest.mark.promise("python.same")
def test_it_is_what_the_commands_show(session, folder):
    assert session.held and session.why == "" and session.exit_code == 0
    assert [one.outcome for one in session.verdicts] == ["held"] * 2
    done = command("export", session.id, "--store", "r.db", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    table = session.table()
    assert table.column_names == list(rows[0])
    assert table.num_rows == len(rows) > 2
    assert [str(one) for one in table["iops"].to_pylist()] == [
        row["iops"] or "None" for row in rows
    ]
    listed = command("ls", "--store", "r.db", "--tag", "nightly")
    assert session.id in listed.out


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(session, library, monkeypatch):
    frame, by_interval = session.frame(library), session.frame(library, series=True)
    assert type(frame).__module__.startswith(library)
    assert list(frame["ios"]) == session.table()["ios"].to_pylist()
    intervals = [len(session.detail(one).series) for one in session.records]
    assert len(by_interval) == sum(intervals)
    monkeypatch.setattr("ioplan.api.session.find_spec", lambda name: None)
    for words, said in (((), "neither is"), (("dask",), "'dask' is not")):
        with pytest.raises(ioplan.ExplainedError, match=f"{said} installed"):
            session.frame(*words)


def test_what_did_not_hold_is_told(folder):
    found = ioplan.run(PLAN, backend="sim", store="r.db", params={"span": "500ms"})
    assert not found.held and found.exit_code == 1 and found.status == "ok"
    assert re.fullmatch(
        r"failed: expect iops < 1: [\d.]+k IOPS, limit 1.00 IOPS", found.why
    )
    assert {r.asked.job.run_ns for r in found.records} == {500_000_000}
    again = ioplan.sessions("r.db")[0]
    assert (again.held, again.why) == (False, found.why)


@pytest.mark.promise("python.same")
def test_a_target_must_be_there_and_ours(folder):
    """A file that is not ours is not overwritten."""
    data = b"mine" * 1024
    (folder / "data.bin").write_bytes(data)
    for target, said in (("missing.bin", "--create"), ("data.bin", "overwrite")):
        with pytest.raises(ioplan.ExplainedError, match=said):
            ioplan.run(PLAN, target=target, store="r.db")
    assert (folder / "data.bin").read_bytes() == data
    assert not (folder / "r.db").exists() or ioplan.sessions("r.db") == []


def test_charts(session):
    names = ["R: Latency against load", "R: IOPS by queue depth"]
    assert list(session.charts) == names
    chart = session.chart("iops")
    expected = {int(one.asked.cell["qd"]): one.total.iops for one in session.records}
    assert {row["x"]: row["y"] for row in chart.rows} == pytest.approx(expected)
    assert "IOPS by queue depth" in chart.html()
    said = "no chart 'watts': name one of 'R: Latency"
    with pytest.raises(ioplan.ExplainedError, match=said):
        session.chart("watts")


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: ioplan.check('test "T" { run random 4K 100/0 for 1s }'), "unit"),
    (lambda: ioplan.check("param x = 1\n"), "test"),
    (lambda: ioplan.check("nowhere.ioplan"), "cannot read 'nowhere.ioplan'"),
    (lambda: ioplan.check(PLAN, params={"x": 1}), "the plan has no param 'x'"),
    (lambda: ioplan.run(PLAN, bakend="sim"), "did you mean 'backend'"),
    (lambda: ioplan.run(PLAN, test="X", backend="sim"), "no test"),
    (lambda: ioplan.run(PLAN, scale_time=0, backend="sim"), "number above 0"),
    (lambda: ioplan.sessions("r.db", statsu="ok"), "did you mean 'status'"),
    (lambda: ioplan.sessions("r.db", status="good"), "no 'good'"),
    (lambda: ioplan.Session("r.db", "none").model, "no session"),
    (lambda: ioplan.run(PLAN, target="/dev/null"), "/dev/null"),
]


def test_what_is_refused_says_why(session):
    for call, said in REFUSED:
        with pytest.raises((ioplan.PlanError, ioplan.ExplainedError), match=said):
            call()
    assert len(ioplan.sessions("r.db")) == 1


@pytest.mark.slow
def test_importing_it_loads_nothing():
    text = "import sys, ioplan; print([m for m in sys.modules if 'pydantic' in m])"
    assert printed_by("-c", text) == "[]\n"
    assert {"check", "run", "sessions", "Session"} <= set(dir(ioplan))
    with pytest.raises(AttributeError, match="no attribute 'chek'"):
        ioplan.chek  # noqa: B018


def printed_by(*words, cwd=None):
    """What another Python prints, whatever its exit code."""
    done = program(sys.executable, *words, cwd=cwd)
    assert not done.stderr, done.stderr
    return done.stdout


@pytest.mark.long
def test_a_notebook_shows_report_and_chart(folder):
    run = f"import ioplan\ns = ioplan.run({PLAN!r}, backend='sim', store='r.db')\ns"
    cells = (run, "s.chart('by queue depth')", "s.frame('pandas')[['iops']].max()")
    book = nbformat.v4.new_notebook()
    book.cells = [nbformat.v4.new_code_cell(text) for text in cells]
    where = {"metadata": {"path": folder}}
    NotebookClient(book, timeout=120, resources=where).execute()
    report, chart, frame = (cell.outputs[-1].data for cell in book.cells)
    assert all("<iframe srcdoc" in one["text/html"] for one in (report, chart))
    assert "IOPS by queue depth" in chart["text/html"]
    assert "iops" in frame["text/plain"]


@pytest.mark.long
def test_a_user_s_checker_sees_the_types(tmp_path):
    text = 'import ioplan\nreveal_type(ioplan.check("a.ioplan"))\n'
    text += 'ioplan.run("a.ioplan", target="x").helt\n'
    program = plan_file(tmp_path, text, "use.py")
    told = printed_by("-m", "mypy", "--config-file=", "--strict", program, cwd=tmp_path)
    assert 'use.py:2: note: Revealed type is "ioplan.api.calls.Plan"' in told
    assert 'use.py:3: error: "Session" has no attribute "helt"' in told


pytest_plugins = ["pytester"]
HOLDS = 'test "T" { run random 4KiB 100/0 for 1s expect p99 < 1s }'
FAILS = 'test "T" { run random 4KiB 100/0 for 1s expect p99 < 1ns }'


TESTS = """
import pytest

@pytest.mark.ioplan_plan("holds.ioplan", backend="sim")
def test_holds(ioplan_session):
    assert ioplan_session.records[0].total.errors == 0

@pytest.mark.ioplan_plan("fails.ioplan", backend="sim")
def test_fails():
    pass

@pytest.mark.ioplan_plan('test "T" {')
def test_no_plan(ioplan_session):
    pass

def test_no_marker(ioplan_session):
    pass

def test_other():
    pass
"""


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.promise("python.pytest")
def test_it_fails_with_the_verdict_s_text(pytester):
    pytester.makefile(".ioplan", holds=HOLDS, fails=FAILS)
    pytester.makepyfile(TESTS)
    done = pytester.runpytest_subprocess("--strict-markers")
    done.assert_outcomes(passed=2, errors=3)
    done.stdout.re_match_lines_random(
        [
            r"failed: expect p99 < 1ns: [\d.]+ µs, limit 1.00 ns",
            r".*error: a block is not closed",
            r".*needs a marker: @pytest.mark.ioplan_plan.*",
        ]
    )
    assert "Traceback" not in done.stdout.str()


@pytest.mark.slow
@pytest.mark.long
def test_the_document_s_example_is_collected(pytester):
    text = (ROOT / "docs" / "python.md").read_text().split("```python\n")[2]
    pytester.makefile(".ioplan", nightly=HOLDS)
    pytester.makepyfile("import pytest\n\n" + text.split("```")[0])
    pytester.runpytest_subprocess().assert_outcomes(passed=1)
