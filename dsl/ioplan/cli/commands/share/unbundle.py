"""`ioplan unbundle`: what is in a bundle, into the store or into files."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory

from ioplan.cli.commands.report import report_page
from ioplan.cli.display.output import print_line
from ioplan.cli.errors import UsageError
from ioplan.cli.sessions.stores import opened
from ioplan.core.text import line
from ioplan.language.search.file_name import goes_down
from ioplan.results.share.bundle import Bundle, read_bundle
from ioplan.results.share.container import BundleError
from ioplan.results.share.contents import REPORT, Bundled, restore
from ioplan.results.store.push import push
from ioplan.results.store.store import Store, default_path
from ioplan.trace.known import is_facts, recorded_trace


def unbundle(
    bundle: Path,
    signers: Path | None,
    output: Path | None,
    check: bool,
    store: Path | None,
) -> None:
    """Check a bundle; put its sessions where they are wanted. Raises BundleError."""
    found = read_bundle(bundle, signers.expanduser() if signers else None)
    _tell(found)
    if check:
        return
    with TemporaryDirectory() as folder, Store.open(Path(folder) / "all.db") as made:
        restore(found.sessions, made)
        if output:
            _write(found, made, output)
            return
        with Store.open(store or default_path()) as kept:
            new = [one.session for one in push(made, kept)]
    for one in found.sessions:
        known = "" if one.session.id in new else " (was there)"
        print_line(f"stored{known}: ioplan show {one.session.id}")


def _tell(found: Bundle) -> None:
    signer = found.signer
    who = f"{signer.name}, {signer.key}" if signer and signer.name else ""
    signed = who or (f"{signer.key}, not verified" if signer else "nobody")
    print_line(f"made {found.made_at} by {found.made_by}; signed by {signed}")
    for one in found.sessions:
        session = one.session
        text = (
            f"{session.plan} on {session.target}, {session.backend}, {session.status}"
        )
        print_line(line(f"{session.id}: {text}; {len(one.runs)} runs").plain)


def _write(found: Bundle, store: Store, folder: Path) -> None:
    """The plans with their files, and a report made here: theirs is not looked at."""
    if os.path.lexists(folder):
        raise UsageError(f"{str(folder)!r} exists already; name a new folder")
    for one in found.sessions:
        path = write_plan(one, folder / one.session.id)
        for used, text in one.files.items():
            if used in one.models:
                print_line(f"{path.parent / _model_name(used)}: a model of {used}")
            elif is_facts(text) and used not in one.traces:
                digest = recorded_trace(text).facts.digest
                print_line(f"{path.parent / used}: a trace, not in the bundle; SHA-256")
                print_line(f"  {digest}")
    page = report_page(store, [one.session for one in found.sessions])
    write_new(folder / REPORT, page)
    print_line(f"{folder}: plans, and {REPORT}")


def write_plan(one: Bundled, folder: Path) -> Path:
    """A plan with the files that it uses, where it finds them; the plan's path.

    Raises BundleError for names that would lead out of the folder, and for settings.
    """
    for used, text in one.files.items():
        if not goes_down(used) or _is_setting(used):
            raise BundleError(f"the plan of the bundle uses a file {used!a}")
        if used in one.models:
            write_new(folder / _model_name(used), one.models[used].encode())
        if used in one.traces or not is_facts(text):
            write_new(folder / used, one.traces.get(used) or text.encode())
    for extra, text in (("drive.toml", one.drive), ("lab.json", one.lab)):
        if text and extra not in one.files:
            write_new(folder / extra, text.encode())
    path = folder / plan_name(one)
    write_new(path, one.session.plan_text.encode())
    return path


def _model_name(trace: str) -> str:
    return f"{trace.removesuffix('.iotrace')}.model.ioplan"


SETTINGS = ("ioplan.toml", "ioplan.lock", "lab.toml")


def _is_setting(used: str) -> bool:
    """A file that programs take by its name, without being asked: no part of a plan."""
    parts = PurePath(used).parts
    return any(part.startswith(".") for part in parts) or parts[-1] in SETTINGS


PLAN_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}\.ioplan", re.ASCII)


def plan_name(one: Bundled) -> str:
    """The name that the plan had, as its title may come from it; else another one."""
    name = PurePath(one.session.plan_file).name
    if not PLAN_NAME.fullmatch(name):
        name = "plan.ioplan"
    while name in one.files:
        name = f"the-{name}"
    return name


def write_new(path: Path, data: bytes) -> None:
    """Through the gate. Raises UsageError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        text = f"cannot make {str(path.parent)!r}: {error.strerror}"
        raise UsageError(text) from error
    with opened(path) as out:
        out.write(data)
