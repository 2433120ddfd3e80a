"""What a terminal shows below the lines while a run is under way."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
import scripted
from command import Done, ioplan, plan_file, succeed
from plans import checked

from ioplan.cli import LiveLines, Terminal
from ioplan.job import Progress
from ioplan.planner import unfold
from ioplan.records import Found, Interval
from ioplan.results.store import Store

PLAN = 'test "T" { run random 4KiB 70/30 for 10min vary qd in 1, 2 }'
STEPS = list(unfold(checked(PLAN)))


def _interval(second: int, ios: int, p99_ns: float | None) -> Interval:
    return Interval(
        t_s=second, length_s=1.0, ios={"read": ios}, bytes={"read": ios * 4096}, errors=0,
        mean_ns=p99_ns, p50_ns=p99_ns, p99_ns=p99_ns, p99_9_ns=p99_ns, max_ns=int(p99_ns or 0),
    )  # fmt: skip


def _shown(lines: LiveLines) -> list[str]:
    """The live part, as the terminal has it."""
    with lines.live.console.capture() as capture:
        lines.live.console.print(lines.live.renderable)
    return capture.get().splitlines()


def _lines(width: int) -> LiveLines:
    lines = LiveLines(Terminal(file=io.StringIO(), width=width, highlight=False))
    lines.step(STEPS[0], 1)
    return lines


def _run(lines: LiveLines, seconds: int, slow: int) -> None:
    """1,000 IOPS of 1 ms, but for one second of 125 IOPS of 8 ms."""
    for second in range(seconds):
        ios, p99_ns = (125, 8e6) if second == slow else (1000, 1e6)
        event = Progress(t_ns=second, interval_ns=10**9, streams=())
        lines.progress(event, _interval(second, ios, p99_ns), second / seconds)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_slow_second_is_where_it_was_in_both(width: int) -> None:
    lines = _lines(width)
    _run(lines, 400, slow=395)
    step, sparks, _ = _shown(lines)
    half = (width - len("IOPS   p99 ")) // 2
    assert len(step) <= width and len(sparks) <= width
    iops, _, p99 = sparks.removeprefix("IOPS ").partition("  p99 ")
    assert iops == "█" * (half - 5) + "▁" + "█" * 4
    assert p99 == "▁" * (half - 5) + "█" + "▁" * 4


def test_the_next_run_begins_anew() -> None:
    lines = _lines(80)
    _run(lines, 2, slow=1)
    assert not any(row.startswith("IOPS") for row in _shown(lines))
    _run(lines, 1, slow=1)
    assert _shown(lines)[1] == "IOPS █▁█  p99 ▁█▁"
    lines.step(STEPS[1], 2)
    assert not any(row.startswith("IOPS") for row in _shown(lines))


def test_an_interval_without_io_is_blank() -> None:
    lines = _lines(80)
    for second, ios in enumerate((100, 0, 1, 50)):
        event = Progress(t_ns=second, interval_ns=10**9, streams=())
        lines.progress(event, _interval(second, ios, 1e6 if ios else None), None)
    assert _shown(lines)[1] == "IOPS █ ▁▄  p99 █ ██"


# a seek whose short runs are no proof

SEEK = """plan "S"
test "S" {{
  run random 4KiB 100/0, qd 8 for 30s
  seek highest rate in 1_000 iops..200_000 iops where p99 <= 1ms, within 5%
{expected}  headline rate
}}
"""
TRUTH = 20_000


def sought(folder: Path, target: str, seed: int, *limits: int) -> tuple[Done, Found]:
    expected = "".join(f"  expect rate >= {one} iops\n" for one in limits)
    plan, store = plan_file(folder, SEEK.format(expected=expected)), folder / "s.db"
    options = ("--option", f"target={target}", "--option", f"seed={seed}")
    done = ioplan("run", plan, "--backend", "scripted", *options, "--store", store)
    with Store.open(store) as opened:
        session = opened.session("last")
        (found,) = (r.found for r in opened.records(session.id) if r.found)
    return done, found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(scripted.install(tmp_path / "installed")))
    return tmp_path


@pytest.mark.parametrize(
    ("target", "seed"), [("credit", 1), ("credit", 2), ("stalling credit", 3)]
)
@pytest.mark.promise("seek.unconfirmed")
def test_what_a_credit_bears_for_a_time_holds_no_expectation(
    folder: Path, target: str, seed: int
) -> None:
    """45 s bear any rate, runs are of 30 s: only long runs find what is sustained."""
    done, found = sought(folder, target, seed, 2 * TRUTH)
    assert done.code == 1
    assert "1 undecided" in done.out or "1 failed" in done.out
    headline = " ".join(done.out.partition("Headlines")[2].split())
    assert found.value is None or found.yes_at is not None
    if found.confirmed:
        assert found.value and found.value <= TRUTH * 1.01
        assert found.no_at and found.no_at >= TRUTH
        assert "not confirmed" not in headline
    else:
        assert "not confirmed by a long run" in headline or "no figure" in headline


@pytest.mark.promise("seek.undecided")
def test_a_limit_between_yes_and_no_is_undecided(folder: Path) -> None:
    """The value is the last yes, and the truth above it, up to the no."""
    _, found = sought(folder, "credit", 1, 1_000)
    assert found.value and found.no_at and found.confirmed
    middle = round((found.value + found.no_at) / 2)
    limits = (round(found.value), middle, round(found.no_at))
    done, again = sought(folder, "credit", 1, *limits)
    assert again.value == found.value and done.code == 1
    for limit, verdict in zip(limits, ("held", "undecided", "failed"), strict=True):
        assert re.search(rf"{verdict}.*expect rate >= {limit}", done.out), done.out


# plan on several targets: each has a lane, and all rates for itself

NOTE = "each of the 2 targets gets each rate of the plan in full"
RATED = 'test "T" { run random 4KiB 100/0, rate 300 iops for 1s }'
CLOSED = 'test "T" { run random 4KiB 100/0, qd 4 for 1s }'


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """Two targets, of which only the first is a file, and a group of both."""
    (tmp_path / "a.bin").write_bytes(bytes(1 << 20))
    lab = tmp_path / "lab.toml"
    entries = (f'[targets.{n}]\npath = "{tmp_path}/{n}.bin"\n' for n in "ab")
    lab.write_text("\n".join(entries) + '[groups]\nboth = ["a", "b"]\n')
    return lab


def test_a_plan_with_a_rate_says_that_it_is_not_shared(
    tmp_path: Path, lab: Path
) -> None:
    plan = plan_file(tmp_path, RATED)
    for words in (("both",), ("a", "--target", "b")):
        done = succeed("plan", plan, "--lab", lab, "--target", *words)
        assert NOTE in done.err
    done = ioplan("plan", plan, "--lab", lab, "--target", "both", "--json")
    assert NOTE in done.err
    assert json.loads(done.out)


def test_one_target_or_no_rate_has_no_note(tmp_path: Path, lab: Path) -> None:
    for text, target in ((RATED, "a"), (CLOSED, "both")):
        plan = plan_file(tmp_path, text)
        done = ioplan("plan", plan, "--lab", lab, "--target", target)
        assert (done.code, done.err) == (0, "")


SHARED = """test "T" {
  run random 4KiB 100/0, rate 300 iops over all, on targets a, b for 1s
}"""


def test_a_plan_that_shares_a_rate_has_one_job_and_no_note(
    tmp_path: Path, lab: Path
) -> None:
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
