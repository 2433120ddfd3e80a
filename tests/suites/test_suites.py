"""The suites that come with ioplan: each row of the methods, and that each runs."""

import json
import re

import paths
import pytest
from command import ioplan, last_records, plan_file, succeed
from fooled import drive_file
from suite_rows import (
    CELLS,
    CUTS,
    PLANS,
    SMOKE_BYTES,
    TB,
    check_session,
    cost_line,
    parts,
    plan_of,
    table,
)

from ioplan.language import Matrix, WriteStep
from ioplan.planner import (
    Estimator,
    Prepare,
    Run,
    unfold,
    with_repetitions,
)

DOCUMENT = paths.ROOT / "docs" / "suites.md"
TABLE = re.compile(r"(?<=<!-- table -->\n).*?(?=\n<!-- end -->)", re.S)
PROFILES = ["full", "short", "smoke"]
QUICK = ("pts/pts_iops", "pts/pts_demand_intensity")
REVIEWS = {"reviews/m9100": 0.5, "reviews/p3700": 0.55, "reviews/p4800x": 0.5}
"""These and the suites of QUICK have a quick profile; it takes such a share at most."""
HOUR_NS = 3600 * 10**9


# every row is there, with the numbers of its source


@pytest.mark.long
def test_each_row_has_its_cells():
    found = {}
    for suite in PLANS.values():
        for part in parts(suite):
            if part.row:
                found[part.row] = (*found.get(part.row, ()), part.cells)
    assert found == CELLS


PROBES = 6 + 4 + 4 + 8
"""Of a depth from 1 to 32: doublings, bisections, proofs, confirmations."""


def runs_of(suite, row):
    """The runs of a row in the full profile, each with how often it is done."""
    steps = with_repetitions(unfold(plan_of(PLANS[suite])))
    return [
        (step, times)
        for step, times in steps
        if isinstance(step, Run) and step.test.title.startswith(f"{row} ")
    ]


@pytest.mark.parametrize(
    ("suite", "row", "runs", "seconds"),
    [
        ("reviews/p3700", "A1", 8, 8 * 180),
        ("reviews/p3700", "A6", 2, 2000),
        ("pts/pts_iops", "D1", 56 * 25, 56 * 25 * 60),
        ("pts/pts_throughput", "D2", 2 * 2 * 25, 100 * 60),
        ("pts/pts_latency", "D3", 9 * 25 + 1, 9 * 25 * 60 + 1200),
        ("pts/pts_host_idle_recovery", "D5", 5 * 361, 5 * (360 * 5 + 1800)),
        ("pts/pts_cross_stimulus", "D6", 3, 22 * 3600),
        ("pts/pts_enterprise_composite", "D7", 49 * 25 + 3, 49 * 25 * 60 + 3 * 600),
        (
            *("pts/pts_demand_intensity", "D8", 49 * 25 + 3 + PROBES + 4),
            49 * 25 * 60 + 3 * 600 + PROBES * 4 * 60 + 4 * 600,
        ),
    ],
)
def test_runs_and_durations(suite, row, runs, seconds):
    found = runs_of(suite, row)
    assert sum(times for _, times in found) == runs
    spent_ns = sum((run.length.run_ns or 0) * times for run, times in found)
    assert spent_ns == seconds * 10**9


def written(suite):
    """By state: what is written first and how many times over, in full."""
    found = {}
    for step, _ in with_repetitions(unfold(plan_of(PLANS[suite]))):
        if isinstance(step, Prepare) and isinstance(step.step, WriteStep):
            stream = step.step.workload.streams[0]
            one = (stream.pattern, stream.write_sizes[0].size_bytes, step.step.passes)
            listed = found.setdefault(step.state.name, [])
            listed += [one] if one not in listed else []
    return found


def test_preparations_write_what_the_methods_say():
    fill, random = ("sequential", 128 << 10), ("random", 4096)
    wipc = {"wipc": [(*fill, 2.0)]}
    assert written("pts/pts_iops") == wipc
    assert written("pts/pts_throughput") == wipc
    assert written("pts/pts_latency") == wipc
    assert written("pts/pts_write_saturation") == {}
    assert written("pts/pts_cross_stimulus") == {}
    assert written("reviews/p4800x") == {"stirred": [(*random, 2.0)]}
    assert written("reviews/p3700") == {
        "filled": [(*fill, 3.0)],
        "scrambled4k": [(*fill, 1.0), (*random, 1.0)],
    }
    assert written("pts/pts_demand_intensity") == {
        "wipc then pressed": [(*fill, 2.0), ("random", 8192, None)],
        "settled": [("random", 8192, None)],
        "pressed": [("random", 8192, None)],
    }


def test_write_saturation_has_three_ends():
    ((run, times),) = runs_of("pts/pts_write_saturation", "D4")
    assert times == 1
    assert run.length.run_ns == 24 * HOUR_NS
    assert run.length.passes == 4
    assert run.template.rule and run.every_ns == 60 * 10**9


def test_demand_intensity_presses_before_each_round():
    steps = with_repetitions(unfold(plan_of(PLANS["pts/pts_demand_intensity"])))
    pressed = [
        (step.step.run_ns, times)
        for step, times in steps
        if isinstance(step, Prepare)
        and isinstance(step.step, WriteStep)
        and step.step.run_ns
        and step.test.title.startswith("D8 demand")
    ]
    assert pressed == [(300 * 10**9, 25)]


def test_histograms_are_taken_in_the_steady_state_of_the_rounds():
    """No purge and no fill between; an hour of T32 Q32 writes before each."""
    steps = [
        step
        for step in unfold(plan_of(PLANS["pts/pts_demand_intensity"]))
        if step.test.title == "D8 response time histograms"
    ]
    prepares = [step.step for step in steps[::2] if isinstance(step, Prepare)]
    writes = [step for step in prepares if isinstance(step, WriteStep)]
    streams = [stream for write in writes for stream in write.workload.streams]
    assert len(writes) == 3 and len(steps) == 6
    assert {write.run_ns for write in writes} == {HOUR_NS}
    assert {(one.threads, one.qd, one.pattern) for one in streams} == {
        (32, 32, "random")
    }
    runs = [step.cell_text for step in steps[1::2] if isinstance(step, Run)]
    assert runs == [{"threads": f"{n}", "qd": f"{n}"} for n in (16, 4, 1)]


def test_percentiles_are_of_the_mix_that_oltp_is_measured_with():
    oltp, percentiles = (runs_of("reviews/m9100", row) for row in ("C4", "C8"))
    assert [r.workload for r, _ in oltp] == [r.workload for r, _ in percentiles]
    assert {r.workload.streams[0].read_percent for r, _ in oltp} == {67}


# profiles


def least_s(name, profile):
    """What the first test takes if the first window of rounds is steady."""
    plan = plan_of(PLANS[name], profile)
    test, estimator = plan.tests[0], Estimator(TB)
    assert test.rounds
    parts = dict.fromkeys((1, test.rounds.at_most), 0.0)
    for step, times in with_repetitions(unfold(plan)):
        if step.test.title == test.title:
            parts[times] += estimator.cost(step).run_s
    return parts[1] + test.rounds.rule.window * parts[test.rounds.at_most]


@pytest.mark.parametrize("name", QUICK)
def test_quick_takes_half_and_measures_no_less_in_a_round(name):
    """It has fewer passes and rounds, and each run of a round as long as in full."""
    assert least_s(name, "quick") < least_s(name, "full") / 2
    full, quick = (
        [
            (step.cell_text, step.workload, step.length)
            for step, _ in with_repetitions(unfold(plan_of(PLANS[name], each)))
            if isinstance(step, Run)
        ]
        for each in ("full", "quick")
    )
    assert quick == full


@pytest.mark.parametrize("name", REVIEWS)
def test_quick_of_a_review_keeps_its_cells(name):
    full, quick = (plan_of(PLANS[name], each) for each in ("full", "quick"))
    full_s, quick_s = (Estimator(TB).total(unfold(one)).run_s for one in (full, quick))
    assert quick_s < REVIEWS[name] * full_s
    cells = [
        [[*Matrix(test.axes, test.skip).cells()] for test in one.tests]
        for one in (full, quick)
    ]
    assert _texts(cells[1], set()) == _texts(cells[0], set())


@pytest.mark.long_but_first
@pytest.mark.parametrize("name", PLANS)
def test_short_keeps_the_matrix(name):
    full, short = (
        [
            [*Matrix(test.axes, test.skip).cells()]
            for test in plan_of(PLANS[name], each).tests
        ]
        for each in ("full", "short")
    )
    pauses = {"rest"}  # what D5 varies is a time
    assert _texts(short, pauses) == _texts(full, pauses)


def _texts(tests, but):
    return [
        [
            {name: v.text for name, v in cell.items() if name not in but}
            for cell in cells
        ]
        for cells in tests
    ]


@pytest.mark.long_but_first
@pytest.mark.parametrize("name", PLANS)
def test_profiles(name):
    """All are right; a smoke is over in seconds even on a scratch file."""
    one = PLANS[name]
    quick = ["quick"] if name in (*QUICK, *REVIEWS) else []
    assert sorted(one.profiles) == [*quick, "short", "smoke"]
    full_s, short_s, _ = (
        Estimator(TB).total(unfold(plan_of(one, each))).run_s for each in PROFILES
    )
    smoke = Estimator(SMOKE_BYTES).total(unfold(plan_of(one, "smoke")))
    assert short_s < full_s
    assert smoke.run_s < (60 if name == CUTS else 5)  # a cut ends its run


def test_a_setting_wins_over_the_profile(tmp_path, store_path):
    text = "param t = 9s param u = 2s profile p { t = 1s u = 1s } "
    text += 'test "T" { run random 4KiB 100/0 for t, warmup u }'
    path = plan_file(tmp_path, text)
    done = ioplan("plan", path, "--profile", "p", "--set", "u=3s", "--json")
    (step,) = json.loads(done.out)["steps"]
    assert (step["run_ns"], step["warmup_ns"]) == (10**9, 3 * 10**9)
    wrong = ioplan("check", path, "--profile", "q")
    assert wrong.code == 2
    assert "the plan has no profile 'q'" in wrong.err
    ran = ioplan("run", path, "--profile", "p", "--backend", "sim", "--json")
    assert ran.of("record")[0]["record"]["asked"]["profile"] == "p"


# what is written about them


@pytest.mark.parametrize("suite", PLANS)
@pytest.mark.parametrize("profile", ["full", "smoke"])
def test_each_test_says_what_it_is_told_by(suite, profile):
    for test in plan_of(PLANS[suite], profile).tests:
        assert test.headlines, (suite, test.title)
        for one in test.headlines:
            cells = list(Matrix(test.axes, test.skip).cells(one.when))
            assert cells, (suite, test.title, one.text)


def test_the_table_is_current(renew):
    text = DOCUMENT.read_text()
    if renew:
        text = TABLE.sub(table(), text)
        DOCUMENT.write_text(text)
    shown = TABLE.search(text)
    assert shown and shown[0] == table()


@pytest.mark.parametrize("name", PLANS)
def test_each_suite_says_what_it_costs(name, renew):
    """In the last line of its comment; a source in one of the others."""
    one = PLANS[name]
    if renew:
        head = "\n".join(f"# {line}" for line in one.about)
        kept = [line for line in one.about if not line.startswith("On 1 TB: ")]
        fresh = "\n".join(f"# {line}" for line in (*kept, cost_line(one)))
        one.path.write_text(one.path.read_text().replace(head, fresh, 1))
        return
    assert one.about[-1] == cost_line(one)
    source = ("AnandTech", "PC Perspective", "SNIA PTS 2.0", "ioplan's own", "Source")
    assert any(word in " ".join(one.about) for word in source)


# the command


@pytest.mark.long
def test_a_suite_is_described():
    done = succeed("suites", "pts/pts_iops")
    assert "SNIA PTS 2.0" in done.out
    assert re.search(r"run_time( +1min){2} +3s +20ms", done.out)
    assert "test D1 IOPS" in done.out
    assert "oltp" in ioplan("suites", "std/workloads").out
    wrong = ioplan("suites", "pts/iops")
    assert wrong.code == 2
    assert "there is no suite 'pts/iops', did you mean 'pts/pts_iops'" in wrong.err


def test_installed_suites_are_found_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert ioplan("check", "quick/laptop", "reviews/p3700.ioplan").code == 0
    wrong = ioplan("check", "reviews/p3800")
    assert wrong.code == 2
    assert "did you mean 'reviews/p3700'?" in wrong.err
    mine = plan_file(tmp_path, "nonsense", "laptop")
    assert ioplan("check", mine.name).code == 2  # a file of one's own comes first


# they run


SMOKED = [
    pytest.param("pts/pts_iops", marks=pytest.mark.long),
    "pts/pts_write_saturation",
    "pts/pts_demand_intensity",
    pytest.param("pts/pts_enterprise_composite", marks=pytest.mark.long),
    "quick/laptop",
    "ai/kv_cache",
    *(pytest.param(f"ai/{name}", marks=pytest.mark.long) for name in ("checkpoint", "loader")),
    *(pytest.param(f"app/{name}", marks=pytest.mark.long) for name in ("oltp", "web")),
]  # fmt: skip
"""What takes little time where it is real."""


@pytest.mark.long_but_first
@pytest.mark.slow
@pytest.mark.parametrize("name", SMOKED)
def test_smoke_on_a_scratch_file(name, tmp_path, store_path):
    scratch = tmp_path / "scratch.bin"
    done = ioplan(
        *("run", name, "--profile", "smoke", "--json"),
        *("--target", scratch, "--create", "256MiB"),
    )
    assert done.code in (0, 1), done.err  # too short to become steady, maybe
    check_session(PLANS[name], "smoke", SMOKE_BYTES, last_records(store_path))


SIMULATED = [
    "quick/health",
    "quick/capacity",
    "pts/pts_throughput",
    "pts/pts_write_saturation",
]


@pytest.mark.long_but_first
@pytest.mark.slow
@pytest.mark.parametrize("name", SIMULATED)
def test_full_on_the_simulated_drive(name, store_path):
    succeed("run", name, "--backend", "sim", "--create", "4GiB", "--json")
    check_session(PLANS[name], "full", 4 << 30, last_records(store_path))


@pytest.mark.long_but_first
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PLANS if name != CUTS])
def test_smoke_on_the_simulated_drive(name, store_path):
    sim = ("--backend", "sim", "--create", "256MiB", "--json")
    done = ioplan("run", name, "--profile", "smoke", *sim)
    assert done.code in (0, 1), done.err  # too short to become steady, maybe
    check_session(PLANS[name], "smoke", SMOKE_BYTES, last_records(store_path))


# SNIA's report format


# what is done again is done each time


@pytest.mark.long_but_first
@pytest.mark.slow
@pytest.mark.parametrize("mix", ["100/0", "0/100"])
def test_then_is_never_left_out(mix, tmp_path, store_path):
    """Not after reads either, which keep a state as it is."""
    text = (
        "precondition filled { purge write sequential 128KiB, qd 8, 1 pass } "
        "precondition pressed { write random 4KiB, qd 8 for 20ms } "
        'test "T" { after filled then pressed before each qd '
        f"run random 4KiB {mix} for 20ms vary qd in 1, 2, 3 }}"
    )
    plan = plan_file(tmp_path, text)
    where = ("--target", tmp_path / "scratch.bin", "--create", "8MiB", "--json")
    succeed("run", plan, *where)
    fill, press, run = ("sequential", "prepare"), ("random", "prepare"), "run"
    order = [
        run if record.asked.kind == "run" else (stream.pattern, "prepare")
        for record in last_records(store_path)
        for stream in record.asked.workload.streams
    ]
    assert order == [fill, press, run, press, run, press, run]


@pytest.mark.long
def test_rounds_of_latency_say_what_their_source_leaves_unwritten(tmp_path, store_path):
    """At QD 1, on a drive that they overwrite in part."""
    drive = drive_file(tmp_path, "client")
    drive.write_text(drive.read_text().replace("512MB", "4GB"))
    call = ("--profile", "short", "--backend", "sim", "--sim", drive)
    done = succeed("run", "pts/pts_latency", *call, "--store", store_path)
    told = " ".join(done.out.split())
    assert re.search(r"not steady.* of its region overwritten at random", told)
