"""`ioplan compare` on the simulated drive and on a file: alignment, verdicts, outputs."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from calm import needs_idle_cpu
from command import Done, ioplan, plan_file
from run_data import measurement, record, session
from synthetic_sessions import DEPTHS, store_session

from ioplan.language import METRICS, parse_metric
from ioplan.language.metric import THROTTLED
from ioplan.records import BackendFacts
from ioplan.results.compare import Question, compare, side_of
from ioplan.results.compare.comparison import Row
from ioplan.results.compare.formats import (
    MOST_ROWS,
    _most_telling,
    github,
    junit,
    markdown,
)
from ioplan.results.compare.rows import MORE_IS_BETTER
from ioplan.results.report import Reader
from ioplan.results.store import Store

BEFORE = 'test "Before" { run random 16KiB 100/0 for shift }\n'
READS = """
test "Reads" {
  repeat 3 { run random 4KiB 100/0 for 1s }
  vary qd in 1, 4, 16
}
"""
PLAN = f"param shift = 1s\n{BEFORE}{READS}"
SLOWER = '[host]\noverhead = "13us"\n'

AS_NAMED = """
test "Idle" {
  run random 4KiB 100/0 for 100ms as before
  run random 4KiB 100/0, qd 2 for 100ms as later
  vary size in 4KiB, 8KiB
}
"""

Ran = Callable[..., str]

SLOWER_BY_HALF = dict.fromkeys(DEPTHS, -0.5)


@pytest.fixture
def ran(tmp_path: Path, store_path: Path) -> Ran:
    """Run a plan on the simulated drive; returns the session's id."""

    def run(text: str = PLAN, drive: str = "", **settings: str) -> str:
        path = plan_file(tmp_path, text)
        options: list[str | Path] = ["--create", "256MiB"]
        if drive:
            (tmp_path / "drive.toml").write_text(drive)
            options += ["--sim", tmp_path / "drive.toml"]
        for name, value in settings.items():
            options += ["--set", f"{name}={value}"]
        done = ioplan("run", path, "--backend", "sim", "--quiet", *options)
        assert done.code == 0, done.err
        return newest()

    return run


def newest() -> str:
    return str(ioplan("ls", "--format", "jsonl").lines[0]["id"])


def rows(done: Done) -> list[dict[str, Any]]:
    return list(json.loads(done.out)["rows"])


def words(done: Done) -> set[str]:
    return {row["verdict"] for row in rows(done)}


def compared(base: str, new: str, *options: str) -> Done:
    return ioplan("compare", base, new, "--format", "json", *options)


# false alarms and power


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.promise("compare.alarms")
def test_a_drive_beside_itself(ran: Ran, store_path: Path) -> None:
    """A/A: 10 sessions that differ in their seeds only, 15 pairs of them.

    Nothing counts as equal, so that only the statistics stand against noise.
    """
    ids = [ran(shift=f"{1 + n}00ms") for n in range(10)]
    with Store.open(store_path) as store:
        reader = Reader(store)
        sides = [side_of(store, [store.session(id)]) for id in ids]
        figures = {
            run.total.iops for s in sides for cell in s.cells for run in cell.runs
        }
        assert len(figures) > 90, "the sessions are not the same numbers again"
        question = Question(threshold_percent=0.0)
        found = [
            compare(reader, base, new, question)
            for base, new in list(itertools.combinations(sides, 2))[::3]
        ]
    assert all(len(one.rows) == 12 for one in found)
    assert sum(one.count("worse") + one.count("better") > 0 for one in found) <= 1


@pytest.mark.long
@pytest.mark.promise("exit_codes.compare")
def test_a_slower_drive_is_worse_where_it_is_slower(ran: Ran) -> None:
    """3 us more a command, which a short queue feels and a full one does not.

    Another configuration is another drive, so what is shown are ratios.
    """
    ids = [ran(drive=SLOWER if at % 2 else "", shift=f"{at}00ms") for at in range(1, 7)]
    new, base = ",".join(ids[::2]), ",".join(ids[1::2])
    done = compared(base, new)
    assert done.code == 1
    found = json.loads(done.out)
    by_cell = {(row["cell"].get("qd"), row["metric"]): row for row in found["rows"]}
    for metric, most in (("iops", 0.9), ("mean", 1.3)):
        row = by_cell["1", metric]
        assert row["verdict"] == "worse" and row["low"] < row["ratio"] < most
        assert row["base_sessions"] == 3 and row["base_runs"] == 9
    assert {by_cell["16", metric]["verdict"] for metric in ("iops", "mean")} == {
        "equal"
    }
    assert found["subject"] == "drives"
    assert {one["verdict"] for one in found["all_cells"]} == {"worse"}
    back = compared(new, base)
    assert "better" in words(back) and "worse" not in words(back)
    large = compared(base, new, "--threshold", "60%")
    assert words(large) == {"equal"}
    other = {*found["only_base"], *found["only_new"]}  # the time before is its own
    assert other == {"Before"} and back.code == large.code == 1


def test_more_is_better_of_all_that_is_per_something() -> None:
    """And of what a throttled volume gives; but of CPU and latencies less is."""
    more = {
        name for name, (unit, _) in METRICS.items() if unit.startswith(("1/s", "B/s"))
    }
    assert more | {*THROTTLED} == {*MORE_IS_BETTER}


@pytest.mark.long
@needs_idle_cpu(ms=50)
def test_a_file_beside_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A/A on a real disk, whose sessions differ by more than their runs."""
    monkeypatch.setenv("IOPLAN_STORE", str(tmp_path / "results.db"))
    text = """test "R" {
      repeat 3 { run random 4KiB 100/0 for 100ms }
      vary qd in 1, 4
    }"""
    options = ("--target", tmp_path / "s.bin", "--create", "32MiB", "--quiet")
    ids: list[str] = []
    for _ in range(12):  # on a busy machine a run may begin too late to count
        ioplan("run", plan_file(tmp_path, text), "--backend", "io_uring", *options)
        lines = ioplan("ls", "--format", "jsonl").lines
        ids = [line["id"] for line in lines if line["status"] == "ok"]
        if len(ids) == 6:
            break
    assert len(ids) == 6
    codes = [
        words(compared(a, b)) & {"better", "worse"}
        for a, b in zip(ids[::2], ids[1::2], strict=True)
    ]
    assert sum(map(bool, codes)) <= 1


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.promise("compare.simulated")
def test_the_simulated_drive_tells_nothing_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two sessions of a file compare alike before and after three simulated ones."""
    monkeypatch.setenv("IOPLAN_STORE", str(tmp_path / "results.db"))
    text = 'test "R" { run random 4KiB 100/0 for 200ms\n vary qd in 1, 4 }'
    file = plan_file(tmp_path, text)
    options = ("--target", tmp_path / "s.bin", "--create", "32MiB", "--quiet")

    def run(backend: str) -> str:
        for _ in range(6):  # on a busy machine a run may begin too late to count
            if ioplan("run", file, "--backend", backend, *options).code == 0:
                return newest()
        raise AssertionError("no run of six was sound")

    base, new = run("io_uring"), run("io_uring")
    before = compared(base, new)
    for _ in range(3):
        simulated = run("sim")
    after = compared(base, new)
    assert before.code == after.code == 0 and words(after) <= {"undecided", "equal"}
    assert json.loads(after.out) == json.loads(before.out)
    assert json.loads(after.out)["learned_from"] == []
    assert "ratio" in words(compared(base, simulated)) <= {"ratio", "undecided"}
    detected = ioplan("plan", file, "--detect", "5%", "--json")
    for one in json.loads(detected.out)["metrics"]:
        assert "assumed" in one["source"] or one["source"].endswith("by io_uring")


# what nothing can tell


@pytest.mark.promise("compare.two_sessions")
def test_two_sessions_tell_nothing_of_noise(store_path: Path) -> None:
    """However far apart, and however even the repeats; the answer says what would."""
    with Store.open(store_path) as store:
        base, new = store_session(store, 1), store_session(store, 2, SLOWER_BY_HALF)
    done = compared(base, new)
    assert done.code == 0 and words(done) == {"undecided"}
    for row in rows(done):
        assert "nothing tells how much sessions differ" in row["why"]
        assert row["low"] is None and row["sessions_needed"] == 3
    text = ioplan("compare", base, new).out
    assert "3 sessions a side, ABABAB, would decide" in text.replace("\n", " ")
    told = compared(base, new, "--noise", "1%")
    assert told.code == 1 and {*words(told)} == {"worse"}
    assert {one["source"] for one in json.loads(told.out)["noise"]} == {"given"}


@pytest.mark.promise("compare.two_sessions", "compare.suspected")
def test_the_store_tells_the_noise_of_two_sessions(store_path: Path) -> None:
    """Earlier sessions of the same runs, and of no other drive's where they are enough."""
    with Store.open(store_path) as store:
        earlier = [store_session(store, number) for number in range(1, 7)]
        new = store_session(store, 8, {qd: -0.12 for qd in DEPTHS})
    found = json.loads(compared(earlier[-1], new).out)
    source = "5 others that did the same runs on :/dev/sim0 by sim"
    assert found["learned_from"] == earlier[:-1]
    assert {one["source"] for one in found["noise"]} == {source}
    assert {one["verdict"] for one in found["all_cells"]} == {"suspected"}
    done = ioplan("compare", earlier[-1], new)
    assert re.search(
        r"suspected: iops 1\d\.\d % lower over 4 cells, ± \d\.\d \(4 of 4", done.out
    )
    flat = " ".join(done.out.split())
    assert source in flat and "worse, by one session of a side" in flat
    assert "5 tell the noise, not 20: run again" in flat and done.code == 0
    same = compared(earlier[0], earlier[1])
    assert same.code == 0 and "worse" not in words(same)


@pytest.mark.promise("compare.suspected")
def test_twenty_known_sessions_make_a_verdict_of_one(store_path: Path) -> None:
    """As do two sessions a side that alternate."""
    loss = {qd: -0.12 for qd in DEPTHS}
    with Store.open(store_path) as store:
        earlier = [store_session(store, number) for number in range(1, 21)]
        new = [store_session(store, number, loss) for number in (22, 24)]
        base = store_session(store, 23)
    done = compared(base, new[0])
    found = json.loads(done.out)["all_cells"]
    assert done.code == 1 and {one["verdict"] for one in found} == {"worse"}
    assert compared(f"{earlier[-1]},{base}", ",".join(new)).code == 1


MODES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"name": "io_uring", "mode": "io_uring"}, {"name": "io_uring", "mode": "sync"}),
    ({"name": "io_uring", "mode": "io_uring"}, {"name": "fio", "mode": "io_uring"}),
]


@pytest.mark.parametrize(("before", "after"), MODES)
@pytest.mark.promise("exit_codes.compare", "compare.mode")
def test_another_mode_is_said_first_and_nothing_of_the_drive(
    store_path: Path, before: dict[str, Any], after: dict[str, Any]
) -> None:
    """58 % less by another way of doing I/O, however many sessions there are."""
    loss = {qd: -0.58 for qd in DEPTHS}
    one, other = (BackendFacts(version="1", **each) for each in (before, after))
    with Store.open(store_path) as store:
        base = ",".join(store_session(store, n, backend=one) for n in (1, 3, 5))
        new = ",".join(store_session(store, n, loss, backend=other) for n in (2, 4, 6))
    done = ioplan("compare", base, new)
    label, key = ("mode", "mode") if one.name == other.name else ("backend", "name")
    said = f"{label}: {before[key]} in BASE, {after[key]} in NEW"
    assert done.code == 2 and said in done.out and "-58.0 %" in done.out
    assert done.out.index(said) < done.out.index("undecided")
    assert words(compared(base, new)) == {"undecided"}
    for format in ("json", "markdown", "github", "junit"):
        out = ioplan("compare", base, new, "--format", format).out
        assert "in BASE" in out or "measured otherwise" in out
        assert not re.search(r'worse: iops|"(worse|better)"|<failure', out)
    found = json.loads(compared(base, new).out)
    assert found["all_cells"] == [] and found["differences"] == [said]
    assert all(row["sessions_needed"] is None for row in found["rows"])


def test_another_kernel_or_profile_is_said_and_judged(store_path: Path) -> None:
    loss = {qd: -0.2 for qd in DEPTHS}
    with Store.open(store_path) as store:
        base = [store_session(store, n, host={"kernel": "6.1"}) for n in (1, 3, 5)]
        new = [store_session(store, n, loss, host={"kernel": "6.8"}) for n in (2, 4, 6)]
    done = ioplan("compare", ",".join(base), ",".join(new))
    said = "kernel: 6.1 in BASE, 6.8 in NEW"
    assert done.code == 1 and done.out.index(said) < done.out.index("worse")


def test_noise_is_a_figure_that_somebody_would_write(ran: Ran) -> None:
    """The simulated drive's runs differ by a rounding error."""
    out = ioplan("compare", ran(), ran()).out
    assert not re.search(r"0\.000\d", out)


def test_two_drives_have_ratios(store_path: Path) -> None:
    """One session each: nobody knows the noise, and the ratio stands all the same."""
    drives = [{"identity": {"model": "m", "serial": name}} for name in "ab"]
    with Store.open(store_path) as store:
        base = store_session(store, 1, target=drives[0])
        new = store_session(store, 2, {qd: 0.79 for qd in DEPTHS}, target=drives[1])
    done = compared(base, new)
    assert done.code == 0 and words(done) == {"ratio"}
    assert json.loads(done.out)["subject"] == "drives"
    text = ioplan("compare", base, new).out
    assert re.search(r"ratio +qd=1 +iops .* 1\.\d+× ", text)
    assert "12 ratio: nothing tells how much sessions differ" in text


def test_identical_figures_are_equal(store_path: Path) -> None:
    with Store.open(store_path) as store:
        made, ids = measurement(ios=400), []
        for number in (1, 2):
            ids.append(f"2026010{number}-000000-aaaa")
            store.begin(session(ids[-1], status="ok"))
            one = record(1, session=ids[-1], made=made)
            store.add(one, made.detail)
    found = rows(compared(*ids))
    assert {row["verdict"] for row in found} == {"equal"}
    assert {(row["ratio"], row["low"]) for row in found} == {(1.0, None)}


def test_sides_that_ran_in_a_row_count_once(store_path: Path) -> None:
    """A drift would look the same; alternating sides are called."""
    change = {qd: -0.1 for qd in DEPTHS}
    with Store.open(store_path) as store:
        base = [store_session(store, number) for number in (1, 2, 3, 5)]
        new = [store_session(store, number, change) for number in (4, 6, 7, 8)]
    row = compared(",".join(base[:3]), ",".join(new[2:]))
    assert {one["base_sessions"] for one in rows(row)} == {1}
    text = ioplan("compare", ",".join(base[:3]), ",".join(new[2:])).out
    assert "3 + 2 sessions count as 1 + 1" in text
    mixed = compared(",".join(base[2:]), ",".join(new[:2]))
    assert {one["base_sessions"] for one in rows(mixed)} == {2}


def test_a_percentile_of_too_few_is_undecided(ran: Ran) -> None:
    done = compared(ran(), ran(), "--metric", "p99.999")
    assert {row["verdict"] for row in rows(done)} == {"undecided"}
    assert "needs 1_000_000 I/Os" in rows(done)[0]["why"]


# alignment


@pytest.mark.promise("compare.pairs")
def test_names_and_order_do_not_matter(ran: Ran) -> None:
    other = READS.replace('"Reads"', '"Lesen"').replace("1, 4, 16", "16, 4, 1")
    base, new = ran(), ran(f"param shift = 1s\n{other}{BEFORE}")
    found = json.loads(compared(base, new).out)
    assert len(found["rows"]) == 12 and found["only_base"] == found["only_new"] == []
    for row in found["rows"]:
        if row["metric"] == "iops":
            assert row["ratio"] == pytest.approx(1, abs=0.05)
    assert {row["test"] for row in found["rows"]} == {"Before", "Lesen"}


def test_an_edited_plan_aligns_by_what_it_asks(ran: Ran) -> None:
    longer = PLAN.replace("for 1s", "for 2s").replace("1, 4, 16", "1, 4, 8")
    found = json.loads(compared(ran(), ran(longer)).out)
    qds = {row["cell"].get("qd") for row in found["rows"]}
    assert qds == {None, "1", "4"}
    assert found["only_base"] == ["Reads: qd=16"]
    assert found["only_new"] == ["Reads: qd=8"]
    told = [row["remarks"] for row in found["rows"] if row["cell"]]
    assert all(one == ["1.00 s in BASE, 2.00 s in NEW"] for one in told)


@pytest.mark.long
def test_the_same_run_twice_in_a_plan_is_two_cells(ran: Ran) -> None:
    again = READS.replace('"Reads"', '"Again"')
    text = f"{PLAN}{again}"
    found = rows(compared(ran(text), ran(text)))
    assert len(found) == 21
    assert sum(row["test"] == "Again" for row in found) == 9
    assert {row["base_runs"] for row in found if row["test"] != "Before"} == {3}


def test_steps_with_names_are_told_apart(ran: Ran) -> None:
    """Both are of one cell of the matrix."""
    base, new = ran(AS_NAMED), ran(AS_NAMED)
    done = ioplan("compare", base, new, "--all", "--metric", "iops")
    assert "before size=4KiB" in done.out and "later size=4KiB" in done.out
    assert [row["step"] for row in rows(compared(base, new, "--metric", "iops"))] == [
        *("before", "later") * 2
    ]


def test_of_rounds_the_window_counts(ran: Ran) -> None:
    text = """precondition p { write sequential 1MiB, qd 8, 1 pass }
test "T" {
  after p
  run random 4KiB 100/0 for 1s
  vary qd in 1, 2
  rounds until steady iops when qd == 1, at most 9
}"""
    found = rows(compared(ran(text), ran(text)))
    assert {row["base_runs"] for row in found} == {5}


@pytest.mark.promise("compare.failed")
def test_a_cell_that_failed_is_worse(tmp_path: Path, store_path: Path) -> None:
    made = measurement()
    with Store.open(store_path) as store:
        for id, status in (
            ("20260101-000000-aaaa", "ok"),
            ("20260102-000000-bbbb", "failed"),
        ):
            store.begin(session(id))
            one = record(1, session=id, made=made, status=status, message="EIO at 0")
            store.add(one, made.detail)
    done = ioplan("compare", "20260101", "20260102")
    assert done.code == 1
    assert "NEW failed: EIO at 0" in done.out
    assert ioplan("compare", "20260102", "20260101").code == 0


def killed_after(
    runs: int, plan: Path, monkeypatch: pytest.MonkeyPatch, *words: str
) -> None:
    """A session on the simulated drive that ends, as by a kill, after some runs."""
    add, done = Store.add, itertools.count(1)

    def adding(self: Store, *made: Any) -> None:
        add(self, *made)
        if next(done) == runs:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Store, "add", adding)
        options = ("--backend", "sim", "--create", "256MiB", "--quiet", *words)
        ioplan("run", plan, *options)


def cut_session(store: Store, number: int, cells: int, status: str = "ok") -> str:
    """A session of so many of four cells."""
    id = f"2026020{number}-000000-aaaa"
    store.begin(session(id, status=status))
    for seq in range(1, cells + 1):
        made = measurement(seq)
        store.add(record(seq, session=id, made=made), made.detail)
    return id


@pytest.mark.parametrize(("base", "new"), [(4, 1), (1, 4)])
@pytest.mark.promise("exit_codes.compare", "compare.missing")
def test_a_killed_session_is_not_green(
    store_path: Path, tmp_path: Path, base: int, new: int
) -> None:
    """On either side: three of four cells were not compared."""
    with Store.open(store_path) as store:
        sides = [
            cut_session(store, at, cells, "ok" if cells == 4 else "interrupted")
            for at, cells in enumerate((base, new), start=1)
        ]
    done = ioplan("compare", *sides)
    assert done.code == 1 and "3 cells missing" in done.out.replace("\n", " ")
    root = ElementTree.fromstring(ioplan("compare", *sides, "--format", "junit").out)
    errors = root.findall(".//error")
    side = "NEW" if new == 1 else "BASE"
    assert len(errors) == 3
    assert all(f"{side} has not measured" in one.get("message", "") for one in errors)
    suite = root.find("testsuite[@name='missing cells']")
    assert suite is not None and suite.get("errors") == suite.get("tests") == "3"
    lines = ioplan("compare", *sides, "--format", "github").out.splitlines()
    assert sum(one.startswith("::error title=missing cell::") for one in lines) == 3
    page = tmp_path / "r.html"
    assert ioplan("report", *sides, "--output", page).code == 0
    assert page.read_text().count(f">{side} has not measured") == 3


def test_cells_that_both_sides_lack_are_missing(
    store_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two sessions of one plan, both killed after the first of its four cells."""
    text = 'test "T" { run random 4KiB 100/0 for 1s\n vary qd in 1, 2, 4, 8 }'
    plan = plan_file(tmp_path, text)
    for _ in range(2):
        killed_after(1, plan, monkeypatch)
    with Store.open(store_path) as store:
        new, base = (one.id for one in store.sessions())
    done = ioplan("compare", base, new, "--format", "json")
    assert done.code == 1
    assert json.loads(done.out)["neither"] == ["T: qd=2", "T: qd=4", "T: qd=8"]
    root = ElementTree.fromstring(ioplan("compare", base, new, "--format", "junit").out)
    texts = [one.get("message", "") for one in root.findall(".//error")]
    assert texts == [f"BASE and NEW have not measured T: qd={n}" for n in (2, 4, 8)]


@pytest.mark.parametrize(
    ("ran", "limit", "verdict", "shown"),
    [
        (1, "iops > 1", "not measured", "held 1 of 4"),
        (3, "iops > 1", "not measured", "held 3 of 4"),
        (1, "iops > 100_000_000", "failed", "failed"),
        (4, "iops > 1", "held", "held"),
    ],
)
def test_a_killed_session_has_not_held(
    ran: int,
    limit: str,
    verdict: str,
    shown: str,
    tmp_path: Path,
    store_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of four cells some were measured; a run of all that is stopped has held."""
    text = 'test "T" { run random 4KiB 100/0 for 1s\n vary qd in 1, 2, 4, 8\n'
    plan = plan_file(tmp_path, f"{text} expect {limit} }}")
    killed_after(ran, plan, monkeypatch)
    (one,) = ioplan("ls", "--format", "jsonl").lines
    held = ran if limit == "iops > 1" else 0
    assert (one["verdict"], one["held"], one["expected"]) == (verdict, held, 4)
    assert f" {shown} " in ioplan("ls").out
    assert bool(ioplan("ls", "--verdict", "held", "--format", "jsonl").lines) == (
        verdict == "held"
    )
    assert ioplan("ls", "--verdict", verdict, "--format", "jsonl").lines == [one]


def test_a_cell_that_the_plan_gained_is_not_missing(store_path: Path) -> None:
    with Store.open(store_path) as store:
        base, new = cut_session(store, 1, 3), cut_session(store, 2, 4)
    done = ioplan("compare", base, new)
    assert done.code == 0 and "BASE has no demo: " in done.out
    assert "missing" not in done.out and ioplan("compare", new, base).code == 1


# outputs


@pytest.fixture
def pair(store_path: Path) -> tuple[str, str]:
    """Three sessions a side, alternating: slower at queue depth 1, faster at 2."""
    with Store.open(store_path) as store:
        base = [store_session(store, number) for number in (1, 3, 5)]
        change = {"1": -0.2, "2": 0.3, "4": -0.03}
        new = [store_session(store, number, change) for number in (2, 4, 6)]
    return ",".join(base), ",".join(new)


def test_text_fits_80_columns_and_is_plain(pair: tuple[str, str]) -> None:
    done = ioplan("compare", *pair, "--all")
    assert all(len(line) <= 80 for line in done.out.splitlines() if "BASE" not in line)
    assert "\x1b" not in done.out
    assert re.search(r"worse +qd=1 +iops .* -\d\d\.\d % +-\d+\.\d … -\d+\.\d", done.out)
    short = ioplan("compare", *pair)
    assert "\n equal " in done.out and "\n equal " not in short.out
    assert re.search(r"\d+ worse, 3 better, \d+ equal", short.out)


def test_new_is_the_last_session_by_itself(pair: tuple[str, str]) -> None:
    base, last = pair[0], pair[1].split(",")[-1]
    assert ioplan("compare", base).out == ioplan("compare", base, last).out


def test_a_file_is_written(pair: tuple[str, str], tmp_path: Path) -> None:
    out = tmp_path / "c.txt"
    assert ioplan("compare", *pair, "-o", out).code == 1
    assert out.read_text() == ioplan("compare", *pair).out


def test_junit(pair: tuple[str, str]) -> None:
    done = ioplan("compare", *pair, "--format", "junit")
    assert done.code == 1
    root = ElementTree.fromstring(done.out)
    found = rows(compared(*pair))
    found += json.loads(compared(*pair).out)["all_cells"]
    assert len(root.findall(".//testcase")) == len(found) == 15
    for verdict, tag in (("worse", "failure"), ("undecided", "skipped")):
        count = sum(row["verdict"] == verdict for row in found)
        assert len(root.findall(f".//{tag}")) == count
    suite = root.find("testsuite[@name='Reads']")
    assert suite is not None and int(suite.get("tests", 0)) == 12
    assert int(suite.get("failures", 0)) == len(suite.findall(".//failure")) > 0


def test_github_annotations(pair: tuple[str, str]) -> None:
    lines = ioplan("compare", *pair, "--format", "github").out.splitlines()
    assert all(
        re.match(r"::(error|warning|notice) title=[^:,]*::.", one) for one in lines
    )
    assert any(one.startswith("::error title=Reads qd=1::worse: iops") for one in lines)
    assert "%25" in lines[-1]


def test_markdown(pair: tuple[str, str]) -> None:
    lines = ioplan("compare", *pair, "--format", "markdown").out.splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len({line.count(" | ") for line in table}) == 1
    assert any(line.startswith("| worse | Reads | qd=1 | iops |") for line in table)


def test_a_report_says_what_compare_says(pair: tuple[str, str], tmp_path: Path) -> None:
    """Of the same two sessions, word for word."""
    base, new = pair[0].split(",")[0], pair[1].split(",")[0]
    page = tmp_path / "r.html"
    assert ioplan("report", base, new, "--output", page).code == 0
    told = [
        line
        for line in ioplan("compare", base, new).out.splitlines()
        if " over 4 cells" in line
    ]
    html = page.read_text()
    assert len(told) == 3 and all(f">{line}</li>" in html for line in told)
    assert f"{new} compared with {base}: " in html


HOSTILE = 'a|b <script>x</script>\n::error::x\x1b[31m]]>&"%0A\x00 @all [x](http://x)'


def test_hostile_names_are_text(store_path: Path) -> None:
    made = measurement()
    with Store.open(store_path) as store:
        sides = []
        for id in ("20260101-000000-aaaa", "20260102-000000-bbbb"):
            store.begin(session(id, plan=HOSTILE, target=HOSTILE))
            one = record(
                1, session=id, test=HOSTILE, made=made, cell={HOSTILE: HOSTILE}
            )
            store.add(one, made.detail)
            sides.append(side_of(store, [store.session(id)]))
        found = compare(Reader(store), *sides, Question())
    root = ElementTree.fromstring(junit(found))
    assert "<script>" in str(root[0].get("name"))
    assert all(line.startswith("::") for line in github(found).splitlines())
    assert "::error::x" not in re.sub(r"(?m)^::.*?::", "", github(found)).split("\n")
    assert "\x1b" not in markdown(found) and "<script>" not in markdown(found)
    rest = re.sub(r"\\.", "", markdown(found))
    assert "<" not in rest and "](" not in rest and "@" not in rest
    done = ioplan("compare", "20260101", "20260102", "--all")
    assert "\x1b" not in done.out and not re.search(r"(?m)^::error", done.out)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--format", "jason"), "did you mean 'json'?"),
        (("--threshold", "2"), "takes a share, for example 2%"),
        (("--noise", "1ms"), "takes a share, for example 2%"),
        (("--metric", "iopz"), "did you mean 'iops'?"),
        (("--metric", "errors"), "cannot be compared as a ratio"),
    ],
)
def test_bad_calls(
    options: tuple[str, ...], message: str, pair: tuple[str, str]
) -> None:
    done = ioplan("compare", *pair, *options)
    assert done.code == 2 and message in done.err and done.out == ""


def test_what_cannot_be_compared(ran: Ran) -> None:
    one = ran()
    other = ran('test "T" { run sequential 1MiB 100/0 for 1s }')
    assert "on both sides" in ioplan("compare", one, one).err
    assert "no cell in common" in ioplan("compare", one, other).err
    assert "no session" in ioplan("compare", one, "nope").err


@pytest.mark.promise("exit_codes.compare")
def test_a_session_without_runs(ran: Ran, store_path: Path) -> None:
    one = ran()
    with Store.open(store_path) as store:
        store.begin(session("20260101-000000-aaaa", status="interrupted"))
    done = ioplan("compare", "20260101", one)
    assert done.code == 2 and "no run to compare: it is interrupted" in done.err


# of baseline


@pytest.mark.promise("verdicts.baseline")
def test_a_named_baseline_without_the_run_is_not_passed_over(
    ran: Ran, tmp_path: Path
) -> None:
    text = 'test "T" { run random 4KiB 100/0 for 1s\n expect iops >= 90% of baseline }'
    first = ran(text)
    drive = ("--backend", "sim", "--create", "256MiB")
    options = (*drive, "--json", "--baseline", first)
    same = ioplan("run", plan_file(tmp_path, text), *options)
    assert same.code == 0 and same.of("verdict")[0]["outcome"] == "held"
    other = ioplan("run", plan_file(tmp_path, text.replace("4K", "8K")), *options)
    assert other.code == 1 and other.of("verdict")[0]["outcome"] == "no baseline"


@pytest.mark.promise("verdicts.baseline")
def test_a_baseline_of_another_drive_is_no_limit(ran: Ran, tmp_path: Path) -> None:
    """The run was done there, too, and its figure would be held."""
    text = 'test "T" { run random 4KiB 100/0 for 1s\n expect iops >= 1% of baseline }'
    first = ran(text)
    options = ("--backend", "sim", "--create", "512MiB", "--json", "--baseline", first)
    done = ioplan("run", plan_file(tmp_path, text), *options)
    (verdict,) = done.of("verdict")
    assert done.code == 1 and verdict["outcome"] == "undecided"
    assert f"baseline {first} is of ioplan sim SIM" in verdict["why"]


BASED = 'test "T" { run random 4KiB 100/0 for 1s\n expect iops >= 1% of baseline }'


def based(tmp_path: Path, size: str, *words: str) -> str:
    """A session on the simulated drive of a size; its id."""
    options = ("--backend", "sim", "--quiet", "--create", size, *words)
    ioplan("run", plan_file(tmp_path, BASED), *options)
    return newest()


def verdict_with(tmp_path: Path, key: str, size: str, *more: str) -> dict[str, Any]:
    """The one verdict of a run on the simulated drive of a size, with a baseline."""
    words = ("--backend", "sim", "--create", size, "--json", "--baseline", key, *more)
    done = ioplan("run", plan_file(tmp_path, BASED), *words)
    assert done.code in (0, 1), done.err
    (verdict,) = done.of("verdict")
    return verdict


def test_the_last_baseline_is_of_the_same_plan_and_drive(
    ran: Ran, tmp_path: Path
) -> None:
    """Neither the newest session, nor the newest of this plan, is it."""
    mine = based(tmp_path, "256MiB")
    ran('plan "Other"\n' + BASED)
    based(tmp_path, "512MiB")
    verdict = verdict_with(tmp_path, "last", "256MiB")
    assert (verdict["outcome"], verdict["baseline"]) == ("held", mine)
    assert verdict["limit"] == pytest.approx(verdict["baseline_value"] / 100)


@pytest.mark.usefixtures("store_path")
def test_a_baseline_by_tag_is_of_this_drive_before_others(tmp_path: Path) -> None:
    mine = based(tmp_path, "256MiB", "--tag", "golden")
    other = based(tmp_path, "512MiB", "--tag", "golden")
    assert verdict_with(tmp_path, "golden", "256MiB")["baseline"] == mine
    assert verdict_with(tmp_path, "golden", "512MiB")["baseline"] == other
    verdict = verdict_with(tmp_path, "golden", "1GiB")
    assert (verdict["outcome"], verdict["baseline"]) == ("undecided", "")
    assert "is of 512MiB in blocks of 512 B, this run of 1GiB" in verdict["why"]


def test_a_killed_or_missing_baseline_is_none(store_path: Path, tmp_path: Path) -> None:
    based(tmp_path, "256MiB")
    for key in ("last@/no/where", "drive:NONE", "nothing"):
        words = ("--backend", "sim", "--create", "256MiB", "--baseline", key)
        done = ioplan("run", plan_file(tmp_path, BASED), *words)
        assert done.code == 2 and "no" in done.err and "session" in done.err
    with Store.open(store_path) as store:
        store.finish(store.session("last").id, "interrupted", "2026-01-01T00:00:00Z")
    words = ("--backend", "sim", "--create", "256MiB", "--baseline", "last")
    done = ioplan("run", plan_file(tmp_path, BASED), *words)
    assert done.code == 2 and "leave --baseline out of the first run" in done.err


@pytest.mark.usefixtures("store_path")
def test_a_verdict_shows_limit_baseline_and_its_session(tmp_path: Path) -> None:
    mine = based(tmp_path, "256MiB")
    words = ("--backend", "sim", "--create", "256MiB", "--baseline", "last")
    done = ioplan("run", plan_file(tmp_path, BASED), *words)
    shown = " ".join(done.out.split())
    assert re.search(rf"limit [\d.]+, baseline [\d.k]+ in session {mine}", shown)


@pytest.mark.slow
@pytest.mark.promise("verdicts.baseline")
def test_a_baseline_by_another_backend_is_no_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file's figure is none of the simulated drive, though the path is the same."""
    monkeypatch.setenv("IOPLAN_STORE", str(tmp_path / "results.db"))
    text = (
        'test "T" { run random 4KiB 100/0 for 200ms\n expect p99 <= 900% of baseline }'
    )
    file = plan_file(tmp_path, text)
    options = ("--target", tmp_path / "s.bin", "--create", "32MiB", "--json")
    ioplan("run", file, "--backend", "io_uring", *options)
    first = newest()
    done = ioplan("run", file, "--backend", "sim", *options, "--baseline", first)
    (verdict,) = done.of("verdict")
    assert done.code == 1 and verdict["outcome"] == "undecided"
    assert f"baseline {first} is by io_uring, this run by sim" in verdict["why"]


def test_the_terminal_gets_what_is_decided_and_no_thousand_rows() -> None:
    """All of them are in --all, and in the other formats."""
    verdicts = ["undecided"] * MOST_ROWS + ["worse", "better"]
    rows = [
        Row.model_construct(verdict=verdict, cell={"qd": str(number)})
        for number, verdict in enumerate(verdicts)
    ]
    kept = _most_telling(rows)
    assert len(kept) == MOST_ROWS
    assert [row.verdict for row in kept[-2:]] == ["worse", "better"]
    assert [row.cell["qd"] for row in kept[:3]] == ["0", "1", "2"]
    assert _most_telling(rows[:5]) == rows[:5]


def test_sides_have_what_comparing_asks_of_a_run(store_path: Path) -> None:
    metrics = tuple(
        parse_metric(name, ["main"])
        for name in ("iops", "p90", "main.read.mean", "cpu")
    )
    with Store.open(store_path) as store:
        for id in ("A", "B"):
            store.begin(session(id, status="ok"))
            made = measurement(1)
            store.add(record(1, session=id, made=made), made.detail)
        whole = list(store.records("A"))
        (plain,), (side, other) = (
            [side_of(store, [store.session(id)], parts=parts) for id in ids]
            for parts, ids in ((False, "A"), (True, "AB"))
        )
        (run,) = side.cells[0].runs
        asked, full = run.asked, whole[0].asked
        assert asked.workload == full.workload
        assert asked.job.run_ns == full.job.run_ns
        assert run.streams == whole[0].streams and not plain.cells[0].runs[0].streams
        found = compare(Reader(store), side, other, Question(metrics=metrics))
    assert [row.ratio for row in found.rows] == [1.0] * len(metrics)
