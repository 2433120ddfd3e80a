"""Answers: what a drive holds under a limit, measured or bounded by its neighbours."""

from __future__ import annotations

from math import inf
from pathlib import Path

import pytest
from command import ioplan
from hypothesis import given
from hypothesis import strategies as st

from ioplan.language.check.check import check
from ioplan.language.syntax.source import Source
from ioplan.results.report.answers.answer import Held, answer
from ioplan.results.report.answers.load import Load
from ioplan.results.report.answers.question import QuestionError, parse_question, uses
from ioplan.results.report.answers.wording import expectation, lines, ranked, sentence

ASKED = parse_question("random 8KiB 70/30, p99 < 1ms")


def load(
    depth: int,
    iops: float,
    ms: float | None,
    read: float = 70,
    kib: float = 8,
    **more: object,
) -> Load:
    sizes = ((round(kib * 1024), 100.0),)
    latencies = {} if ms is None else {"p99": ms * 1e6}
    return Load(read, sizes, depth, 0.0, iops, latencies, **more)  # type: ignore[arg-type]


def held(*found: Load, question: str = "random 8KiB 70/30, p99 < 1ms") -> Held:
    known = answer(parse_question(question), found)
    assert known
    return known


@pytest.mark.parametrize(
    ("text", "load", "demand"),
    [
        ("database 70/30 8KiB, p99 < 1ms", "random 8KiB 70/30", "p99 < 1ms"),
        ("8KiB 70/30", "random 8KiB 70/30", ""),
        ("email, p99.9 <= 2ms", "random 8KiB 50/50", "p99.9 <= 2ms"),
        ("backup 128KiB", "sequential 128KiB 100/0", ""),
        ("sequential 4KiB 0/100, mean < 50us", "sequential 4KiB 0/100", "mean < 50us"),
    ],
)
def test_a_question_is_a_load_of_a_plan(text: str, load: str, demand: str) -> None:
    found = parse_question(text)
    assert (found.load, found.demand) == (load, demand)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("databse, p99 < 1ms", "did you mean 'database'?"),
        ("4KiB", "no share of reads"),
        ("random 70/30", "no block size"),
        ("random sequential 4KiB 70/30", "not one load"),
        ("oltp, p99 < 1", "needs a unit"),
        ("oltp, iops > 5", "no limit of a latency"),
        ("oltp, p99 > 1ms", "no limit of a latency"),
        ("oltp, p99 < 1ms, mean < 1ms", "one limit at a time"),
        ("oltp, p9x < 1ms", "p9x"),
        ("random 3B 70/30", "3"),
        ("", "ask"),
    ],
)
def test_what_is_no_question_is_refused_with_an_example(text: str, why: str) -> None:
    with pytest.raises(QuestionError, match="database 70/30 8KiB, p99 < 1ms") as error:
        parse_question(text)
    assert why in str(error.value)


@pytest.mark.parametrize("name", uses())
def test_each_workload_of_the_library_is_a_use(name: str) -> None:
    found = parse_question(f"{name}, p99 < 1ms")
    text = f'plan "p"\n{found.test("expect iops >= 10 iops when qd == 1")}\n'
    plan = check(Source("plan", text))
    assert plan.tests[0].title == name


def test_the_most_is_between_the_cell_that_holds_and_the_next() -> None:
    found = held(load(1, 10e3, 0.2), load(4, 30e3, 0.6), load(16, 50e3, 1.4))
    assert (found.low, found.high) == (30e3, 50e3)
    assert found.value == pytest.approx(40e3)
    assert sentence(ASKED, "A", found) == (
        "A holds about 40.0k IOPS (30.0k to 50.0k) with p99 < 1ms, "
        "between QD 4 and QD 16 (1.40 ms)"
    )


@given(
    st.floats(0.05, 2.0), st.floats(1.1, 4.0), st.lists(st.integers(1, 300), min_size=2)
)
def test_the_truth_of_a_queue_lies_within_the_bounds(
    idle_ms: float, growth: float, depths: list[int]
) -> None:
    """Of a drive whose latency grows with its depth, asked at a few depths only."""

    def at(depth: float) -> tuple[float, float]:
        ms = idle_ms * (1 + (depth / 16) ** growth)
        return 50e3 * depth / (depth + 16), ms

    curve = [load(depth, *at(depth)) for depth in sorted(set(depths))]
    found = answer(ASKED, curve)
    assert found
    fine = [at(depth / 50) for depth in range(1, 50 * 300)]
    most = max((iops for iops, ms in fine if ms < 1), default=0.0)
    if found.value is None:
        assert most <= found.high + 1
    else:
        assert found.low - 60 <= most and (found.high == inf or most <= found.high + 60)
        assert found.low <= found.value <= found.high or found.high == inf


def test_beyond_what_was_measured_nothing_is_made_up() -> None:
    found = held(load(1, 10e3, 0.2), load(4, 30e3, 0.6))
    assert found.high == inf and found.value == 30e3
    assert "at least 30.0k IOPS" in sentence(ASKED, "A", found)
    assert "no higher load was measured" in sentence(ASKED, "A", found)


def test_a_drive_that_is_slower_at_once_holds_nothing() -> None:
    found = held(load(1, 10e3, 1.3), load(4, 30e3, 2.6))
    assert found.value is None and expectation(found) == ""
    assert sentence(ASKED, "A", found) == (
        "A does not hold p99 < 1ms: p99 is 1.30 ms at QD 1, the lowest load"
    )


def test_more_depth_without_more_throughput_holds_what_was_measured() -> None:
    found = held(load(16, 50e3, 0.9), load(64, 48e3, 3.0))
    assert found.is_measured and found.value == found.high == 50e3
    assert expectation(found) == "expect iops >= 50_000 iops when qd == 16"


@pytest.mark.parametrize(
    ("low", "high", "bounded"), [(65, 100, True), (50, 80, True), (50, 100, False)]
)
def test_a_share_between_two_is_bounded_by_both(
    low: int, high: int, bounded: bool
) -> None:
    found = answer(ASKED, [load(8, 20e3, 0.5, low), load(8, 60e3, 0.5, high)])
    if not bounded:  # too far apart
        assert found is None
        return
    assert found and found.value and 20e3 < found.value < 60e3
    assert found.low == 20e3 and not found.is_measured
    part = (70 - low) / (high - low)
    assert 1 / found.value == pytest.approx((1 - part) / 20e3 + part / 60e3)


def test_a_size_between_two_is_bounded_by_both() -> None:
    near = [load(8, 60e3, 0.5, kib=4), load(8, 20e3, 0.5, kib=16)]
    found = answer(ASKED, near)
    assert found and found.value and 20e3 < found.value < 60e3
    assert "sizes of 4 and 16 KiB" in sentence(ASKED, "A", found)
    far = [load(8, 60e3, 0.5, kib=4), load(8, 20e3, 0.5, kib=32)]
    assert answer(ASKED, far) is None


@pytest.mark.parametrize(("read", "kib"), [(80, 8), (70, 4), (60, 16)])
def test_one_neighbour_says_nothing(read: float, kib: float) -> None:
    assert answer(ASKED, [load(1, 10e3, 0.2, read, kib)]) is None


def test_a_percentile_of_too_few_samples_says_nothing() -> None:
    assert answer(ASKED, [load(1, 10e3, None)]) is None


def test_the_drive_that_holds_most_is_first_and_the_unknown_last() -> None:
    known = {
        "none": None,
        "little": held(load(1, 10e3, 0.2)),
        "slow": held(load(1, 10e3, 1.2)),
        "much": held(load(1, 90e3, 0.2, watts=8.3, drive_writes=3.2)),
    }
    assert [label for label, _ in ranked(known)] == ["much", "little", "slow", "none"]
    said = list(lines(ASKED, known))
    assert said[1] == "  8.30 W, 3.20 drive writes a day"
    assert said[-1] == "none: not measured"


PLAN = """plan "Depths"
test "mix" {
  run  random 8KiB 70/30 for 2s
  vary qd in 1, 4, 16, 64
}
"""


@pytest.mark.long
def test_an_answer_has_the_figures_of_the_export(tmp_path: Path) -> None:
    (tmp_path / "p.ioplan").write_text(PLAN)
    store = ("--store", str(tmp_path / "s.db"))
    sim = ("--backend", "sim", "--create", "1GiB")
    assert ioplan("run", str(tmp_path / "p.ioplan"), *sim, *store).code == 0
    rows = ioplan("export", "last", "--format", "jsonl", *store).lines
    at_16 = next(row for row in rows if row["asked"]["cell"]["qd"] == "16")
    percentiles = at_16["total"]["latency"]["percentiles"]
    limit_ns = 1 + next(p["latency_ns"] for p in percentiles if p["percent"] == 99)
    told = ioplan("answer", f"oltp, p99 <= {limit_ns / 1000:.3f}us", "last", *store)
    assert told.code == 0
    text = " ".join(told.out.split())
    assert "between QD 16 and QD 64" in text
    lacking = ioplan("answer", "email, p99 < 1ms", "last", *store)
    assert lacking.code == 1
    assert "add this test" in lacking.out
    refused = ioplan("answer", "foo", "last", *store)
    assert refused.code == 2 and "unknown use 'foo'" in refused.err
