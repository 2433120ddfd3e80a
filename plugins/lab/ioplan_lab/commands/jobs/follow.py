"""`attach`, `status` and `cancel` of a job, and its `resume`."""

from __future__ import annotations

import json as json_text
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict
from rich.console import Console

from ioplan.cli import (
    EXPECTATION_FAILED,
    HELD,
    RUN_FAILED,
    Terminal,
    print_line,
    print_listing,
    print_message,
)
from ioplan.core import ClusterFault
from ioplan.results.store import StoreError, default_path, send_later
from ioplan.runner import login_name
from ioplan_lab.cluster.errors import ClusterError
from ioplan_lab.cluster.jobs.job import Jobs
from ioplan_lab.cluster.jobs.lane import LaneState
from ioplan_lab.cluster.jobs.lane_folder import LaneFolder, lane_folders, lanes_root
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
from ioplan_lab.commands.jobs.watch import say_how_to_attach, settled, states_of, watch

# The jobs of this host, by their lanes: without coordinator and database.

LOOK_S, ENDING_S = 0.2, 60.0
NEWEST = 20


class JobHere(Struct, frozen=True):
    """A job as this host knows it; `lanes` counts statuses."""

    job: str
    plan: str
    where: str
    lanes: dict[str, int]


def list_jobs(store: Path | None, json: bool) -> None:
    """Print the newest, those that this host started and those that it has lanes of."""
    found = jobs_here(store)[:NEWEST]
    if json:
        for one in found:
            print_line(json_text.dumps(asdict(one)))
        return
    rows = ((one.job, one.plan, one.where, _lanes(one)) for one in found)
    print_listing(("job", "plan", "on", "lanes"), rows, whole="job")


def _lanes(one: JobHere) -> str:
    return ", ".join(f"{many} {status}" for status, many in one.lanes.items())


def jobs_here(store: Path | None) -> list[JobHere]:
    """The newest first. Raises StoreError."""
    root, jobs = _root(store), Jobs(store or default_path())
    lanes = {path.name for path in root.glob("2*/")} if root.exists() else set()
    ids = sorted({*jobs.ids(), *lanes}, reverse=True)[:NEWEST]
    found = (_by_lanes(root, id) if id in lanes else _by_file(jobs, id) for id in ids)
    return [one for one in found if one]


def _by_lanes(root: Path, id: str) -> JobHere | None:
    with suppress(OSError, ValueError):  # a job that is being removed
        lanes = lane_folders(root, id)
        call = lanes[0].call() if lanes else None
        if call:
            states = [one.state() for one in lanes]
            return JobHere(id, call.title, call.where, _counted(states))
    return None


def _by_file(jobs: Jobs, id: str) -> JobHere | None:
    """One whose lanes are all elsewhere, as they were seen last."""
    with suppress(StoreError):
        job = jobs.job(id)
        return JobHere(id, job.plan, job.where, _counted(job.states({})))
    return None


def _counted(states: Iterable[LaneState]) -> dict[str, int]:
    return dict(Counter(one.status for one in states))


def lanes_of_job(key: str, store: Path | None) -> list[LaneFolder]:
    """This host's lanes of a job: its id, the beginning of it, or "last"."""
    root = _root(store)
    ids = sorted(path.name for path in root.glob("2*/"))
    found = ids[-1:] if key == "last" else [one for one in ids if one.startswith(key)]
    return lane_folders(root, found[0])[::-1] if len(found) == 1 else []


def ended_here(lanes: Sequence[LaneFolder], person: str) -> list[LaneState]:
    """End their I/O, and wait for it. Raises ClusterError where one goes on."""
    until_s = time.monotonic() + ENDING_S
    for lane in lanes:
        lane.stop(person)
    while any(one.is_running() for one in lanes):
        if time.monotonic() > until_s:
            raise ClusterError(
                f"after {ENDING_S:.0f} s some lanes have not ended; look at this "
                "host's processes",
                ClusterFault.LANES_RUNNING,
            )
        time.sleep(LOOK_S)
    return [one.state() for one in lanes]


def _root(store: Path | None) -> Path:
    return lanes_root(str(store) if store else None)


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
