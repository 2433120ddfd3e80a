"""The planner prepares less, and still every test starts from what it asked for."""

from __future__ import annotations

import itertools
from collections import defaultdict
from pathlib import Path

import pytest
from command import ioplan

from ioplan.records import RunRecord
from ioplan.results.store import Store

NAMES = ("mapped_share", "free_blocks_share", "cache_fill")
SUITES = ("reviews/p3700", "reviews/m9100")
"""Suites A and C."""
NEAR = 0.04
"""A state that was reached by random writes until steady comes so near to itself."""


@pytest.mark.long_but_first
@pytest.mark.slow
@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.promise("plans.states")
def test_equal_states_are_equal_to_the_drive(suite: str, tmp_path: Path) -> None:
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
