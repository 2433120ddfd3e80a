"""What a terminal shows below the lines while a run is under way."""

import io
import json
import re

import pytest
import scripted
from command import ioplan, plan_file, succeed
from figures import changed, measurement, record
from plans import checked

from ioplan.cli import LiveLines, Terminal
from ioplan.job import Progress
from ioplan.planner import unfold
from ioplan.records import Interval
from ioplan.results.store import Store

PLAN = 'test "T" { run random 4KiB 70/30 for 10min vary qd in 1, 2 }'
STEPS = list(unfold(checked(PLAN)))


WRITES = 'precondition p { write random 4KiB, qd 8, 2 passes } test "T" { after p run random 4KiB 0/100 for 1s }'
FILL = 'precondition p { write sequential 1MiB, qd 8, 1 pass } test "T" { after p run random 4KiB 0/100 for 1s }'
BYTES = 'test "T" { run random 4KiB 70/30 for 8GB }'


def _interval(ios, size=4096):
    return Interval(
        t_s=1.0, length_s=1.0, ios={"write": ios}, bytes={"write": ios * size}, errors=0,
        mean_ns=1e6, p50_ns=1e6, p99_ns=1e6, p99_9_ns=1e6, max_ns=1_000_000,
    )  # fmt: skip


def _progress_line(plan, width, interval, done, left_s=240.0):
    """What stands below the lines in the first step, as the terminal has it."""
    lines = LiveLines(Terminal(file=io.StringIO(), width=width, highlight=False))
    lines.step(next(unfold(checked(plan))), 7)
    lines.eta(left_s)
    lines.progress(Progress(t_ns=1, interval_ns=10**9, streams=()), interval, done)
    console = lines.live.console
    with console.capture() as capture:
        console.print(lines.live.renderable)
    (line,) = capture.get().splitlines()
    assert len(line) <= width
    return line


@pytest.mark.parametrize(
    ("plan", "interval", "done", "line"),
    [
        (WRITES, (62_600,), 0.6, "7  p: 1.2 of 2 passes written, 62.6k IOPS, 4 min left"),
        (FILL, (2000, 1 << 20), 0.5, "7  p: 0.5 of 1 pass written, 2.10 GB/s, 4 min left"),
        (PLAN, (1000,), 0.3, "7  qd=1: 3 min of 10 min, 1,000 IOPS, 4 min left"),
        (BYTES, (1000,), 0.5, "4.00 GB of 8.00 GB, 1,000 IOPS, 4 min left"),
    ],
)  # fmt: skip
def test_progress_is_one_line(plan, interval, done, line):
    assert _progress_line(plan, 80, _interval(*interval), done).endswith(line)
    assert "4 min left" in _progress_line(plan, 60, _interval(*interval), done)


WARNING = "the load generator waited for a CPU {} % of the run"


def test_a_warning_is_printed_once_and_a_step_has_one_line():
    """Also where its figures differ."""
    made, out = measurement(), io.StringIO()
    lines = LiveLines(Terminal(file=out, width=80, highlight=False))
    for number, step in enumerate(STEPS, 1):
        lines.step(step, number)
        texts = (WARNING.format(20 + number),)
        lines.record(changed(record(number, made), warnings=texts))
    heading, *rows = out.getvalue().splitlines()
    assert heading == "T" and max(map(len, rows)) <= 80
    assert [row.strip()[:2] for row in rows] == ["1 ", "wa", "2 "]
    assert rows[1].strip() == f"warning: {WARNING.format(21)}"


def test_a_failed_run_is_marked_and_its_reason_printed_once():
    out = io.StringIO()
    lines = LiveLines(Terminal(file=out, width=80, highlight=False))
    for number, step in enumerate(STEPS, 1):
        lines.step(step, number)
        change = {"status": "failed", "message": f"{number} reads failed: EIO"}
        lines.record(record(number, measurement()).model_copy(update=change))
    _, first, reason, second = out.getvalue().splitlines()
    assert first.endswith("IOPS  ✕ failed") and second.endswith("IOPS  ✕ failed")
    assert reason.strip() == "1 reads failed: EIO"


# a seek whose short runs are no proof

SEEK = """plan "S"
test "S" {{
  run random 4KiB 100/0, qd 8 for 30s
  seek highest rate in 1_000 iops..200_000 iops where p99 <= 1ms, within 5%
{expected}  headline rate
}}
"""
TRUTH = 20_000


def sought(folder, target, seed, *limits):
    expected = "".join(f"  expect rate >= {one} iops\n" for one in limits)
    plan, store = plan_file(folder, SEEK.format(expected=expected)), folder / "s.db"
    options = ("--option", f"target={target}", "--option", f"seed={seed}")
    done = ioplan("run", plan, "--backend", "scripted", *options, "--store", store)
    with Store.open(store) as opened:
        session = opened.session("last")
        (found,) = (r.found for r in opened.records(session.id) if r.found)
    return done, found


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(scripted.install(tmp_path / "installed")))
    return tmp_path


@pytest.mark.parametrize(
    ("target", "seed"), [("credit", 1), ("credit", 2), ("stalling credit", 3)]
)
@pytest.mark.promise("seek.unconfirmed")
def test_what_a_credit_bears_for_a_time_holds_no_expectation(folder, target, seed):
    """45 s bear any rate, runs are of 30 s: only long runs find what is sustained."""
    done, found = sought(folder, target, seed, 2 * TRUTH)
    assert done.code == 1
    assert re.search(r"1 of \d+ expectations? (undecided|failed)", done.out)
    headline = " ".join(done.out.partition("Headlines")[2].split())
    assert found.value is None or found.yes_at is not None
    if found.confirmed:
        assert found.value and found.value <= TRUTH * 1.01
        assert found.no_at and found.no_at >= TRUTH
        assert "not confirmed" not in headline
    else:
        assert "not confirmed by a long run" in headline or "no figure" in headline


@pytest.mark.promise("seek.undecided")
def test_a_limit_between_yes_and_no_is_undecided(folder):
    """The value is the last yes, and the truth above it, up to the no."""
    _, found = sought(folder, "credit", 1, 1_000)
    assert found.value and found.no_at and found.confirmed
    middle = round((found.value + found.no_at) / 2)
    limits = (round(found.value), middle, round(found.no_at))
    done, again = sought(folder, "credit", 1, *limits)
    assert again.value == found.value and done.code == 1
    shown = succeed("show", "--tables", "--store", folder / "s.db").out
    for limit, verdict in zip(limits, ("passed", "undecided", "failed"), strict=True):
        assert re.search(rf"{verdict}.*expect rate >= {limit}", shown), shown


# plan on several targets: each has a lane, and all rates for itself

NOTE = "each of the 2 targets gets each rate of the plan in full"
RATED = 'test "T" { run random 4KiB 100/0, rate 300 iops for 1s }'
CLOSED = 'test "T" { run random 4KiB 100/0, qd 4 for 1s }'


@pytest.fixture
def lab(tmp_path):
    """Two targets, of which only the first is a file, and a group of both."""
    (tmp_path / "a.bin").write_bytes(bytes(1 << 20))
    lab = tmp_path / "lab.toml"
    entries = (f'[targets.{n}]\npath = "{tmp_path}/{n}.bin"\n' for n in "ab")
    lab.write_text("\n".join(entries) + '[groups]\nboth = ["a", "b"]\n')
    return lab


def test_a_plan_with_a_rate_says_that_it_is_not_shared(tmp_path, lab):
    plan = plan_file(tmp_path, RATED)
    for words in (("both",), ("a", "--target", "b")):
        done = succeed("plan", plan, "--lab", lab, "--target", *words)
        assert NOTE in done.err
    done = ioplan("plan", plan, "--lab", lab, "--target", "both", "--json")
    assert NOTE in done.err
    assert json.loads(done.out)


def test_one_target_or_no_rate_has_no_note(tmp_path, lab):
    for text, target in ((RATED, "a"), (CLOSED, "both")):
        plan = plan_file(tmp_path, text)
        done = ioplan("plan", plan, "--lab", lab, "--target", target)
        assert (done.code, done.err) == (0, "")


SHARED = """test "T" {
  run random 4KiB 100/0, rate 300 iops over all, on targets a, b for 1s
}"""


def test_a_plan_that_shares_a_rate_has_one_job_and_no_note(tmp_path, lab):
    (tmp_path / "b.bin").write_bytes(bytes(2 << 20))
    plan = plan_file(tmp_path, SHARED)
    words = ("plan", plan, "--lab", lab, "--target", "both")
    done = ioplan(*words)
    assert (done.code, done.err) == (0, "")
    native = ioplan(*words, "--backend", "io_uring", "--show-native").out
    job = json.loads(native.partition("\n")[2])
    assert [one["name"] for one in job["targets"]] == ["a", "b"]
    assert job["streams"][0]["target_numbers"] == [0, 1]
    assert job["capacity_bytes"] == 1 << 20
