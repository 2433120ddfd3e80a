"""A job's results on their way from its hosts to the database that the lab shares."""

from __future__ import annotations

import time
from contextlib import suppress

from rich.console import Console

from ioplan.cli import HELD, INTERRUPTED, NOT_DELIVERED, UsageError, print_message
from ioplan.results.store import Delivery, shown, stored_now
from ioplan_lab.cluster.jobs.executors import Executor
from ioplan_lab.cluster.jobs.job import Job, Jobs
from ioplan_lab.cluster.jobs.lane import LaneCall
from ioplan_lab.commands.jobs.executor import executor_of, lane_errors

LOOK_S, SHOWN_AFTER_S = 0.5, 2.0
PUSH_S = 60.0


def after_delivery(
    console: Console, executor: Executor, job: Job, jobs: Jobs, code: int
) -> int:
    """The exit code of a job whose lanes have ended with this one.

    Waits until the shared database has all runs, as long as the lab says.
    """
    if not job.results:
        return code
    with suppress(KeyboardInterrupt):
        _await(console, executor, job, 0 if code == INTERRUPTED else job.delivery_s)
    jobs.keep(job)
    return said_of_delivery(console, job, code)


def _await(console: Console, executor: Executor, job: Job, wait_s: float) -> None:
    begun_s, said = time.monotonic(), ""
    with console.status("") as live:
        while ask_deliveries(executor, job) and _may_come(job):
            waited_s = time.monotonic() - begun_s
            if waited_s >= wait_s:
                return
            text = f"waiting, {wait_s:g} s at most: {stored_text(job)}"
            live.update(text)
            if not console.is_terminal and said != text and waited_s > SHOWN_AFTER_S:
                console.print(said := text, soft_wrap=True)
            time.sleep(LOOK_S)


def said_of_delivery(console: Console, job: Job, code: int = HELD) -> int:
    """Print how many runs are stored; the exit code of a job that came to this one."""
    console.print(stored_text(job), soft_wrap=True)
    if all(_is_there(job, call) for call in job.calls):
        return code
    print_message(
        "note: the hosts keep the missing results and will send them; to send them "
        f"now: ioplan push {job.id}"
    )
    return NOT_DELIVERED if code == HELD else code


def push_job(console: Console, jobs: Jobs, job: Job, place: str | None) -> int:
    """Have a job's hosts send what is missing; returns the exit code."""
    wait_s = max(job.delivery_s, PUSH_S)  # that is all that is asked for
    change = {"results": place or job.results, "delivery_s": wait_s}
    job = job.model_copy(update=change)
    if not job.results:
        raise UsageError('no destination: set results = "…" in the lab file')
    with executor_of(job) as executor, lane_errors():
        for host in executor.deliver(job.calls, job.results):
            print_message(f"note: {host} cannot be reached; its worker sends later")
        return after_delivery(console, executor, job, jobs, HELD)


def ask_deliveries(executor: Executor, job: Job) -> bool:
    """Ask what the shared database has now; whether anything is missing.

    Each host compares it with its own store. For one that does not answer, or cannot
    ask, this one asks the database, and compares with what was heard of it last. A lane
    of which nothing is there and nothing was heard has nothing to send.
    """
    if not job.results:
        return False
    found = executor.delivered_now(job.calls, job.results)
    job.deliveries.clear()
    job.deliveries.update(found)
    unsure = {
        call.session: _runs(job, call)
        for call in job.calls
        if call.session not in found or found[call.session].error
    }
    if unsure:
        for session, one in stored_now(job.results, unsure, unsure).items():
            if one.runs:
                job.deliveries[session] = _both(found.get(session), one)
    return not all(_is_there(job, call) for call in job.calls)


def _both(host: Delivery | None, here: Delivery) -> Delivery:
    """A host's answer with what this one counts; only the host knows all it has."""
    if host is None or host.refused:
        return host or here
    return host.model_copy(update={"stored": here.stored})


def _is_there(job: Job, call: LaneCall) -> bool:
    """A lane of which nothing was ever heard has nothing to send."""
    found = job.deliveries.get(call.session)
    return found.done if found else not _runs(job, call)


def _may_come(job: Job) -> bool:
    """Whether anything is missing that was not refused for good."""
    left = [one for one in job.calls if not _is_there(job, one)]
    return not all(job.delivery(one).refused for one in left)


def _runs(job: Job, call: LaneCall) -> int:
    """The runs that a lane's host counts over all its parts, else the last heard of."""
    state = job.known.get(call.session)
    return job.delivery(call).runs or (state.runs if state else 0)


def stored_text(job: Job) -> str:
    """As "22 of 24 runs stored in postgresql://…: h2: Connection refused"."""
    runs = sum(_runs(job, call) for call in job.calls)
    there = sum(job.delivery(call).stored for call in job.calls)
    reasons = {
        f"{call.host or 'this host'}: {job.delivery(call).error}": None
        for call in job.calls
        if job.delivery(call).error and not _is_there(job, call)
    }
    why = "".join(f": {one}" for one in ["; ".join(reasons)] if one)
    return f"{there} of {runs} runs stored in {shown(job.results or '')}{why}"
