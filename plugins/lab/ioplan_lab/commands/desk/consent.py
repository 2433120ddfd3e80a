"""`ioplan lab consent`: signed lists of the drives that may be overwritten."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

from ioplan.cli.display.output import print_line
from ioplan.cli.display.terminal import Terminal
from ioplan.cli.errors import UsageError
from ioplan.cli.inputs import checked_plan, plan_path
from ioplan.cli.sessions.stores import opened
from ioplan.core.statistics.moments import moment, moment_text
from ioplan.core.text import counted
from ioplan.runner.guard.consent_list.admin_key import key_path, make_key
from ioplan.runner.guard.consent_list.read import read_list
from ioplan.runner.guard.consent_list.signed import Consent, consented_plan, sign
from ioplan.runner.lab.lab_file import read_lab
from ioplan.runner.session.person import login_name


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
    drives = [one for file in files for one in read_list(file, known, None).drives]
    checked = [checked_plan(plan_path(Path(one)), [], lab=lab) for one in plans]
    marks = None if any_plan else [consented_plan(one) for one in checked]
    end = usable_moment(until, "--until")
    made = sign(drives, known, end, marks, key_path())
    with opened(output, force) as out:
        out.write(f"{made.model_dump_json(indent=2)}\n".encode())


def usable_moment(text: str, name: str) -> datetime:
    """Raises UsageError."""
    try:
        return moment(text)
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from None


def show_list(file: Path, lab: Path | None) -> None:
    """Print what a list permits, if it holds. Raises ConsentListError."""
    found = read_list(file, read_lab(lab), None)
    console = Terminal(highlight=False, soft_wrap=True)
    for line in _said_of(found.signed) if found.signed else ["not signed"]:
        console.print(line)
    console.print(f"{counted(len(found.drives), 'drive')}:")
    for one in found.drives:
        console.print(f"  {one.id}  {one.identity.model}  {one.name}".rstrip())


def _said_of(consent: Consent) -> list[str]:
    plans = ["any plan"] if consent.plans is None else [p.title for p in consent.plans]
    return [
        f"signed by {consent.admin} at {moment_text(consent.signed_at)}, for the lab "
        f"{consent.lab}",
        f"until {moment_text(consent.until)}, for {', '.join(plans)}",
    ]
