"""What the desk concludes from what hosts report of their outboxes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from figures import run
from sessions import session

from ioplan.cli import Terminal
from ioplan.results.store import Delivery, Store
from ioplan_lab import Job, LaneCall
from ioplan_lab.cluster.jobs.executors import LocalExecutor
from ioplan_lab.cluster.jobs.lane import initial_state
from ioplan_lab.commands.jobs.delivery import (
    ask_deliveries,
    said_of_delivery,
    stored_text,
)

ADDRESS = "postgresql://lab:secret@10.0.0.1/ioplan"
SHOWN = "postgresql://lab:***@10.0.0.1/ioplan"


def call(host: str, number: int = 1) -> LaneCall:
    return LaneCall(
        job="20261121-050000-aaaa",
        session=f"20261121-050000-aaaa-{number:03}",
        target=f"{host}-drive",
        host=host,
        plan="plan.ioplan",
        files={},
        lab="",
    )


H1, H2 = call("h1", 1), call("h2", 2)


@pytest.fixture
def job() -> Job:
    """Two lanes that have ended, of twelve runs each."""
    found = Job(id=H1.job, plan="p", where="all", results=ADDRESS, calls=(H1, H2))
    for one in (H1, H2):
        done = {"status": "ok", "runs": 12, "exit_code": 0}
        found.known[one.session] = initial_state(one).model_copy(update=done)
    return found


def said(job: Job, found: dict[str, Delivery]) -> tuple[str, int]:
    """What is printed of it, and its exit code."""
    job.deliveries.update(found)
    return stored_text(job), said_of_delivery(Terminal(quiet=True), job)


ALL, MORE = (Delivery(done=True, runs=n, stored=n) for n in (12, 15))
LEFT = Delivery(runs=12, stored=10, error="Connection refused")
TOLD = [
    # by all parts of a lane: the last one of a lane had twelve runs, all had 15
    (ALL, MORE, "27 of 27 runs stored in {}", 0),
    (ALL, LEFT, "22 of 24 runs stored in {}: h2: Connection refused", 4),
    (ALL, None, "12 of 24 runs stored in {}", 4),  # nobody has asked h2
]


@pytest.mark.parametrize(("first", "second", "text", "code"), TOLD)
def test_what_the_database_has_is_counted(
    first: Delivery, second: Delivery | None, text: str, code: int, job: Job
) -> None:
    found = {H1.session: first} | ({H2.session: second} if second else {})
    assert said(job, found) == (text.format(SHOWN), code)


def test_a_lane_that_was_never_begun_has_nothing_to_deliver(job: Job) -> None:
    del job.known[H2.session]
    assert said(job, {H1.session: ALL}) == (f"12 of 12 runs stored in {SHOWN}", 0)


class Hosts(LocalExecutor):
    """Those that answer; only they ask the database."""

    def __init__(self, found: dict[str, Delivery]) -> None:
        self.found = found

    def delivered_now(
        self, calls: Sequence[LaneCall], place: str
    ) -> dict[str, Delivery]:
        return self.found


def test_what_was_once_delivered_is_asked_for_again(job: Job, tmp_path: Path) -> None:
    """Of a host that is away the database is asked: it was restored, and is empty."""
    there = {"results": str(tmp_path / "shared.db")}
    job = job.model_copy(update={**there, "deliveries": {H2.session: ALL}})
    assert ask_deliveries(Hosts({H1.session: ALL}), job)
    assert stored_text(job).startswith("12 of 24 runs stored")
    assert said_of_delivery(Terminal(quiet=True), job) == 4


def test_of_a_lane_that_nothing_was_heard_of_the_database_is_asked(
    job: Job, tmp_path: Path
) -> None:
    job = job.model_copy(update={"results": str(tmp_path / "shared.db")})
    with Store.at(str(job.results)) as shared:
        shared.begin(session(H2.session))
        shared.add(*run(1, session=H2.session))
    del job.known[H2.session]
    assert ask_deliveries(Hosts({H1.session: ALL}), job), "its host may have more"
    assert stored_text(job).startswith("13 of 13 runs stored")


def test_a_host_that_cannot_ask_is_asked_for(job: Job, tmp_path: Path) -> None:
    """Only its link is cut; what it knows of its own session is kept."""
    job = job.model_copy(update={"results": str(tmp_path / "shared.db")})
    cut = Delivery(runs=15, stored=3, error="timeout expired")
    refused = Delivery(runs=12, error="another one", refused=True)
    assert ask_deliveries(Hosts({H1.session: refused, H2.session: cut}), job)
    assert stored_text(job).startswith("0 of 27 runs stored")
    assert "h1: another one; h2: timeout expired" in stored_text(job)
