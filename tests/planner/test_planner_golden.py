"""Plans and the steps that they unfold into.

The ids must not change from one version to the next.
"""

import itertools
import sys
from collections import defaultdict

import paths
import pytest
from command import ioplan, last_records, program

from golden import Golden
from ioplan.language import check_file
from ioplan.planner import Idle, Prepare, RoundsOf, most_probes, unfold
from ioplan.planner.seek.search import Probe
from ioplan.planner.steps import SeekOf
from ioplan.records import RunRecord
from ioplan.workload import Stream

PLANS = Golden("plans")


@pytest.mark.parametrize("case", PLANS)
def test_a_plan(case, golden, tmp_path):
    golden(PLANS, case, printed(PLANS[case].put(tmp_path, ".ioplan")))


def printed(plan):
    return "\n".join([*lines(unfold(check_file(plan))), ""])


def lines(steps):
    title = ""
    for step in steps:
        if step.test.title != title:
            title = step.test.title
            yield f"test {title}"
        yield from line(step)


def line(step):
    if isinstance(step, RoundsOf):
        yield f"  {step}"
        for number in (1, 2, step.rounds.at_most):
            yield f"  round {number}"
            yield from (f"  {row}" for one in step.round(number) for row in line(one))
    elif isinstance(step, SeekOf):
        yield f"  {step}, at most {most_probes(step.bounds)} probes"
        for number, phase in enumerate(("bracket", "bisect", "confirm"), 1):
            probe = Probe(step.bounds.lowest * number, phase, number)
            yield from (f"  {row}" for one in step.probe(probe) for row in line(one))
        yield from (f"  found {row.strip()}" for row in line(step.finding))
    elif isinstance(step, Prepare):
        place = f"{step.position}/{step.total}"
        yield f"  prepare {place} {step} [{step.state.digest}]"
    elif isinstance(step, Idle):
        yield f"  {step} = {step.pause_ns} ns"
    else:
        length = {k: v for k, v in step.length._asdict().items() if v}
        place = f"step {step.index}"
        place += f" round {step.round}" if step.round else ""
        place += f" iteration {step.iteration}" if step.iteration else ""
        after = f" after {step.after.name}" if step.after else ""
        streams = (s.model_dump(exclude_defaults=True) for s in step.workload.streams)
        yield f"  run {step.run_id} {place}: {step}{after}"
        yield f"      {' '.join(f'{k}={v}' for k, v in length.items())}"
        yield from (f"      {brief(stream)}" for stream in streams)


def brief(stream):
    """A stream without what says the same twice."""
    if stream.get("read_sizes") == stream.get("write_sizes"):
        del stream["write_sizes"]
    shown = (name for name in Stream.model_fields if name in stream)
    return " ".join(f"{name}={stream[name]}" for name in shown)


@pytest.mark.slow
@pytest.mark.promise("plans.same_runs")
def test_another_process_plans_the_same(tmp_path):
    """Neither the order of sets nor the seed of hashes enters an id."""
    plan = PLANS["states"].put(tmp_path, ".ioplan")
    code = "import pathlib; from test_planner_golden import printed; "
    code += f"print(printed(pathlib.{plan!r}))"
    done = program(
        sys.executable,
        "-c",
        code,
        cwd=paths.TESTS / "planner",
        env={"PYTHONHASHSEED": "1", "PYTHONPATH": str(paths.SUPPORT)},
        check=True,
    )
    assert done.stdout == printed(plan) + "\n"


# the planner prepares less, and still every test starts from what it asked for

NAMES = ("mapped_share", "free_blocks_share", "cache_fill")
SUITES = ("reviews/p3700", "reviews/m9100")
"""Suites A and C."""
NEAR = 0.04
"""A state that was reached by random writes until steady comes so near to itself."""


@pytest.mark.long_but_first
@pytest.mark.slow
@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.promise("plans.states")
def test_equal_states_are_equal_to_the_drive(suite, tmp_path):
    """The judge is the simulated drive: what it holds, and how its blocks are filled."""
    states: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for record in first_runs(suite, tmp_path).values():
        assert record.asked.after
        states[record.asked.after.digest].append(state_before(record))
    assert max(map(len, states.values())) > 1
    for first, *others in states.values():
        assert all(other == pytest.approx(first, abs=NEAR) for other in others)
    kinds = [found[0] for found in states.values()]
    assert any(
        one != pytest.approx(other, abs=NEAR)
        for one, other in itertools.combinations(kinds, 2)
    ), "the judge tells different states apart"


def first_runs(suite, folder):
    """The first run of each test that asks for a state; the sim tells what it found.

    `folder` keeps the store. The whole suite is one session on one drive.
    """
    store = folder / "results.db"
    done = ioplan(
        *("run", suite, "--profile", "smoke", "--backend", "sim"),
        *("--create", "1GiB", "--store", store, "--quiet"),
    )
    assert done.code in (0, 1), done.err
    found: dict[str, RunRecord] = {}
    for record in last_records(store):
        if record.asked.kind == "run" and record.asked.after:
            found.setdefault(record.asked.test, record)
    return found


def state_before(record):
    """What the simulated drive was in before a run, as shares of its pages and blocks.

    Mapped pages, free blocks, full cache, and quartiles of the valid pages a block.
    Random writes are followed for a sample of the pages, so the last digits differ.
    """
    facts = record.backend.facts
    shares = [facts[f"before_{name}"] for name in NAMES]
    quartiles = facts["before_valid_quartiles"].split("/")
    return (*shares, *map(float, filter(None, quartiles)))
