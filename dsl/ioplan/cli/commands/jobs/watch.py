"""Looking at a job until its lanes have ended, and what it comes to."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from ioplan.cli.display.fleet import LaneDisplay, failure_messages, lane_table
from ioplan.cli.display.output import print_message
from ioplan.cli.exit_codes import (
    EXPECTATION_FAILED,
    HELD,
    INTERRUPTED,
    RUN_FAILED,
    USAGE,
)
from ioplan.cluster.errors import ClusterError
from ioplan.cluster.jobs.executors import Executor
from ioplan.cluster.jobs.job import Job, Jobs
from ioplan.cluster.jobs.lane import LaneState, LaneStatus, initial_state
from ioplan.core.error_kinds import ClusterFault
from ioplan.core.text import line
from ioplan.report.headlines.summary import league_of
from ioplan.report.terminal.league import league_note, league_table
from ioplan.store.store import Store

LOOK_S = 0.5
SURE_S, ENDING_S = 2, 60
EXIT: dict[LaneStatus, int] = {
    "ok": HELD,
    "unmet": EXPECTATION_FAILED,
    "refused": USAGE,
    "stopped": INTERRUPTED,
    "failed": RUN_FAILED,
    "died": RUN_FAILED,
}
"""The gravest of all lanes is the job's; graver ones come later."""


def watch(
    console: Console, executor: Executor, job: Job, jobs: Jobs, stops: bool
) -> int:
    """Until all lanes have ended. Ctrl-C ends them, or only the looking."""
    try:
        with LaneDisplay(console) as shown:
            states = _until_ended(executor, job, shown)
    except KeyboardInterrupt:
        if not stops:
            console.print(f"it goes on; back: ioplan attach {job.id}", soft_wrap=True)
            return INTERRUPTED
        executor.stop(job.calls)
        states = settled(executor, job, ())
    jobs.keep(job.model_copy(update={"known": {one.session: one for one in states}}))
    return _concluded(console, job, states)


def _until_ended(executor: Executor, job: Job, shown: LaneDisplay) -> list[LaneState]:
    while True:
        states, missing = states_of(job, executor)
        shown.show(states, missing)
        if all(state.ended for state in states):
            return states
        time.sleep(LOOK_S)
        executor.start(
            [one for one in job.calls if not _has_ended(states, one.session)]
        )


def _has_ended(states: Sequence[LaneState], session: str) -> bool:
    return any(one.session == session and one.ended for one in states)


def states_of(job: Job, executor: Executor) -> tuple[list[LaneState], list[str]]:
    """A state for each lane, and the hosts of which nothing is heard."""
    found = executor.states(job.calls)
    for session, state in found.items():
        job.known[session] = state
    states = [job.known.get(call.session) or initial_state(call) for call in job.calls]
    goes_on = [call for call in job.calls if not job.has_ended(call)]
    return states, executor.missing(goes_on)


def _concluded(console: Console, job: Job, states: Sequence[LaneState]) -> int:
    console.print(lane_table(states))
    _print_league(console, job)
    for text in failure_messages(states):
        print_message(text)
    code = _exit_code(states)
    if code not in (HELD, EXPECTATION_FAILED):
        console.print(f"to go on: ioplan resume {job.id}", soft_wrap=True)
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


def _exit_code(states: Sequence[LaneState]) -> int:
    order = list(EXIT)
    worst = max(states, key=lambda one: order.index(one.status))
    return EXIT[worst.status]


def settled(executor: Executor, job: Job, lost: Sequence[str]) -> list[LaneState]:
    """Once all that could be told have ended; one may have begun just before."""
    begun_s = time.monotonic()
    while True:
        states, missing = states_of(job, executor)
        away = {*lost, *missing}
        goes_on = [
            call
            for call in job.calls
            if call.session in job.known
            and not job.has_ended(call)
            and call.host not in away
        ]
        waited_s = time.monotonic() - begun_s
        if not goes_on and waited_s > SURE_S:
            return [_stopped(job, state) for state in states]
        if waited_s > ENDING_S:
            names = ", ".join(call.target for call in goes_on)
            raise ClusterError(
                f"after {ENDING_S} s these lanes have not ended: {names}; look at the "
                f"host's processes",
                ClusterFault.LANES_RUNNING,
            )
        time.sleep(LOOK_S)
        executor.stop(goes_on)


def _stopped(job: Job, state: LaneState) -> LaneState:
    """A lane that was never begun is not begun any more."""
    if state.session in job.known:
        return state
    return state.model_copy(update={"status": "stopped"})
