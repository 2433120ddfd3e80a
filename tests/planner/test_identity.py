"""Ids of runs: what enters them, and what does not."""

import re
from collections import defaultdict

import pytest

from ioplan import PlanError
from ioplan.language import CLAUSES, Source, check, installed_plans
from ioplan.planner import Run, unfold, with_repetitions

STATE = "precondition p { purge write sequential 128KiB, qd 8, 2 passes }\n"


def runs(plan):
    return [step for step, _ in with_repetitions(unfold(plan)) if isinstance(step, Run)]


def checked(text, scale=1.0):
    return check(Source("p.ioplan", text), (installed_plans(),), time_scale=scale)


def id_of(body, before="", scale=1.0):
    """The id of the first run of a test."""
    return runs(checked(f'{before}test "T" {{ {body} }}', scale))[0].run_id


# Ids are kept in stores and compared across versions: these never change.
PINNED = {
    "run random 4KiB 100/0 for 10s": "0dec207ed7d1",
    "run random 4KiB 70/30, qd 32, rate 50_000 iops poisson for 10s, warmup 1s": "7f98c81270b5",
    "run sequential 128KiB 0/100, qd 8 each, threads 4, region 0%..50% for 1GiB": "53f51e80fd52",
    "run random sizes { 512B 10%, 4KiB 90% } 50/50, zipf 1.1, align 512B, 1 pass": "ef1c8c637f10",
    "run random 4KiB 0/100, hotspots { 50% in 5%, 50% in 95% }, data zeros for 1s": "33138934228d",
    "run random 4KiB 60/40, trim 10%, sync every 32, verify, normal 10% for 1s": "7e2a824cb9d7",
    "run random 4KiB 0/100, pareto 0.2, data compressible 50% for 1s": "2d5a2e0c7dea",
    "after p\nrun random 4KiB 100/0 for 10s": "427676181ea0",
    "idle 1s\nrun random 4KiB 100/0 for 10s": "1181ce7181ce",
    "repeat 3 { run random 4KiB 100/0 for 10s\n idle 1s }": "6ad51f8a49ca",
}


@pytest.mark.parametrize("body", PINNED)
@pytest.mark.promise("plans.same_runs")
def test_pinned(body):
    assert id_of(body, STATE) == PINNED[body]


@pytest.mark.parametrize(
    "said",
    [
        "run random 4KiB 100/0, qd 1 for 10s",
        "run random 4KiB 100/0, threads 1 for 10s",
        "run random 4KiB, read 100% for 10s",
        "run random 4KiB 100/0, align size for 10s",
        "run random 4KiB 100/0, region 0%..100% for 10s",
        "run random sizes { 4KiB 100% } 100/0 for 10s",
        "run random 4096B 100/0 for 10000ms",
        "run random 4KiB 100/0 for 10s\n idle 1s\n run random 8KiB 100/0 for 1s",
        "run random 4KiB 100/0 for 10s\n expect iops > 1 iops\n chart bars iops by time",
        "run random 4KiB 100/0 for 10s\n rounds until steady iops, at most 5",
        "run random 4KiB 100/0 for 10s\n vary qd in 1, 2",
        "run random 4KiB for 10s\n vary read in 100%, 0%",
        "run random 100/0 for 10s\n vary (size, qd) in (4KiB, 1), (8KiB, 2)",
        "run random 4KiB 100/0 for d\n vary d in 10s, 20s",
        "repeat 3 { run random 4KiB 100/0 for 10s }",
    ],
)
def test_equal_work_has_one_id(said):
    assert id_of(said) == id_of("run random 4KiB 100/0 for 10s")


@pytest.mark.promise("plans.ids")
def test_names_and_places_do_not_enter():
    one = checked(
        f'{STATE}workload w = random 4KiB 100/0\ntest "A" {{ after p\n run w for 1s }}'
    )
    other = checked(
        'plan "B"\non failure continue\nparam t = 1s\nworkload v = random 4KiB 70/30, qd 4\n'
        "workload u = v, 100/0, qd 1\n"
        "precondition r { idle 1h purge write sequential 128KiB, qd 8, 2 passes }\n"
        'test "first" { run v for t }\ntest "second" { after r\n run u for t }'
    )
    assert runs(one)[0].run_id == runs(other)[1].run_id


def test_a_shortened_plan_is_the_plan_with_short_times():
    shortened = id_of("run random 4KiB 100/0 for 10s, warmup 1s", scale=0.01)
    assert shortened == id_of("run random 4KiB 100/0 for 100ms, warmup 10ms")


@pytest.mark.parametrize(
    "body",
    [
        "run random 4KiB 100/0 for 11s",
        "run random 4KiB 100/0 for 10s, warmup 1s",
        "run random 4KiB 100/0 for 10GiB",
        "run random 4KiB 100/0, 10 passes",
        "run random 4KiB 100/0, permuted, 10 passes",
        "run random 4KiB 100/0, permuted for 10s",
        "after p\nrun random 4KiB 100/0 for 10s",
        "after q\nrun random 4KiB 100/0 for 10s",
        "idle 1s\nrun random 4KiB 100/0 for 10s",
        "idle 2s\nrun random 4KiB 100/0 for 10s",
        "repeat 2 { run random 4KiB 100/0 for 10s\n idle 1s }",
        "repeat 2 { run random 4KiB 100/0 for 10s\n idle 2s }",
        "repeat 2 { idle 2s\n run random 4KiB 100/0 for 10s }",
        "repeat 2 { idle 1s }\n run random 4KiB 100/0 for 10s",
        "repeat 3 { idle 1s }\n run random 4KiB 100/0 for 10s",
    ],
)
@pytest.mark.promise("plans.ids")
def test_what_matters_enters(body):
    others = [b for b in PINNED if b.endswith("100/0 for 10s") and b != body]
    other_state = STATE + STATE.replace("p {", "q {").replace("2 passes", "1 pass")
    found = id_of(body, other_state)
    assert found not in {id_of(b, other_state) for b in others}
    assert found != id_of("run random 4KiB 100/0 for 10s")


def test_each_pause_of_an_axis_is_another_run():
    """Though only the rest between the runs differs, their results do."""
    text = (
        "vary pause in 5s, 50s\n repeat 9 { run random 4KiB 0/100 for 5s\n idle pause }"
    )
    assert len({run.run_id for run in runs(checked(f'test "T" {{ {text} }}'))}) == 2


def test_the_same_step_later_in_a_cell_is_another_run():
    text = "run random 4KiB 0/100 for 5s\n" * 3
    assert len({run.run_id for run in runs(checked(f'test "T" {{ {text} }}'))}) == 3


HEAD = """
trace web = "std/sample.iotrace"
trace logged = "std/logged.iotrace"
trace answered = "std/answered.iotrace"
workload plain { reader = random 4KiB 100/0, qd 1 writer = random 4KiB 0/100 }
workload named { a = random 4KiB 100/0, qd 1 b = random 4KiB 0/100 }
workload turned { writer = random 4KiB 0/100 reader = random 4KiB 100/0, qd 1 }
workload mixed { reader = random 4KiB 100/0, qd 1 writer = sequential 128KiB 0/100 }
workload joined { reader = random 4KiB 100/0, qd 1
  writer = random 4KiB 0/100, starts after 1s }
workload left { reader = random 4KiB 100/0, qd 1
  writer = random 4KiB 0/100, ends after 1s }
workload first { log = sequential 4KiB 0/100, fua data = random 4KiB 0/100 }
workload logged_first { log = sequential 4KiB 0/100, fua
  data = random 4KiB 0/100, follows log }
precondition shaped_once { write random 4KiB shaped, spare 7% }
precondition shaped_more { write random 4KiB shaped, spare 28% }
"""
MORE = (
    *("run plain for 2s", "run named for 2s", "run turned for 2s", "run first for 2s"),
    "after shaped_more run random 4KiB 100/0 for 2s",
    *("run random 4KiB 0/100, 1 pass", "run replay logged"),
    *("run random 4KiB 100/0 for 2s", "run random 4KiB 0/100 for 2s"),
    *(
        "run random 4KiB 50/50 for 2s",
        "run sequential 4KiB 100/0 for 2s",
        "run sequential 4KiB 0/100, 1 pass",
    ),
    *("run random 4KiB 70/30 for 2s", "run random 4KiB 70/30, write random 65% for 2s"),
    "run random read sizes { 8KiB 100% } write sizes { 4KiB 100% } 70/30 for 2s",
    "run random read sizes { 4KiB 100% } write sizes { 8KiB 100% } 70/30 for 2s",
    "run random 4KiB 100/0, rate 1_000B/s for 2s",
    "run random 4KiB 100/0, rate 1_000 iops gamma 2 for 2s",
    "run random 4KiB 100/0, region 1GiB..2GiB for 2s",
    "run random 4KiB 100/0, errors allowed up to 1 for 2s",
    "run random 4KiB 100/0, errors allowed up to 1% for 2s",
    "run random 4KiB 100/0, threads 2, qd 4 each, on hosts h1 for 2s",
    "run random 4KiB 100/0, on hosts h1 for 2s",
    "run random 4KiB 100/0, on targets a for 2s",
    "run random 4KiB 100/0, qd 1 over all for 2s",
    "run random 4KiB 100/0, on targets a, b for 2s",
)
NUMBER = re.compile(r"(?<![\w])\d[\d_]*(?:\.\d+)?")


def variants(run):
    """A run, and it with each of its numbers in turn one more."""
    yield run
    for one in NUMBER.finditer(run):
        more = float(one[0].replace("_", "")) + 1
        yield f"{run[: one.start()]}{more:g}{run[one.end() :]}"


@pytest.mark.promise("plans.ids")
def test_every_clause_enters_with_its_numbers():
    found: dict[str, str] = {}
    runs = {*MORE, *(run for one in CLAUSES for _, run in one.features())}
    for text in {text for run in runs for text in variants(run)}:
        try:
            found[text] = id_of(text, HEAD)
        except PlanError:
            continue  # a share or a place that there is not
    others = defaultdict(list)
    for text, id in found.items():
        others[id].append(text)
    assert not [same for same in others.values() if len(same) > 1]
    assert len(found) > 2 * len(runs) > 100


def test_the_name_of_a_phase_and_what_is_judged_are_no_difference():
    """Nor is how finely it is reported; but when a phase comes is."""
    burst = "random 8KiB 70/30, burst 1s of 900 iops{}, then 1s of 90 iops"
    run = f"run {burst} for 10s"
    plain = id_of(run.format(""))
    assert id_of(run.format(" as peak")) == plain
    assert id_of(run.format(" as peak") + " expect p50 < 1s during peak") == plain
    assert id_of(run.format("") + " expect p50 < 1s during 2s..3s") == plain
    assert id_of(run.format("") + " expect worst_second.p50 < 1s") == plain
    assert id_of(run.format("") + ", interval 100ms") == plain
    assert id_of(run.format("").replace("1s of 90 ", "2s of 90 ")) != plain


def test_sizes_have_no_order():
    one, other = "512B 10%, 4KiB 90%", "4KiB 90%, 512B 10%"
    run = "run random sizes {{ {} }} 70/30 for 1s"
    assert id_of(run.format(one)) == id_of(run.format(other))
