"""`run` on a group, `attach`, `status`, `cancel`, and `resume` of a job."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from rich.console import Console

from ioplan.cli.commands.lab import lab_errors
from ioplan.cli.commands.run_on_hosts import check_lanes
from ioplan.cli.display.fleet import LaneDisplay, failure_messages, lane_table
from ioplan.cli.display.output import print_message
from ioplan.cli.display.terminal import Terminal
from ioplan.cli.errors import UsageError
from ioplan.cli.exit_codes import (
    EXPECTATION_FAILED,
    HELD,
    INTERRUPTED,
    RUN_FAILED,
    USAGE,
)
from ioplan.cli.inputs import checked_plan
from ioplan.cli.programs import PROGRAMS
from ioplan.cli.run_options import Options
from ioplan.cli.selection import only_tests
from ioplan.cluster.errors import ClusterError
from ioplan.cluster.jobs.dispatch import fleet_targets, new_job
from ioplan.cluster.jobs.executors import Executor, LocalExecutor
from ioplan.cluster.jobs.job import Job, Jobs
from ioplan.cluster.jobs.lane import LaneState, LaneStatus, initial_state
from ioplan.core.error_kinds import ClusterFault
from ioplan.core.text import line
from ioplan.lab.lab_file import default_path as default_lab
from ioplan.lab.lab_file import read_lab
from ioplan.report.headlines.summary import league_of
from ioplan.report.terminal.league import league_note, league_table
from ioplan.store.errors import StoreError
from ioplan.store.store import Store, default_path

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


def run_fleet(console: Console, options: Options, detach: bool) -> int:
    """A lane for each target; returns the exit code."""
    if options.json or options.baseline:
        raise UsageError("--json and --baseline are for one target, not for a group")
    asked = options.settings, options.scale_time, options.profile
    plan = checked_plan(options.plan, *asked, lab=options.lab)
    plan = only_tests(plan, options.tests)
    lab_file = options.lab or default_lab()
    assert lab_file and options.target  # the group is written there
    lab = read_lab(lab_file)
    check_lanes(plan, lab, fleet_targets(lab, options.target))
    with _lane_errors():
        words = _words(options)
        job = new_job(plan, lab_file, options.target, words, options.store)
    jobs = Jobs(options.store)
    with _executor(job) as executor, _lane_errors():
        executor.check(job.calls)
        jobs.keep(job)
        _print_begin(console, job, lab.results)
        executor.start(job.calls)
        if detach:
            console.print(f"to look at it: ioplan attach {job.id}", soft_wrap=True)
            return HELD
        return _watch(console, executor, job, jobs, stops=True)


def _print_begin(console: Console, job: Job, results: str | None) -> None:
    hosts = {call.host for call in job.calls if call.host}
    on = f" on {len(hosts)} hosts" if hosts else ""
    console.print(f"job {job.id}: {job.plan}, {len(job.calls)} lanes{on}")
    if hosts and not results:
        text = "note: the lab names no results database, so each host keeps its own"
        console.print(text, soft_wrap=True)


def _words(options: Options) -> list[str]:
    """What each lane's `ioplan run` is told, beside its target and its lab."""
    values: list[tuple[str, str | None]] = [
        ("--create", options.create),
        ("--backend", options.backend),
        ("--profile", options.profile),
        ("--scale-time", str(options.scale_time)),
        *(("--set", one) for one in options.settings),
        *(("--test", one) for one in options.tests),
        *(("--option", one) for one in options.options),
        *(("--allow", one) for one in options.allow),
        *(("--overwrite", _from_root(one)) for one in options.overwrite),
        *(("--overwrite-data", _from_root(one)) for one in options.overwrite_data),
    ]
    flags = [("--fresh", options.fresh)]
    flags += [("--allow-approximate", options.allow_approximate)]
    flags += [("--only-exact", options.only_exact)]
    words = [word for name, value in values if value for word in (name, value)]
    return words + [name for name, wanted in flags if wanted]


def _from_root(word: str) -> str:
    """A path holds from a lane's folder, too; a serial number stays one."""
    return str(Path(word).absolute()) if "/" in word and Path(word).exists() else word


# ---- looking at it


def attach(key: str, store: Path | None) -> int:
    """Watch a job until it ends; Ctrl-C leaves it alone. Returns the exit code."""
    console, jobs = Terminal(highlight=False), Jobs(store or default_path())
    job = jobs.job(key)
    with _executor(job) as executor, _lane_errors():
        executor.start(job.calls)
        return _watch(console, executor, job, jobs, stops=False)


def resume_job(console: Console, store: Path, key: str) -> int:
    """Go on with the lanes that stopped or failed. Returns the exit code."""
    jobs = Jobs(store)
    job = jobs.job(key)
    with _executor(job) as executor, _lane_errors():
        executor.reset(job.calls)
        job.known.clear()
        executor.start(job.calls)
        return _watch(console, executor, job, jobs, stops=True)


def status(key: str, store: Path | None) -> int:
    """Print how a job goes."""
    console, jobs = Terminal(highlight=False), Jobs(store or default_path())
    job = jobs.job(key)
    with _executor(job) as executor, _lane_errors():
        states, missing = _states(job, executor)
    console.print(f"job {job.id}: {job.plan} on {job.where}", soft_wrap=True)
    console.print(lane_table(states))
    for host in missing:
        console.print(f"nothing is heard of {host}", soft_wrap=True)
    return HELD


def cancel(key: str, store: Path | None) -> int:
    """End the I/O of a job; what is finished is kept. Returns the exit code."""
    console, jobs = Terminal(highlight=False), Jobs(store or default_path())
    job = jobs.job(key)
    with _executor(job) as executor, _lane_errors():
        lost = executor.stop(job.calls)
        states = _settled(executor, job, lost)
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


def _settled(executor: Executor, job: Job, lost: Sequence[str]) -> list[LaneState]:
    """Once all that could be told have ended; one may have begun just before."""
    begun_s = time.monotonic()
    while True:
        states, missing = _states(job, executor)
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


def _watch(
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
        states = _settled(executor, job, ())
    jobs.keep(job.model_copy(update={"known": {one.session: one for one in states}}))
    return _concluded(console, job, states)


def _until_ended(executor: Executor, job: Job, shown: LaneDisplay) -> list[LaneState]:
    while True:
        states, missing = _states(job, executor)
        shown.show(states, missing)
        if all(state.ended for state in states):
            return states
        time.sleep(LOOK_S)
        executor.start(
            [one for one in job.calls if not _has_ended(states, one.session)]
        )


def _has_ended(states: Sequence[LaneState], session: str) -> bool:
    return any(one.session == session and one.ended for one in states)


def _states(job: Job, executor: Executor) -> tuple[list[LaneState], list[str]]:
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


@contextmanager
def _executor(job: Job) -> Iterator[Executor]:
    if job.scheduler is None:
        yield LocalExecutor(PROGRAMS.lane)
        return
    with lab_errors():
        from ioplan.cluster.hosts.dask_client import DaskClient  # noqa: PLC0415  takes a second

        with closing(DaskClient(job.scheduler, PROGRAMS)) as client:
            yield client


@contextmanager
def _lane_errors() -> Iterator[None]:
    """What goes wrong with lanes, as an error of the command line."""
    try:
        with lab_errors():
            yield
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise StoreError(f"cannot keep the lanes: {where}{error.strerror}") from error
