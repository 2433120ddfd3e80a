"""What the desk concludes from what hosts report of their outboxes."""

from __future__ import annotations

import pytest

from ioplan.cli.display.terminal import Terminal
from ioplan_lab.cluster.hosts.delivery import MOST_REPORTED, Report, deliveries_of
from ioplan_lab.cluster.jobs.job import Job
from ioplan_lab.cluster.jobs.lane import LaneCall, initial_state
from ioplan_lab.commands.jobs.delivery import said_of_delivery, stored_text

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


def said(job: Job, reports: dict[str, Report | None]) -> tuple[str, int]:
    """What is printed of it, and its exit code."""
    job.deliveries.update(deliveries_of(job.calls, reports))
    return stored_text(job), said_of_delivery(Terminal(quiet=True), job)


def test_what_is_in_no_outbox_has_been_delivered(job: Job) -> None:
    assert said(job, {"h1": {}, "h2": {}}) == (f"24 of 24 runs stored in {SHOWN}", 0)


def test_the_host_that_lacks_something_is_named_with_its_reason(job: Job) -> None:
    left = {"runs": 12, "stored": 10, "error": "Connection refused"}
    text, code = said(job, {"h1": {}, "h2": {H2.session: left}})
    assert (text, code) == (
        f"22 of 24 runs stored in {SHOWN}: h2: Connection refused",
        4,
    )


def test_a_host_that_does_not_report_has_delivered_nothing(job: Job) -> None:
    assert said(job, {"h1": {}}) == (f"12 of 24 runs stored in {SHOWN}", 4)
    assert said(job, {"h1": {}, "h2": {}})[1] == 0
    assert said(job, {"h1": {}})[1] == 0, "what was once delivered stays so"


def test_a_report_that_is_too_long_says_nothing_of_old_sessions(job: Job) -> None:
    newer: Report = {f"20261122-{at:06}": {} for at in range(MOST_REPORTED)}
    assert said(job, {"h1": {}, "h2": newer})[1] == 4


def test_a_lane_that_was_never_begun_has_nothing_to_deliver(job: Job) -> None:
    del job.known[H2.session]
    assert said(job, {"h1": {}}) == (f"12 of 12 runs stored in {SHOWN}", 0)
