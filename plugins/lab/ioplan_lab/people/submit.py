"""`ioplan run --on`: a plan on drives of the lab, by what they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ioplan.cli import (
    RunCall,
    Terminal,
    UsageError,
    print_message,
    requested_plan,
)
from ioplan.language import CheckedPlan
from ioplan.planner import runs_of, summary_of, unfold
from ioplan.records import RunRequest, new_session_id
from ioplan_lab.database.connection import LabDatabase, lab_address, lab_database
from ioplan_lab.host.drive_job import SCHEMA
from ioplan_lab.people.consent import with_consents
from ioplan_lab.people.selection import Drive, key_of, selection
from ioplan_lab.people.watch import watched

FOLDER = "plan"
DRIVES = """SELECT *, lab.closed(lab.my_name('person'), host, name) AS closed
    FROM lab.v_drive ORDER BY host, name"""


def run_on(call: RunCall, on: str, detach: bool) -> int:
    """Submit a job, and watch it until it ends; returns the exit code."""
    asked = call.request
    if asked.targets:
        raise UsageError("use --target or --on, not both")
    if call.json or asked.baseline:
        raise UsageError("--json and --baseline are for one target of this host")
    plan = requested_plan(call.plan, asked)
    address = lab_address(asked.lab)
    console = Terminal(quiet=call.quiet, highlight=False)
    with lab_database(address) as database:
        drives = chosen_drives(database, on, writes=summary_of(plan).writes)
        asked = with_consents(call, plan, drives)
        job = call.job or new_session_id()
        database.call("submit", submission(job, plan, asked, drives))
    print_message(f"job {job} on {', '.join(map(key_of, drives))}")
    if detach:
        console.print(f"to see how it is: ioplan lab status {job}")
        return 0
    return watched(console, address, job)


def chosen_drives(database: LabDatabase, on: str, writes: bool) -> list[Drive]:
    """The drives that a selection takes. Raises UsageError."""
    drives = database.rows(DRIVES)
    closed = {key_of(drive): drive["closed"] or "" for drive in drives}
    chosen = selection(on).chosen(drives, closed)
    for drive in chosen if writes else ():
        if not drive["writable"]:
            why = drive["reason"] or "its host refuses it"
            raise UsageError(f"{key_of(drive)} may not be written to: {why}")
    return chosen


def submission(
    id: str,
    plan: CheckedPlan,
    asked: RunRequest,
    drives: list[Drive],
) -> dict[str, Any]:
    """A job as `lab.submit` takes it.

    A plan that joins its targets is one drive job.
    """
    name, files = plan_files(plan)
    units = joined(drives) if summary_of(plan).joins_targets else single(drives)
    runs = sum(1 for _ in runs_of(unfold(plan)))
    left_out = {"targets", "lab", "person"}
    return {
        "id": id,
        "title": plan.title,
        "schema_version": SCHEMA,
        "plan": name,
        "files": files,
        "request": asked.model_dump(
            mode="json", exclude_defaults=True, exclude=left_out
        ),
        "writes": summary_of(plan).writes,
        "units": [unit | {"expected": runs} for unit in units],
    }


def plan_files(plan: CheckedPlan) -> tuple[str, dict[str, str]]:
    """The plan's path below the folder of a drive job, and all that it uses."""
    name = f"{FOLDER}/{Path(plan.file).name}"
    used = {f"{FOLDER}/{name}": text for name, text in plan.files.items()}
    return name, {name: plan.text} | used


def single(drives: list[Drive]) -> list[dict[str, Any]]:
    """A drive job for each."""
    return [{"host": drive["host"], "drives": [drive["name"]]} for drive in drives]


def joined(drives: list[Drive]) -> list[dict[str, Any]]:
    """One drive job on all of them. Raises UsageError if they are of several hosts."""
    hosts = {drive["host"] for drive in drives}
    if len(hosts) > 1:
        raise UsageError(
            "this plan has its targets in one run (over all, on targets), and these "
            f"are of several hosts: {', '.join(sorted(hosts))}; add host to --on"
        )
    return [{"host": hosts.pop(), "drives": [drive["name"] for drive in drives]}]
