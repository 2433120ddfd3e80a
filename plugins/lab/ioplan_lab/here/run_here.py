"""`ioplan run` on several targets of this host, or in the background."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ioplan.backends import LabTarget, TargetRequest, default_backend, find
from ioplan.cli import (
    RunCall,
    Terminal,
    UsageError,
    after_reading,
    listed_drives,
    listed_words,
    requested_plan,
)
from ioplan.core import counted
from ioplan.language import CheckedPlan
from ioplan.planner import runs_of, summary_of, unfold
from ioplan.records import RunRequest, new_session_id
from ioplan.results.store import StoreError, make_own
from ioplan.runner import (
    Lab,
    default_path,
    expanded,
    login_name,
    read_lab,
    same_targets,
)
from ioplan.runner.guard import (
    ConsentError,
    TargetError,
    check_evidence,
    check_spelling,
    resolve_target,
)
from ioplan_lab.here.local_job import LocalJob, job_errors
from ioplan_lab.host.drive_job import SCHEMA, DriveJob
from ioplan_lab.host.folder import JobFolder, drive_jobs_root
from ioplan_lab.people.submit import plan_files


def run_here(call: RunCall, detach: bool) -> int:
    """A drive job for each target; returns the exit code.

    Raises UsageError, TargetError, StoreError.
    """
    asked = call.request
    if call.json or asked.baseline:
        raise UsageError("--json and --baseline are for one target, not for several")
    plan, lab = requested_plan(call.plan, asked), read_lab(asked.lab)
    summary = summary_of(plan)
    simulated = find(asked.backend or default_backend(lab.backend)).virtual_time
    targets = targets_of(lab, asked, simulated)
    if summary.events and len(targets) > 1:
        raise UsageError(
            f"the plan has events, which each of {len(targets)} targets would have "
            "made for itself; name one target"
        )
    calls = drive_jobs(call, plan, lab, targets)
    for drive_job in calls if summary.writes and not simulated else ():
        check_data(drive_job, lab)
    console = Terminal(quiet=call.quiet, highlight=False)
    job = new_job(calls)
    count = counted(len(calls), "drive job")
    console.print(f"job {job.id}: {plan.title}, {count}", soft_wrap=True)
    if note := summary.lanes_note(len(calls)):
        console.print(note, soft_wrap=True)
    return job.detached(console) if detach else job.watched(console)


def targets_of(lab: Lab, asked: RunRequest, simulated: bool) -> list[str]:
    """Each once. Raises UsageError, TargetError before anything begins."""
    for word in asked.targets:
        is_name = word in lab.targets or word in lab.groups or ":" in word
        if not (is_name or simulated or asked.create or Path(word).exists()):
            check_spelling(word, lab)
            raise UsageError(f"--target {word}: there is no such file or device")
    words = (_from_here(word, lab) for word in expanded(lab, asked.targets))
    entries = {word: lab.targets.get(word) or LabTarget(path=word) for word in words}
    for name, entry in entries.items():
        _check_entry(name, entry)
    for name, _, other in same_targets(entries):
        raise UsageError(f"--target: {other} and {name} are the same drive")
    return list(entries)


def _from_here(word: str, lab: Lab) -> str:
    """A path that holds from a drive job's folder; a name or an address stays one."""
    path = Path(word)
    is_name = word in lab.targets or (":" in word and not path.exists())
    return word if is_name else str(path.absolute())


def _check_entry(name: str, entry: LabTarget) -> None:
    if entry.host:
        raise UsageError(
            f"the target {name!r} is on the host {entry.host}: name it by --on, for "
            f"example --on 'host {entry.host}, drive {name}'"
        )
    path = entry.path or "/"
    if not path.startswith("/") and ":" not in path:
        raise UsageError(
            f"the lab's target {name!r} has the relative path {path!r}, which is "
            "another file in each drive job's folder; write the absolute path"
        )


def drive_jobs(
    call: RunCall, plan: CheckedPlan, lab: Lab, targets: Sequence[str]
) -> list[DriveJob]:
    """What each has to do. Raises ConsentListError."""
    job, (name, files) = call.job or new_session_id(), plan_files(plan)
    listed = listed_drives(call, lab, plan)
    runs = sum(1 for _ in runs_of(unfold(plan)))
    return [
        DriveJob(
            schema_version=SCHEMA,
            session=f"{job}-{number:03}",
            job=job,
            title=plan.title,
            person=call.request.person or login_name(),
            host="",
            drives=(target,),
            plan=name,
            files=files,
            request=_request(call.request, target, listed_words(listed, lab, target)),
            expected=runs,
            store=str(call.store.absolute()),
        )
        for number, target in enumerate(targets, 1)
    ]


def _request(asked: RunRequest, target: str, listed: list[str]) -> RunRequest:
    """What is asked of one target, as it holds from its drive job's folder, too."""
    lab = asked.lab or default_path()
    change = {
        "targets": (target,),
        "lab": lab and lab.absolute(),
        "person": asked.person or login_name(),
        "overwrite": (*map(_absolute, asked.overwrite), *listed),
        "overwrite_data": tuple(map(_absolute, asked.overwrite_data)),
        "options": tuple(map(_absolute, asked.options)),
    }
    return asked.model_copy(update=change)


def _absolute(word: str) -> str:
    """A path that is there, also of `drive=FILE`; a serial number stays one."""
    name, equals, path = word.rpartition("=")
    is_path = "/" in path or (equals and "." in path)
    is_there = is_path and Path(path).exists()
    return f"{name}{equals}{Path(path).absolute()}" if is_there else word


# ---- each drive has its evidence before the first is written


def check_data(call: DriveJob, lab: Lab) -> None:
    """Refuse all where the data on one was not given up. Raises TargetError.

    Another reason to refuse a target its drive job says itself.
    """
    path, entry = resolve_target(call.drives[0], lab)
    consents = {"overwrite", "overwrite_data", "cannot_see_users"}
    asked = call.request.model_dump(include=consents)
    request = TargetRequest(path=path, entry=entry, writes=True, **asked)
    try:
        after_reading(check_evidence, request)
    except ConsentError:
        raise
    except TargetError:
        return


def new_job(calls: Sequence[DriveJob]) -> LocalJob:
    """The folders of a job; of two with one id only one is begun. Raises StoreError."""
    root = drive_jobs_root(Path(calls[0].store))
    path = root / calls[0].job
    with job_errors():
        make_own(root)
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            raise StoreError(f"there is a job {calls[0].job} already") from None
        for call in calls:
            JobFolder.of(call, root)
        return LocalJob(path)
