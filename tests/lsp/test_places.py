"""What is offered where, what is said of a place, and how it is corrected."""

from pathlib import Path
from random import Random

import paths
import pytest
from written import FOLDER, hovered, offered, written

from golden import Golden
from ioplan import PlanError
from ioplan.language import CLAUSES, METRICS, Source, check, installed_plans
from ioplan_editor import (
    Document,
    Workspace,
    applied,
    completions,
    definition,
    fixes,
    folds,
    formatting,
    hover,
    outline,
    references,
    signature,
    tokens,
)

HEAD = """use "std/preconditions.ioplan" as pre
param run_time = 3s
param block = 4KiB
workload two { reader = random 4KiB 100/0 writer = random 4KiB 0/100 }
precondition filled { write sequential 128KiB, qd 8, 1 pass }
"""
TEST = HEAD + 'test "T" {\n  vary qd in 1, 2\n  '


def test_items_and_statements_are_offered_where_they_may_stand():
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


def test_every_clause_of_the_table_is_offered_behind_a_comma():
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


def test_a_clause_brings_its_comma_where_it_needs_one():
    found = offered(TEST + "run random 4KiB 100/0 |")
    assert found["qd"].comma and not found["for"].comma
    assert not offered(TEST + "run random 4KiB 100/0, |")["qd"].comma


def test_what_was_said_or_cannot_stand_is_not_offered():
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
def test_offered(text, some):
    assert not {*some} - {*offered(text)}


def test_a_value_of_another_kind_is_not_offered():
    assert "run_time" not in offered(TEST + "run random 4KiB, size |")
    assert not {"1min", "4KiB"} & {*offered(TEST + "run random 4KiB, qd |")}


def test_a_condition_offers_the_values_of_its_axis_first():
    test = (
        'test "T" { run random 100/0 for 1s vary size in 3KiB, 5KiB..10KiB doubling\n'
    )
    assert [*offered(test + "skip when size == |")][:3] == ["3KiB", "5KiB", "10KiB"]
    test = 'test "T" { run random 4KiB 100/0 for 1s vary rate in 7 iops, 9 iops\n'
    assert [*offered(test + "expect p99 < 1ms when rate == |")][:2] == [
        "7 iops",
        "9 iops",
    ]


def test_names_come_before_they_are_used():
    assert "later" not in offered("param a = |\nparam later = 1s\n")


def test_nothing_in_comments():
    assert not offered(TEST + "run random  # four |")


def test_a_broken_plan_offers_as_much():
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
        ("8KiB 70", ["8,192 B"]),
        ("70/30", ["70 % reads"]),
        ("qd 32", ["outstanding I/Os", "Default: 1", "`iodepth`"]),
        ("rate 1", ["open loop"]),
        ("run_time = 3min", ["How long each run goes on", "1s in the profile smoke"]),
        ("also, w", ["= 3min = 180,000,000,000 ns"]),
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
def test_hover(word, said):
    found = hovered(PLAN.replace(word, f"|{word}", 1))
    assert all(text in found for text in said), found


def test_nothing_is_said_of_comments():
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
def test_a_correction(wrong, right):
    if wrong.startswith("random"):
        wrong, right = RUN.format(wrong), RUN.format(right)
    document, _ = written(wrong)
    found = list(fixes(document, 0, len(wrong)))
    results = [applied(wrong, [*fix.edits]) for fix in found]
    assert any(one == right or one.rstrip().endswith(right) for one in results), results


def test_prose_is_no_correction():
    wrong = "param a = b\nparam b = 1s\n" + RUN.format("random 4KiB 100/0 for a")
    document, _ = written(wrong)
    assert document.diagnostics and not list(fixes(document, 0, len(wrong)))


def test_a_warning_can_be_accepted():
    text = 'plan "P"\n' + RUN.format("random 4KiB 100/0, rate 2_000_000 iops for 1s")
    document, _ = written(text)
    (fix,) = list(fixes(document, 0, len(text)))
    after, _ = written(applied(text, [*fix.edits]))
    assert fix.title.startswith("accept ") and not after.diagnostics


def test_layout_touches_the_rows_of_a_range_only():
    text = "param  a = 1s\n\n" + "param  b = 2s\n"
    document, _ = written(text)
    assert applied(text, formatting(document)) == "param a = 1s\n\nparam b = 2s\n"
    assert (
        applied(text, formatting(document, 0, 5)) == "param a = 1s\n\nparam  b = 2s\n"
    )
    assert not formatting(written("param =")[0])


# a text with its errors: whatever it says, each feature answers

LANGUAGE = Golden("language")
EXAMPLES = sorted((paths.ROOT / "examples").rglob("*.ioplan"))


@pytest.mark.parametrize(
    "plan", [*[*LANGUAGE][::3], *EXAMPLES[::3]], ids=lambda plan: Path(plan).stem
)
def test_every_feature_answers_for_a_plan(plan, tmp_path):
    path = plan if isinstance(plan, Path) else LANGUAGE[plan].put(tmp_path, ".ioplan")
    text = path.read_bytes().decode()
    document = Document(path, text)
    for offset in range(0, len(text) + 1, len(text) // 2 + 1):
        completions(document, offset)
        hover(document, offset)
        signature(document, offset)
        definition(document, offset)
    for feature in (outline, folds, tokens):
        list(feature(document))
    said = [one.message for one in document.examined.errors]
    assert sorted(said) == sorted(_said(Source(path.name, text), path))


def _said(source, path):
    """What the checker says."""
    try:
        check(source, (path.parent, installed_plans()), path=path, library=True)
    except PlanError as error:
        return [one.message for one in error.diagnostics]
    return []


def test_an_error_in_a_file_on_the_screen_is_told_of_that_file(tmp_path):
    library = tmp_path / "lib.ioplan"
    library.write_text("workload w = random 4KiB 100/0\n")
    files = Workspace()
    text = 'use "lib.ioplan"\ntest "T" { run w for 1s }\n'
    assert not Document(tmp_path / "plan.ioplan", text, files).diagnostics
    files.open(library, "workload w = random 4kb 100/0\n")
    document = Document(tmp_path / "plan.ioplan", text, files)
    (found,) = document.diagnostics
    assert "4kb" in found.span.text
    assert document.path_of(found.span.source) == library


def test_sound_tests_are_known_beside_wrong_ones():
    document, _ = written(
        'test "A" { run random 4KiB 100/0 for 1s }\ntest "B" { run nothing for 1s }\n'
    )
    assert document.plan and [test.title for test in document.plan.tests] == ["A"]


def test_references_of_a_library(tmp_path):
    lib, plan = tmp_path / "lib.ioplan", tmp_path / "plan.ioplan"
    lib.write_text("param n = 8\nworkload w = random 4KiB 100/0, qd n\n")
    plan.write_text(
        'use "lib.ioplan" as l\ntest "T" { run l.w for 1s vary l.n in 1, 2 }\n'
    )
    files = Workspace()
    document = files.document(plan)
    at = document.text.index("l.n") + 2
    found = [(path.name, span.start) for path, span in references(document, at)]
    assert {("lib.ioplan", 6), ("lib.ioplan", 47), ("plan.ioplan", at)} == {*found}
    from_library = references(files.document(lib), 6)
    assert len(from_library) == 3
    assert not files.document(lib).diagnostics, "a library needs no test"
    place = definition(document, at)
    assert place and (place[0], place[1].text) == (lib, "n")


# after a key, all is as if the text had been read anew

OWN_PLANS = sorted((paths.ROOT / "examples").glob("*.ioplan"))
GOOD = [case for case in LANGUAGE if case.startswith("good_")][::3]
PLANS = {path.stem: path.read_text("utf-8") for path in OWN_PLANS}
PLANS |= {case: LANGUAGE[case].input for case in GOOD}
KEYS = ["", " ", "\n", "x", "8", ", qd 9", "# ", '"', "}", "= ", "test", "as n "]


def edits(text, count):
    """Texts that differ by a key or a word."""
    chance = Random(text)
    places = [chance.randrange(len(text) + 1) for _ in range(count)]
    gone = [chance.choice((0, 0, 1, 7)) for _ in places]
    return [
        text[:at] + chance.choice(KEYS) + text[at + cut :]
        for at, cut in zip(places, gone, strict=True)
    ]


@pytest.mark.parametrize("name", [*PLANS][::4])
def test_what_is_checked_after_edits_is_what_a_new_check_says(name):
    text, path = PLANS[name], FOLDER / "plan.ioplan"
    files = Workspace()
    for edited in (text, *edits(text, 6), text):
        files.open(path, edited)
        resident, fresh = files.document(path), Document(path, edited)
        said = [(str(d.span), d.message) for d in resident.diagnostics]
        assert said == [(str(d.span), d.message) for d in fresh.diagnostics]
        told = [
            [_told(test) for test in one.plan.tests] if one.plan else None
            for one in (resident, fresh)
        ]
        assert told[0] == told[1]


def _told(test):
    """A test without the places of its parts."""
    values = [[[v.text for v in row] for row in axis.values] for axis in test.axes]
    return test.title, test.text, values, test.rounds, test.expectations, test.charts


def test_a_warning_moves_with_its_test():
    test = 'test "T" { run random 4KiB 100/0, rate 2_000_000 iops for 1s }\n'
    files, path = Workspace(), FOLDER / "plan.ioplan"
    for blanks in ("", "\n\n", "# c\n"):
        files.open(path, blanks + test)
        (found,) = files.document(path).diagnostics
        assert found.span.text.startswith("run random")
        assert found.span.start == len(blanks) + test.index("run")
