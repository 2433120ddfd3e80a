"""What is offered where, what is said of a place, and how it is corrected."""

from __future__ import annotations

import pytest
from written import hovered, offered, written

from ioplan.language import CLAUSES, METRICS
from ioplan_editor import applied, fixes, formatting

HEAD = """use "std/preconditions.ioplan" as pre
param run_time = 3s
param block = 4KiB
workload two { reader = random 4KiB 100/0 writer = random 4KiB 0/100 }
precondition filled { write sequential 128KiB, qd 8, 1 pass }
"""
TEST = HEAD + 'test "T" {\n  vary qd in 1, 2\n  '


def test_items_and_statements_are_offered_where_they_may_stand() -> None:
    items = {word.split()[0] for word in offered("")}
    assert items == {
        *("plan", "use", "trace", "param", "profile", "on", "accept", "workload"),
        *("precondition", "test"),
    }
    steps = {word.split()[0] for word in offered(TEST + "|\n}")}
    assert steps >= {
        *("after", "run", "idle", "repeat", "vary", "skip", "rounds", "expect"),
        *("seek", "headline", "chart"),
    }
    inside = offered("precondition p { |")
    assert {"purge", "write", "idle", "}"} <= {*inside} and "run" not in inside


def test_every_clause_of_the_table_is_offered_behind_a_comma() -> None:
    found = offered(TEST + "run random 4KiB 100/0, |")
    heads = {"pattern", "replay", "random share", "mix", "size", "read", "part"}
    heads |= {"as fast as possible", "after completion", "footprint of"}
    words = {clause.word for clause in CLAUSES} - heads
    longer = {
        "sync": "sync every",
        "flush": "flush every",
        "starts": "starts after",
        "ends": "ends after",
        "errors": "errors allowed",
        "only": "only reads",
    }
    assert words - {*found} == {*longer} and {*longer.values()} <= {*found}
    assert "sync every" in found and found["qd"].text == "qd 32"


def test_a_clause_brings_its_comma_where_it_needs_one() -> None:
    found = offered(TEST + "run random 4KiB 100/0 |")
    assert found["qd"].comma and not found["for"].comma
    assert not offered(TEST + "run random 4KiB 100/0, |")["qd"].comma


def test_what_was_said_or_cannot_stand_is_not_offered() -> None:
    assert "pre.filled" not in offered(HEAD + "profile smoke { run_time = |")
    found = offered(TEST + "run random 4KiB 100/0, zipf 1.2, |")
    assert not {"zipf", "pareto", "random", "sequential", "at most"} & {*found}
    assert "at most" in offered(TEST + "run random 4KiB, until steady iops every 1s, |")
    assert "warmup" not in offered("precondition p { write random 4KiB, |")


@pytest.mark.parametrize(
    ("text", "some"),
    [
        (TEST + "run |", ["two", "random", "sequential"]),
        (TEST + "run random |", ["4KiB", "sizes"]),
        (TEST + "run random 4|", ["4KiB", "4MiB", "4GB"]),
        (TEST + "run random 4KiB |", ["70/30"]),
        (TEST + "run random 4KiB 7|", ["7/93"]),
        (TEST + "run random 4KiB, size |", ["4KiB", "block"]),
        (TEST + "run random 4KiB, qd |", ["32"]),
        (TEST + "run random 4KiB, rate |", ["1_000 iops", "200MiB/s"]),
        (TEST + "run random 4KiB, pause 5ms every |", ["128"]),
        (TEST + "run random 4KiB, starts after |", ["2s"]),
        (TEST + "run random 4KiB, ramp |", ["1_000 iops"]),
        (TEST + "run random 4KiB, burst 5s of |", ["50_000 iops"]),
        (TEST + "run random 4KiB, burst 5s of 1_000 iops, then |", ["5s"]),
        (TEST + "run random 4KiB, zipf |", ["1.2"]),
        (TEST + "run random 4KiB for |", ["1min", "10GiB", "run_time"]),
        (TEST + "run random 4KiB, until |", ["steady"]),
        (TEST + "run random 4KiB, until steady |", ["iops"]),
        (TEST + "after |", ["filled", "pre.steady4k"]),
        (TEST + "after filled |", ["then", "before each"]),
        (TEST + "after filled before each |", ["qd", "run", "round"]),
        (TEST + "vary |", ["qd", "size", "read", "rate", "workload", "run_time"]),
        (TEST + "vary size in |", ["4KiB", "4KiB..128KiB doubling", "block"]),
        (TEST + "vary (size, qd) in (4KiB, |", ["16"]),
        (TEST + "vary workload in |", ["two"]),
        (TEST + "skip when |", ["qd", "not"]),
        (TEST + "skip when qd > |", ["16"]),
        (TEST + "run two for 1s\n  expect |", [*METRICS, "p99", "reader.p99"]),
        (TEST + "expect p99 < |", ["1ms"]),
        (TEST + "seek highest |", ["qd", "rate"]),
        (TEST + "seek highest qd in 1..64 where |", ["p99", "iops"]),
        (TEST + "seek highest qd in 1..64 where p99 <= |", ["1ms"]),
        (TEST + "chart |", ["lines", "bars", "heatmap", "percentiles", "table"]),
        (TEST + "chart lines iops by |", ["qd", "time"]),
        (TEST + "run two for 1s\n  chart heatmap |", ["latency", "reader.latency", "flush.latency", "p99"]),
        (TEST + "chart lines iops by qd, log |", ["x", "y"]),
        (HEAD + "profile smoke { |", ["run_time", "pre.fill", "pre.filled"]),
        (HEAD + "profile smoke { run_time = |", ["1min"]),
        (HEAD + "profile smoke { pre.filled = |", ["pre.purged", "pre.shaped4k"]),
        (HEAD + "workload three = |", ["two", "random"]),
        (HEAD + "on |", ["on failure stop", "on unsteady fail", "on nothing found fail"]),
        ('use "|', ["std/preconditions.ioplan", "quick/health.ioplan"]),
        ('accept "|', ["unwritten reads", "cache", "rate"]),
    ],
)  # fmt: skip
def test_offered(text: str, some: list[str]) -> None:
    assert not {*some} - {*offered(text)}


def test_a_value_of_another_kind_is_not_offered() -> None:
    assert "run_time" not in offered(TEST + "run random 4KiB, size |")
    assert not {"1min", "4KiB"} & {*offered(TEST + "run random 4KiB, qd |")}


def test_a_condition_offers_the_values_of_its_axis_first() -> None:
    test = (
        'test "T" { run random 100/0 for 1s vary size in 3KiB, 5KiB..10KiB doubling\n'
    )
    assert [*offered(test + "skip when size == |")][:3] == ["3KiB", "5KiB", "10KiB"]
    test = 'test "T" { run random 4KiB 100/0 for 1s vary rate in 7 iops, 9 iops\n'
    assert [*offered(test + "expect p99 < 1ms when rate == |")][:2] == [
        "7 iops",
        "9 iops",
    ]


def test_names_come_before_they_are_used() -> None:
    assert "later" not in offered("param a = |\nparam later = 1s\n")


def test_nothing_in_comments() -> None:
    assert not offered(TEST + "run random  # four |")


def test_a_broken_plan_offers_as_much() -> None:
    broken = HEAD.replace("param block = 4KiB", "param block = = 4")
    before = broken + 'test "T" {\n  run what ever this is {\n  vary qd in 1, 2\n  '
    assert {"filled", "pre.steady4k"} <= {*offered(before + "after |")}
    assert "qd" in offered(before + "skip when |")


# hover

PLAN = """use "std/preconditions.ioplan" as pre
# How long each run goes on.
param run_time = 3min
param also = run_time
profile smoke { run_time = 1s }
workload base = random 8KiB 70/30, qd 32
workload other = base, qd 8, rate 1_000 iops
test "Scaling" {
  after pre.filled
  run other for also, warmup 10s
  vary align in 4KiB, 8KiB, 16KiB
  expect read.p99.9 < 2ms
  chart lines iops by align
}
"""


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("random 8KiB", ["the access pattern", "fio: `rw`"]),
        ("8KiB 70", ["8_192 B"]),
        ("70/30", ["70 % reads"]),
        ("qd 32", ["outstanding I/Os", "Default: 1", "`iodepth`"]),
        ("rate 1", ["open loop"]),
        ("run_time = 3min", ["How long each run goes on", "1s in the profile smoke"]),
        ("also, w", ["= 3min = 180_000_000_000 ns"]),
        ("other for", ["random 8KiB 70/30, qd 8, rate 1_000 iops"]),
        ("pre.filled", ["write sequential 128KiB, qd 32, fill"]),
        ("filled", ["Every block written once"]),
        ("warmup", ["before the measured part"]),
        ("align in", ["offsets are multiples"]),
        ("read.p99", ["latency"]),
        ("lines", ["a line over"]),
        ("test", ["what to measure"]),
        ("std/pre", ["Initial states for tests", "steady4k"]),
    ],
)
def test_hover(word: str, said: list[str]) -> None:
    found = hovered(PLAN.replace(word, f"|{word}", 1))
    assert all(text in found for text in said), found


def test_nothing_is_said_of_comments() -> None:
    assert not hovered(PLAN.replace("How long", "|How long"))


# corrections: each does what a help says, and the checker agrees

RUN = 'test "T" {{ run {} }}\n'


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("random 4kb 100/0 for 1s", "random 4KiB 100/0 for 1s"),
        ("random 4KiB 70/40 for 1s", "random 4KiB 70/30 for 1s"),
        ("random 4KiB 100/0", "random 4KiB 100/0 for 1min"),
        ("random 100/0 for 1s", "random 4KiB 100/0 for 1s"),
        ("random 4KiB 100/0, iodepth 8 for 1s", "random 4KiB 100/0, qd 8 for 1s"),
        ("random 4KiB 100/0, qd 8, qd 9 for 1s", "random 4KiB 100/0, qd 8 for 1s"),
        ("random 4KiB 100/0 qd 8 for 1s", "random 4KiB 100/0, qd 8 for 1s"),
        ("random 4KiB 100/0, threads 2, qd 8 for 1s", "random 4KiB 100/0, threads 2, qd 8 each for 1s"),
        ("random 4KiB 100/0 for 1s expect p99 < 2", "random 4KiB 100/0 for 1s expect p99 < 2us"),
        (
            "random 4KiB 100/0, qd n for 1s vary n in 8..1 doubling",
            "random 4KiB 100/0, qd n for 1s vary n in 1..8 doubling",
        ),
        ("on failure halt\n", "on failure stop\n"),
        (RUN.format("random 4KiB 100/0 for 1s")[:-3], "}"),
    ],
)  # fmt: skip
def test_a_correction(wrong: str, right: str) -> None:
    if wrong.startswith("random"):
        wrong, right = RUN.format(wrong), RUN.format(right)
    document, _ = written(wrong)
    found = list(fixes(document, 0, len(wrong)))
    results = [applied(wrong, [*fix.edits]) for fix in found]
    assert any(one == right or one.rstrip().endswith(right) for one in results), results


def test_prose_is_no_correction() -> None:
    wrong = "param a = b\nparam b = 1s\n" + RUN.format("random 4KiB 100/0 for a")
    document, _ = written(wrong)
    assert document.diagnostics and not list(fixes(document, 0, len(wrong)))


def test_a_warning_can_be_accepted() -> None:
    text = 'plan "P"\n' + RUN.format("random 4KiB 100/0, rate 2_000_000 iops for 1s")
    document, _ = written(text)
    (fix,) = list(fixes(document, 0, len(text)))
    after, _ = written(applied(text, [*fix.edits]))
    assert fix.title.startswith("accept ") and not after.diagnostics


def test_layout_touches_the_rows_of_a_range_only() -> None:
    text = "param  a = 1s\n\n" + "param  b = 2s\n"
    document, _ = written(text)
    assert applied(text, formatting(document)) == "param a = 1s\n\nparam b = 2s\n"
    assert (
        applied(text, formatting(document, 0, 5)) == "param a = 1s\n\nparam  b = 2s\n"
    )
    assert not formatting(written("param =")[0])
