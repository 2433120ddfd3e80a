"""`run` on a group: a lane for each target."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from ioplan.backends import default_backend, find
from ioplan.cli import (
    RunCall,
    UsageError,
    after_reading,
    listed_drives,
    listed_words,
    requested_plan,
)
from ioplan.core import TargetFault
from ioplan.language import CheckedPlan
from ioplan.planner import summary_of
from ioplan.records import RunRequest
from ioplan.runner import Lab, login_name, read_lab, same_targets
from ioplan.runner import default_path as default_lab
from ioplan.runner.guard import (
    ConsentError,
    TargetError,
    check_evidence,
    check_spelling,
)
from ioplan_lab.cluster.hosts.evidence import request_of
from ioplan_lab.cluster.jobs.dispatch import fleet_targets, new_job, target_entry
from ioplan_lab.cluster.jobs.executors import Executor
from ioplan_lab.cluster.jobs.job import Job, Jobs
from ioplan_lab.cluster.jobs.lane import LaneCall
from ioplan_lab.commands.jobs.executor import (
    executor_of,
    lane_errors,
    print_unready,
    some_ready,
)
from ioplan_lab.commands.jobs.watch import say_how_to_attach, watch
from ioplan_lab.commands.run_on_hosts import check_lanes

# Each drive of a group has its evidence before the first is written.


def check_group(plan: CheckedPlan, executor: Executor, job: Job, lab: Lab) -> None:
    """Refuse all where the data on one was not given up. Raises TargetError.

    A lane whose target is refused for another reason says so itself.
    """
    if not summary_of(plan).writes:
        return
    there = []
    for call in job.calls:
        entry = lab.targets[call.target]
        if entry.host or entry.hosts:
            there.append(call)
        else:
            _check(call, lab)
    _check_there(executor, there)


def _check_there(executor: Executor, calls: list[LaneCall]) -> None:
    """On their hosts, all at once."""
    refused = executor.refusals(calls) if calls else {}
    for call in calls:
        if why := refused.get(call.session):
            raise TargetError(f"{call.host}: {why}", TargetFault.DATA)


def _check(call: LaneCall, lab: Lab) -> None:
    request = request_of(call, lab)
    if request is None:
        return
    try:
        after_reading(check_evidence, request)
    except ConsentError:
        raise
    except TargetError:
        return


def run_fleet(console: Console, call: RunCall, detach: bool, skip_missing: bool) -> int:
    """A lane for each target; returns the exit code."""
    asked = call.request
    if call.json or asked.baseline:
        raise UsageError(
            "--json and --baseline are for one target, not for several or a group"
        )
    plan = requested_plan(call.plan, asked)
    lab_file = asked.lab or default_lab()
    lab = read_lab(lab_file)
    check_lanes(plan, lab, _targets(lab, asked))
    drives = listed_drives(call, lab, plan)
    common = _common(asked)

    def told(target: str) -> RunRequest:
        words = (*common.overwrite, *listed_words(drives, lab, target))
        return common.model_copy(update={"targets": (target,), "overwrite": words})

    with lane_errors():
        job = new_job(plan, lab_file, asked.targets, told, call.store, call.job or "")
    jobs = Jobs(call.store)
    with executor_of(job) as executor, lane_errors():
        check_group(plan, executor, job, lab)
        unready = some_ready(executor, job)
        if skip_missing:
            job.skip({host: str(error) for host, error in unready.items()})
        jobs.keep_new(job)
        _print_begin(console, job, lab.results)
        if note := summary_of(plan).lanes_note(len(job.calls)):
            console.print(note, soft_wrap=True)
        print_unready(job, unready)
        executor.start(job.unfinished)
        if detach:
            return say_how_to_attach(console, job)
        return watch(console, executor, job, jobs, stops=True)


def _targets(lab: Lab, asked: RunRequest) -> list[str]:
    """Each once. Raises UsageError, TargetError before any lane begins."""
    simulated = find(asked.backend or default_backend(lab.backend)).virtual_time
    for word in asked.targets:
        is_name = word in lab.targets or word in lab.groups or ":" in word
        if not (is_name or simulated or asked.create or Path(word).exists()):
            check_spelling(word, lab)
            raise UsageError(f"--target {word}: there is no such file or device")
    targets = fleet_targets(lab, asked.targets)
    entries = {name: target_entry(lab, name) for name in targets}
    for name, _, other in same_targets(entries):
        raise UsageError(f"--target: {other} and {name} are the same drive")
    return targets


def _print_begin(console: Console, job: Job, results: str | None) -> None:
    hosts = {call.host for call in job.calls if call.host}
    on = f" on {len(hosts)} hosts" if hosts else ""
    console.print(f"job {job.id}: {job.plan}, {len(job.calls)} lanes{on}")
    if hosts and not results:
        text = "note: the lab names no results database, so each host keeps its own"
        console.print(text, soft_wrap=True)


def _common(asked: RunRequest) -> RunRequest:
    """What all lanes are asked for; each host has its own lab file."""
    change = {
        "lab": None,
        "person": asked.person or login_name(),
        "overwrite": tuple(map(_from_root, asked.overwrite)),
        "overwrite_data": tuple(map(_from_root, asked.overwrite_data)),
    }
    return asked.model_copy(update=change)


def _from_root(word: str) -> str:
    """A path holds from a lane's folder, too; a serial number stays one."""
    return str(Path(word).absolute()) if "/" in word and Path(word).exists() else word
