"""`ioplan lab consent`: signed lists of the drives that may be overwritten."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from ioplan.backends import LabTarget
from ioplan.cli import (
    RunCall,
    Terminal,
    UsageError,
    checked_plan,
    listed_drives,
    opened,
    plan_path,
    print_line,
)
from ioplan.core import counted, moment, moment_text
from ioplan.language import CheckedPlan
from ioplan.records import RunRequest
from ioplan.runner import login_name, read_lab
from ioplan.runner.guard import (
    Consent,
    consented_plan,
    key_path,
    make_key,
    read_list,
    sign,
)


def print_key(name: str | None) -> None:
    """Print this user's public key as a lab file names it. Raises ConsentListError."""
    public = make_key(key_path())
    print_line("[admins]")
    print_line(f"{json.dumps(name or login_name())} = {json.dumps(public)}")


def sign_list(
    *,
    files: list[Path],
    until: str,
    plans: list[str],
    any_plan: bool,
    lab: Path | None,
    output: Path | None,
    force: bool,
) -> None:
    """Sign lists of this user's own as one. Raises ConsentListError, UsageError."""
    if bool(plans) == any_plan:
        raise UsageError("add --plan PLAN or --any-plan")
    known = read_lab(lab)
    drives = [drive for file in files for drive in read_list(file, known, None).drives]
    checked = [checked_plan(plan_path(Path(plan)), [], lab=lab) for plan in plans]
    marks = None if any_plan else [consented_plan(plan) for plan in checked]
    signed = sign(drives, known, moment_of(until), marks, key_path())
    with opened(output, force) as out:
        out.write(f"{signed.model_dump_json(indent=2)}\n".encode())


def moment_of(until: str) -> datetime:
    """What `--until` says. Raises UsageError."""
    try:
        return moment(until)
    except ValueError as error:
        raise UsageError(f"--until: {error}") from None


def show_list(file: Path, lab: Path | None) -> None:
    """Print what a list permits, if it holds. Raises ConsentListError."""
    consents = read_list(file, read_lab(lab), None)
    console = Terminal(highlight=False, soft_wrap=True)
    for line in _signature(consents.signed) if consents.signed else ["not signed"]:
        console.print(line)
    console.print(f"{counted(len(consents.drives), 'drive')}:")
    for drive in consents.drives:
        console.print(f"  {drive.id}  {drive.identity.model}  {drive.name}".rstrip())


def _signature(consent: Consent) -> list[str]:
    plans = ["any plan"] if consent.plans is None else [p.title for p in consent.plans]
    return [
        f"signed by {consent.admin} at {moment_text(consent.signed_at)}, for the lab "
        f"{consent.lab}",
        f"until {moment_text(consent.until)}, for {', '.join(plans)}",
    ]


def with_consents(
    call: RunCall, plan: CheckedPlan, drives: list[dict[str, Any]]
) -> RunRequest:
    """The request with the IDs of `--overwrite-from` that are of these drives.

    `drives` are rows of `lab.v_drive`. Raises ConsentListError.
    """
    asked = call.request
    listed = listed_drives(call, read_lab(asked.lab), plan)
    entries = [
        LabTarget(serial=drive["serial"] or None, wwid=drive["wwid"] or None)
        for drive in drives
        if drive["serial"] or drive["wwid"]
    ]
    words = [one.id for one in listed if any(map(one.is_entry, entries))]
    return asked.model_copy(update={"overwrite": (*asked.overwrite, *words)})
