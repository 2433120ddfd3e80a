"""What the planner saves over preparing before each test, and the proof that it may."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from command import ioplan
from msgspec.structs import replace

from ioplan.language import CheckedPlan
from ioplan.planner import Estimator, unfold
from ioplan.planner.estimate import Cost
from ioplan.records import RunRecord
from ioplan.results.store import Store

NAMES = ("mapped_share", "free_blocks_share", "cache_fill")
SUITES = ("reviews/p3700", "reviews/m9100")
"""Suites A and C."""


def apart(plan: CheckedPlan) -> Iterator[CheckedPlan]:
    """Each test as a plan of its own, which knows nothing of what was before."""
    for test in plan.tests:
        yield replace(plan, tests=(test,))


def naive(plan: CheckedPlan, capacity_bytes: int) -> Cost:
    """The cost where every test prepares its target from scratch."""
    estimator = Estimator(capacity_bytes)
    costs = [estimator.total(unfold(one)) for one in apart(plan)]
    return Cost(sum(c.run_s for c in costs), sum(c.written_bytes for c in costs))


def planned(plan: CheckedPlan, capacity_bytes: int) -> Cost:
    """The cost as the planner does it."""
    return Estimator(capacity_bytes).total(unfold(plan))


def first_runs(suite: str, folder: Path) -> dict[str, RunRecord]:
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
    with Store.open(store) as opened:
        for record in opened.records(opened.session("last").id):
            if record.asked.kind == "run" and record.asked.after:
                found.setdefault(record.asked.test, record)
    return found


def state_before(record: RunRecord) -> tuple[float, ...]:
    """What the simulated drive was in before a run, as shares of its pages and blocks.

    Mapped pages, free blocks, full cache, and quartiles of the valid pages a block.
    Random writes are followed for a sample of the pages, so the last digits differ.
    """
    facts = record.backend.facts
    shares = [facts[f"before_{name}"] for name in NAMES]
    quartiles = facts["before_valid_quartiles"].split("/")
    return (*shares, *map(float, filter(None, quartiles)))
