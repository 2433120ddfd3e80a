"""Looking at a job until its lanes have ended, and what it comes to."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from ioplan.cli import HELD, INTERRUPTED, print_message
from ioplan.core import ClusterFault, line
from ioplan.results.report import league_note, league_of, league_table
from ioplan.results.store import Store
from ioplan.runner import login_name
from ioplan_lab.cluster.errors import ClusterError
from ioplan_lab.cluster.jobs.executors import Executor
from ioplan_lab.cluster.jobs.job import Job, Jobs
from ioplan_lab.cluster.jobs.lane import EXIT, LaneState, gravest
from ioplan_lab.commands.jobs.delivery import after_delivery
from ioplan_lab.commands.jobs.fleet import LaneDisplay, failure_messages, print_lanes

LOOK_S, KEEP_S = 0.5, 5
SURE_S, ENDING_S = 2, 60


def watch(
    console: Console, executor: Executor, job: Job, jobs: Jobs, stops: bool
) -> int:
    """Until all lanes have ended. Ctrl-C ends them, or only the looking."""
    try:
        with LaneDisplay(console) as shown:
            states = _until_ended(executor, job, jobs, shown)
    except KeyboardInterrupt:
        if not stops:
            console.print(
                f"it continues; to watch it again: ioplan attach {job.id}",
                soft_wrap=True,
            )
            return INTERRUPTED
        executor.stop(job.calls, login_name())
        states = settled(executor, job, ())
    jobs.keep(job)
    code = _concluded(console, job, states)
    return after_delivery(console, executor, job, jobs, code)


def _until_ended(
    executor: Executor, job: Job, jobs: Jobs, shown: LaneDisplay
) -> list[LaneState]:
    kept_s = time.monotonic()
    while True:
        states, silent_s = states_of(job, executor)
        shown.show(states, silent_s)
        kept_s = _keep_some_times(job, jobs, kept_s)
        if all(state.ended for state in states):
            return states
        time.sleep(LOOK_S)
        executor.start(job.unfinished)


def _keep_some_times(job: Job, jobs: Jobs, kept_s: float) -> float:
    """Keep what was seen for other processes; returns when it was kept."""
    if time.monotonic() - kept_s < KEEP_S:
        return kept_s
    jobs.keep(job)
    return time.monotonic()


def states_of(
    job: Job, executor: Executor
) -> tuple[list[LaneState], Mapping[str, float | None]]:
    """A state for each lane, and the hosts that are silent, for so many seconds."""
    job.known.update(executor.states(job.unfinished))
    silent_s = executor.silent(job.unfinished)
    return job.states(silent_s), silent_s


def say_how_to_attach(console: Console, job: Job) -> int:
    """The lanes go on in the background; returns the exit code."""
    console.print(f"to watch it: ioplan attach {job.id}", soft_wrap=True)
    return HELD


def _concluded(console: Console, job: Job, states: Sequence[LaneState]) -> int:
    print_lanes(console, states)
    _print_league(console, job)
    for text in failure_messages(states):
        print_message(text)
    code = EXIT[gravest(states).status]
    done = {"ok", "unmet"}
    if not all(state.status in done for state in states):
        console.print(f"to continue: ioplan resume {job.id}", soft_wrap=True)
    return code


def _print_league(console: Console, job: Job) -> None:
    """The targets of this host beside one another; those of others are elsewhere."""
    if job.scheduler is not None or not job.calls[0].store:
        return
    with Store.to_read(Path(job.calls[0].store)) as store:
        ids = {call.session for call in job.calls}
        sessions = [one for one in store.sessions() if one.id in ids][::-1]
        found = league_of(store, sessions)
    if found:
        console.print(league_table(found, console))
        console.print(line(league_note(found), "dim"))


def settled(executor: Executor, job: Job, lost: Sequence[str]) -> list[LaneState]:
    """Once all that could be told have ended; one may have begun just before."""
    begun_s = time.monotonic()
    while True:
        _, silent_s = states_of(job, executor)
        away = {*lost, *silent_s}
        goes_on = [
            call
            for call in job.unfinished
            if call.session in job.known and call.host not in away
        ]
        waited_s = time.monotonic() - begun_s
        if not goes_on and waited_s > SURE_S:
            job.stop_unseen()
            return job.states(silent_s)
        if waited_s > ENDING_S:
            names = ", ".join(call.target for call in goes_on)
            raise ClusterError(
                f"after {ENDING_S} s these lanes have not ended: {names}; look at the "
                f"host's processes",
                ClusterFault.LANES_RUNNING,
            )
        time.sleep(LOOK_S)
        executor.stop(goes_on)
