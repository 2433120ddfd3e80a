"""`attach`, `status` and `cancel` of a job, and its `resume`."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from ioplan.cli.commands.jobs.executor import executor_of, lane_errors
from ioplan.cli.commands.jobs.watch import settled, states_of, watch
from ioplan.cli.display.fleet import lane_table
from ioplan.cli.display.output import print_message
from ioplan.cli.display.terminal import Terminal
from ioplan.cli.exit_codes import HELD, RUN_FAILED
from ioplan.cluster.jobs.job import Jobs
from ioplan.store.store import default_path


def attach(key: str, store: Path | None) -> int:
    """Watch a job until it ends; Ctrl-C leaves it alone. Returns the exit code."""
    console, jobs = Terminal(highlight=False), Jobs(store or default_path())
    job = jobs.job(key)
    with executor_of(job) as executor, lane_errors():
        executor.start(job.calls)
        return watch(console, executor, job, jobs, stops=False)


def resume_job(console: Console, store: Path, key: str) -> int:
    """Go on with the lanes that stopped or failed. Returns the exit code."""
    jobs = Jobs(store)
    job = jobs.job(key)
    with executor_of(job) as executor, lane_errors():
        executor.reset(job.calls)
        job.known.clear()
        executor.start(job.calls)
        return watch(console, executor, job, jobs, stops=True)


def status(key: str, store: Path | None) -> int:
    """Print how a job goes."""
    console, jobs = Terminal(highlight=False), Jobs(store or default_path())
    job = jobs.job(key)
    with executor_of(job) as executor, lane_errors():
        states, missing = states_of(job, executor)
    console.print(f"job {job.id}: {job.plan} on {job.where}", soft_wrap=True)
    console.print(lane_table(states))
    for host in missing:
        console.print(f"nothing is heard of {host}", soft_wrap=True)
    return HELD


def cancel(key: str, store: Path | None) -> int:
    """End the I/O of a job; what is finished is kept. Returns the exit code."""
    console, jobs = Terminal(highlight=False), Jobs(store or default_path())
    job = jobs.job(key)
    with executor_of(job) as executor, lane_errors():
        lost = executor.stop(job.calls)
        states = settled(executor, job, lost)
    jobs.keep(job.model_copy(update={"known": {one.session: one for one in states}}))
    console.print(lane_table(states))
    if lost:
        print_message(
            f"error: could not be told: {', '.join(lost)}; lanes there go on until "
            f"they end; try again once the hosts can be reached"
        )
        return RUN_FAILED
    console.print(f"to go on: ioplan resume {job.id}", soft_wrap=True)
    return HELD
