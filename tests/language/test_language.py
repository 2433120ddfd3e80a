"""The language bit by bit: ranges, metrics, parameters, recovery."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from plans import checked

from ioplan import PlanError
from ioplan.language import (
    METRICS,
    Matrix,
    MetricError,
    RunTemplate,
    Source,
    check,
    check_file,
    parse,
    parse_metric,
    workload_of,
)
from ioplan.planner import Run, unfold

RUN = "run random 4KiB 100/0 for 1min"


def plan_of(body, **settings):
    """A plan of one test; `body` may begin with definitions, up to a `|`."""
    head, _, statements = body.rpartition("|")
    text = f'{head}\ntest "T" {{\n{statements}\n}}\n'
    return check(Source("t.ioplan", text), (), settings)


def errors_of(body, **settings):
    """The messages about a plan of one test."""
    with pytest.raises(PlanError) as caught:
        plan_of(body, **settings)
    return [found.message for found in caught.value.diagnostics]


def values_of(vary):
    """The values of an axis, as a plan writes them."""
    (axis,) = plan_of(f"run random 4KiB 100/0, qd 1 each for 1min {vary}").tests[0].axes
    return [row[0].text for row in axis.values]


# ranges


@given(st.integers(1, 500), st.integers(1, 50), st.integers(0, 60))
def test_step_range(first, step, count):
    last = first + step * count
    shown = [str(n) for n in range(first, last + 1, step)]
    assert values_of(f"vary qd in {first}..{last} step {step}") == shown


@given(st.integers(1, 9), st.integers(0, 12))
def test_doubling_range(first, count):
    shown = [str(first << power) for power in range(count + 1)]
    assert values_of(f"vary qd in {first}..{first << count} doubling") == shown


def test_ranges_of_fractions_are_exact():
    assert values_of("vary read in 0%..1% step 0.1%")[3:5] == ["0.3%", "0.4%"]
    assert values_of("vary size in 512B..4KiB doubling, 1MiB") == [
        *("512B", "1KiB", "2KiB", "4KiB", "1MiB")
    ]


# conditions


@pytest.mark.parametrize(
    ("condition", "left"),
    [
        ("qd > 2", "1 2"),
        ("not qd > 2", "4 8"),
        ("qd == 1 or qd == 2 and qd == 4", "2 4 8"),
        ("(qd == 1 or qd == 2) and qd != 2", "2 4 8"),
        ("not (qd >= 2 and qd <= 4)", "2 4"),
        ("qd < two", "2 4 8"),
    ],
)
def test_condition(condition, left):
    body = f"param two = 2 | {RUN} vary qd in 1, 2, 4, 8 skip when {condition}"
    test = plan_of(body).tests[0]
    cells = Matrix(test.axes, test.skip).cells()
    assert [cell["qd"].text for cell in cells] == left.split()


# metrics


@pytest.mark.parametrize("name", [*METRICS, "p50", "p99.999", "p0", "p99.999999"])
def test_metric(name):
    assert str(parse_metric(name)) == name


@pytest.mark.parametrize("text", ["read.p99.9", "reader.iops", "reader.write.max"])
def test_narrowed_metric(text):
    assert str(parse_metric(text, ("reader",))) == text


@given(st.text(max_size=20), st.lists(st.text(max_size=5), max_size=3))
def test_any_text_is_a_metric_or_an_error(text, streams):
    try:
        parse_metric(text, streams)
    except MetricError as error:
        assert str(error)


# parameters


def run_of(plan):
    """The first step of a plan's first test."""
    step = plan.tests[0].steps[0]
    assert isinstance(step, RunTemplate)
    return step


def test_setting_reaches_what_depends_on_it():
    body = "param a = 1s param b = a param c = b | run random 4KiB 100/0 for c"
    for plan, text in ((plan_of(body), "1s"), (plan_of(body, a="2s"), "2s")):
        length = run_of(plan).run
        assert isinstance(length, Struct) and length.text == text
    both = plan_of(body, c="9s", a="2s")
    assert both.parameters == {"a": "2s", "b": "2s", "c": "9s"}


def test_either_rate_may_be_set():
    body = "param r = 5 iops | run random 4KiB 100/0, rate r for 1min"
    assert plan_of(body, r="5MiB/s").parameters == {"r": "5MiB/s"}


def test_varied_param_is_varied_everywhere():
    """In the step, through another param, and in the workload's definition."""
    body = (
        "param d = 4 param e = d workload w = random 4KiB 100/0, qd e |"
        "run w for 1min vary d in 1, 2"
    )
    plan = plan_of(body)
    run, (cell_1, cell_2) = run_of(plan), Matrix(plan.tests[0].axes).cells()
    depths = [
        workload_of(run.workload, run.override, cell).streams[0].qd
        for cell in (cell_1, cell_2)
    ]
    assert depths == [1, 2]


def test_time_scale():
    short = f"{RUN} expect p99.99999 < 1ms"
    text = f'test "T" {{ {short} }}'
    for scale, run_ns in ((0.5, 30 * 10**9), (0.01, 6 * 10**8)):
        (step,) = unfold(check(Source("t", f'test "T" {{ {RUN} }}'), time_scale=scale))
        assert isinstance(step, Run) and step.length.run_ns == run_ns
    assert check(Source("t", text), time_scale=0.5).time_scale == 0.5
    with pytest.raises(PlanError, match="needs 100,000,000 I/Os"):
        check(Source("t", text))


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_no_time_scale(scale):
    with pytest.raises(ValueError, match="time scale"):
        check(Source("t", f'test "T" {{ {RUN} }}'), time_scale=scale)


# what overrides what


# recovery

SEEDS = (
    ("run    a for 1min", "run    a fro 1min"),
    ("vary   qd in 1, 2", "varry  qd in 1, 2"),
    ("expect iops > 5 when qd == 1", "expect iops >> 5 when qd == 1"),
    ("chart  lines iops by qd", "chart  lines iops by by qd, "),
    ("workload b = random 4KiB 70/30, qd 8", "workload b = random 4KiB 70/30 qd 8"),
    ("param t = 5s", "param t 5s"),
    ("write random 4KiB, 1 pass", "write random 4KiB,, 1 pass"),
    ('plan "Seeds"', "plan Seeds"),
    ("read 50%", "read 50 50%"),
)
SEEDED = """plan "Seeds"

param t = 5s

workload a = random 4KiB, read 50%
workload b = random 4KiB 70/30, qd 8

precondition p {
  purge
  write random 4KiB, 1 pass
}

test "T" {
  after  p
  run    a for 1min
  vary   qd in 1, 2
  expect iops > 5 when qd == 1
  idle   t
  chart  lines iops by qd
}

test "U" {
  run    b for t
}
"""


@given(st.sets(st.sampled_from(SEEDS), min_size=1))
@pytest.mark.promise("plans.diagnostics")
def test_each_seeded_error_is_found_and_no_other(seeds):
    text = SEEDED
    for right, wrong in seeds:
        assert right in text
        text = text.replace(right, wrong)
    with pytest.raises(PlanError) as caught:
        check(Source("t.ioplan", text))
    rows = {text[: text.index(wrong)].count("\n") + 1 for _, wrong in seeds}
    found = [d.as_json()["line"] for d in caught.value.diagnostics]
    assert sorted(found) == sorted(rows), str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        'test "A" { rnu random 4KiB for 1s }',
        'test "A" { run random 4KiB foo for 1s }',
        'test "A" {\n  run random 4KiB for 1s\n  vray qd in 1, 2 }',
        "precondition p { wriet random 4KiB, 1 pass }",
        "workload w { a = random 4KiB 70/30 foo }",
    ],
)
def test_an_error_leaves_the_brace_of_its_block(line):
    """What follows is not taken for a part of the block."""
    after = 'test "B" { run random 4KiB for 1s }\ntest "C" { run random bar for 1s }'
    _, found = parse(Source("t.ioplan", f"{line}\n{after}\n"))
    assert len(found) == 2 and "'bar'" in found[1].message, found


def test_too_deep():
    deep = f'test "T" {{ {"repeat 2 { " * 3000 + RUN + "}" * 3000} }}'
    with pytest.raises(PlanError, match="nested too deeply"):
        check(Source("t", deep))


def test_a_hundred_errors_are_enough():
    lines = " ".join(["expect nothing > 0"] * 500)
    assert len(errors_of(f"{RUN} {lines}")) == 100


# files


def test_files(tmp_path):
    plan = tmp_path / "plan.ioplan"
    plan.write_bytes(b'\xef\xbb\xbfuse "w.ioplan"\ntest "T" { run w for 1s }\r\n')
    (tmp_path / "w.ioplan").write_text("workload w = random 4KiB 100/0")
    assert check_file(plan).title == "plan"


def test_a_file_that_is_no_plan(tmp_path):
    big, binary = tmp_path / "big.ioplan", tmp_path / "binary.ioplan"
    big.write_bytes(b"#" * ((8 << 20) + 1))
    binary.write_bytes(b"\x7fELF\xff\xff")
    pipe = tmp_path / "pipe.ioplan"
    os.mkfifo(pipe)
    for path, why in (
        (big, "larger than"),
        (binary, "not a UTF-8 text"),
        (pipe, "not a regular file"),
    ):
        with pytest.raises(ValueError, match=why):
            check_file(path)


def test_many_files(tmp_path):
    for index in range(120):
        use = f'use "f{index + 1}.ioplan" as f\n' if index < 119 else ""
        (tmp_path / f"f{index}.ioplan").write_text(f'{use}test "T" {{ {RUN} }}')
    with pytest.raises(PlanError, match="uses more than 100 files"):
        check_file(tmp_path / "f0.ioplan")


# arithmetic: what quantities are written as, and what + - * / makes of them

AMOUNT, RATE = "random 4KiB 100/0 for p", "random 4KiB 100/0, rate p for 1s"
SHARE, PASSES = "random 4KiB, read p for 1s", "random 4KiB 0/100, p"
COUNT, MIX = "random 4KiB 100/0, qd p for 1s", "random 4KiB, p for 1s"
WRITTEN = {
    AMOUNT: {
        **{"4 KiB": "4KiB", "4096B": "4KiB", "1.6TB": "1.6TB", "1500B": "1500B"},
        **{"90s": "90s", "120s": "2min", "0.5us": "500ns"},
        **{"4KiB * 8": "32KiB", "8 * 4KiB": "32KiB", "4KiB / 2": "2KiB"},
        **{"10s + 5s": "15s", "15s - 5s": "10s", "10s / 3": "3333333333ns"},
        **{"1000 / (50 iops)": "20s", "200MiB/s * 1s": "200MiB"},
    },
    RATE: {
        **{"50000 iops": "50_000 iops", "1000 / 1s": "1_000 iops"},
        **{"4KiB * (1_000 iops)": "4096KB/s", "200MiB/s / 4KiB": "51_200 iops"},
        **{"1GiB / 1s": "1GiB/s", "50% * (1_000 iops)": "500 iops"},
        "(1_000 iops) * 50%": "500 iops",
    },
    SHARE: {"12.50%": "12.5%", "50% * 50%": "25%", "10% / 2": "5%"},
    PASSES: {"1 passes": "1 pass", "0.5 passes": "0.5 passes", "2 passes * 3": "6 passes"},
    COUNT: {"8KiB / 4KiB": "2", "(100 iops) * 10s": "1000", "20% / 10%": "2"},
    MIX: {"70 / 30": "70/30"},
}  # fmt: skip
"""Where a quantity may stand, and what is made of it."""


def plan_with(quantity, use):
    return f'param p = {quantity}\ntest "T" {{ run {use} }}'


@pytest.mark.parametrize(
    ("use", "quantity"), [(use, one) for use, table in WRITTEN.items() for one in table]
)
def test_units_go_with_the_numbers(use, quantity):
    found = checked(plan_with(quantity, use)).parameters
    assert found == {"p": WRITTEN[use][quantity]}


@pytest.mark.parametrize(
    "quantity",
    [
        *("1s + 4KiB", "4KiB * 4KiB", "8 / 0", "5KiB / 3", "5s - 10s", "4KiB - 1"),
        *("70/30 * 2", "1s / (1 iops)", "2 passes * 1s", "10% + 1", "8 / 10%"),
        *("8EiB", "٣", "1e9", "-1", "", "1__", "1.", "9" * 19),
    ],
)
def test_what_means_nothing_is_refused(quantity):
    for use in WRITTEN:
        with pytest.raises(PlanError):
            checked(plan_with(quantity, use))


FACTORS = {
    **{"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9},
    **{"h": 3600 * 10**9, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9},
    **{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30},
}


@given(st.decimals(1, 10**6, places=3), st.sampled_from(sorted(FACTORS)))
def test_a_quantity_is_exact_and_its_text_is_the_same(number, unit):
    exact = number * FACTORS[unit]
    text = plan_with(f"{number:f}{unit}", AMOUNT)
    if exact != exact.to_integral_value():
        with pytest.raises(PlanError):
            checked(text)
        return
    plan = checked(text)
    for one in (plan, checked(plan_with(plan.parameters["p"], AMOUNT))):
        (step,) = unfold(one)
        assert isinstance(step, Run)
        assert (step.length.run_ns or step.length.limit_bytes) == exact
