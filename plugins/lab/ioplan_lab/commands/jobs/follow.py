"""`attach`, `status` and `cancel` of a job, and its `resume`."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from ioplan.cli.display.output import print_message
from ioplan.cli.display.terminal import Terminal
from ioplan.cli.exit_codes import EXPECTATION_FAILED, HELD, RUN_FAILED
from ioplan.results.store.delivery.sender import send_later
from ioplan.results.store.store import default_path
from ioplan.runner.session.person import login_name
from ioplan_lab.cluster.jobs.job import Jobs
from ioplan_lab.cluster.keys.issued import notice
from ioplan_lab.commands.jobs.delivery import (
    ask_deliveries,
    said_of_delivery,
    stored_text,
)
from ioplan_lab.commands.jobs.executor import (
    executor_of,
    lane_errors,
    print_unready,
    some_ready,
)
from ioplan_lab.commands.jobs.fleet import print_lanes, short_reasons
from ioplan_lab.commands.jobs.lanes_here import ended_here, lanes_of_job
from ioplan_lab.commands.jobs.watch import (
    say_how_to_attach,
    settled,
    states_of,
    watch,
)


def attach(key: str, store: Path | None) -> int:
    """Watch a job until it ends; Ctrl-C only stops watching. Returns the exit code."""
    console, jobs = Terminal(highlight=False), Jobs(store or default_path())
    job = jobs.job(key)
    send_later(jobs.store)
    with executor_of(job) as executor, lane_errors():
        executor.start(job.unfinished)
        return watch(console, executor, job, jobs, stops=False)


def resume_job(console: Console, store: Path, key: str, detach: bool) -> int:
    """Go on with the lanes that stopped or failed. Returns the exit code."""
    jobs = Jobs(store)
    job = jobs.job(key)
    with executor_of(job) as executor, lane_errors():
        unready = some_ready(executor, job)
        away = {*executor.reset(job.calls), *unready}
        for call in job.calls:
            if call.host not in away:
                job.known.pop(call.session, None)
                job.deliveries.pop(call.session, None)
        jobs.keep(job)
        print_unready(job, unready)
        executor.start(job.unfinished)
        if detach:
            return say_how_to_attach(console, job)
        return watch(console, executor, job, jobs, stops=True)


def status(key: str, store: Path | None) -> int:
    """Print how a job goes. Returns 1 if a lane has ended, and not well."""
    console, jobs = Terminal(highlight=False), Jobs(store or default_path())
    job = jobs.job(key)
    with executor_of(job) as executor, lane_errors():
        states, _ = states_of(job, executor)
        ask_deliveries(executor, job)
    send_later(jobs.store)
    jobs.keep(job)
    console.print(f"job {job.id}: {job.plan} on {job.where}", soft_wrap=True)
    print_lanes(console, states)
    for text in short_reasons(states):
        console.print(text, soft_wrap=True)
    if said := notice():
        print_message(said)
    failed = any(one.ended and one.status != "ok" for one in states)
    code = EXPECTATION_FAILED if failed else HELD
    if not job.results:
        return code
    if all(state.ended for state in states):
        return said_of_delivery(console, job, code)
    console.print(stored_text(job), soft_wrap=True)
    return code


def cancel(key: str, store: Path | None, person: str) -> int:
    """End the I/O of a job; what is finished is kept. Returns the exit code.

    On a host that has only lanes of it, those are ended.
    """
    console, jobs = Terminal(highlight=False), Jobs(store or default_path())
    person = person or login_name()
    if lanes := [] if jobs.knows(key) else lanes_of_job(key, store):
        print_lanes(console, ended_here(lanes, person))
        return HELD
    job = jobs.job(key)
    with executor_of(job) as executor, lane_errors():
        lost = executor.stop(job.calls, person)
        states = settled(executor, job, lost)
    jobs.keep(job)
    print_lanes(console, states)
    if lost:
        print_message(
            f"error: could not be reached: {', '.join(lost)}; their lanes continue; "
            "try again when the hosts can be reached, or there: ioplan cancel "
            f"{job.id}"
        )
        return RUN_FAILED
    console.print(f"to continue: ioplan resume {job.id}", soft_wrap=True)
    return HELD
