"""What the planner saves over preparing before each test, and the proof that it may."""

from __future__ import annotations

from pathlib import Path

from command import ioplan

from ioplan.records import RunRecord
from ioplan.results.store import Store

NAMES = ("mapped_share", "free_blocks_share", "cache_fill")
SUITES = ("reviews/p3700", "reviews/m9100")
"""Suites A and C."""


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
