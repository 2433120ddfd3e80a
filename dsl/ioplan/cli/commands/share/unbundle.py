"""`ioplan unbundle`: what is in a bundle, into the store or into files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from ioplan.cli.commands.compare import compared
from ioplan.cli.commands.report import report_page
from ioplan.cli.display.output import print_line
from ioplan.cli.errors import UsageError
from ioplan.cli.exit_codes import EXPECTATION_FAILED, HELD, INTERRUPTED, NOT_DELIVERED
from ioplan.cli.run_options import RunCall
from ioplan.cli.sessions.stores import opened
from ioplan.core.state_folder import state_folder
from ioplan.core.text import line
from ioplan.language.search.file_name import goes_down
from ioplan.records.run_request import RunRequest
from ioplan.records.session_id import new_session_id
from ioplan.results.compare.comparison import Comparison, Row
from ioplan.results.share.archive import BundleError
from ioplan.results.share.bundle import Bundle, read_bundle
from ioplan.results.share.contents import REPORT, Bundled, restore
from ioplan.results.share.recorded_plan import checked_with, run_ids
from ioplan.results.store.pushing import push
from ioplan.results.store.store import Store, default_path
from ioplan.runner.guard.output import output_folder
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
    with output_folder(folder) as part:
        for one in found.sessions:
            write_plan(one, part / one.session.id)
            _tell_traces(one, folder / one.session.id)
        page = report_page(store, [one.session for one in found.sessions])
        write_new(part / REPORT, page)
    print_line(f"{folder}: plans, and {REPORT}")


def _tell_traces(one: Bundled, folder: Path) -> None:
    """Name what stands for the traces that are not in the bundle."""
    for used, text in one.session.resolved.files.items():
        if used in one.models:
            print_line(f"{folder / _model_name(used)}: a model of {used}")
        elif is_facts(text) and used not in one.traces:
            digest = recorded_trace(text).facts.digest
            print_line(f"{folder / used}: a trace, not in the bundle; SHA-256")
            print_line(f"  {digest}")


def write_plan(one: Bundled, folder: Path) -> Path:
    """A plan with the files that it uses, where it finds them; the plan's path.

    Raises BundleError for names that would lead out of the folder, and for settings.
    """
    for used, text in one.session.resolved.files.items():
        if not goes_down(used) or _is_setting(used):
            raise BundleError(f"the plan of the bundle uses a file {used!a}")
        if used in one.models:
            write_new(folder / _model_name(used), one.models[used].encode())
        if used in one.traces or not is_facts(text):
            write_new(folder / used, one.traces.get(used) or text.encode())
    drive = one.session.resolved.drive_file
    for extra, text in (("drive.toml", drive), ("lab.json", one.lab)):
        if text and extra not in one.session.resolved.files:
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
    while name in one.session.resolved.files:
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


# `ioplan run x.ioplan-bundle`: what was measured there, measured again here.

SIM = "sim"
MOST_SHOWN = 10
THRESHOLD = "2%"


def run_bundle(call: RunCall, run: Callable[[RunCall, str], int]) -> int:
    """Repeat a bundle's plan with its values; 1 unless it reproduces, else run's code.

    `run` does a session of a given id. Of the bundle come the plan, its files and
    values, and the simulated drive; what is run with, and on what, from this call.
    """
    one = _only(read_bundle(call.plan).sessions, call.plan)
    if run_ids(one.session) is None:
        raise UsageError(
            f"the plan in {call.plan} has errors; ioplan unbundle shows it"
        )
    folder = _folder(call.plan)
    plan = folder / plan_name(one)
    if not plan.exists():  # it is written last
        write_plan(one, folder)
    request = _with_values(call.request, one, plan)
    id = new_session_id()
    code = run(replace(call, plan=plan, request=request), id)
    if code == INTERRUPTED or call.listed:
        return code
    store = str(call.store)
    found = compared(store, str(call.plan), id, THRESHOLD)
    if code not in (HELD, EXPECTATION_FAILED, NOT_DELIVERED):
        return code
    judged = _told(found, call.plan)
    return judged or code if code == NOT_DELIVERED else max(code, judged)


def _only(sessions: tuple[Bundled, ...], path: Path) -> Bundled:
    """The one session; several that ran the same on many drives count as one."""
    if len({checked_with(one.session) for one in sessions}) > 1:
        raise UsageError(
            f"{path} has {len(sessions)} sessions of different plans or values; write "
            f"them out with ioplan unbundle {path} -o FOLDER, and run one"
        )
    return sessions[0]


def _folder(bundle: Path) -> Path:
    """Where the plan stays for `resume`: by the bundle's content, so never another."""
    with bundle.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return state_folder() / "bundles" / digest[:32]


ONLY_HERE = frozenset(
    (
        *("targets", "lab", "backend", "options", "create", "baseline", "fresh"),
        *("overwrite", "overwrite_data", "cannot_see_users", "tags", "note", "person"),
    )
)
"""What is run with, on what, and what is said of it: of the call, not of the bundle."""


def _with_values(asked: RunRequest, one: Bundled, plan: Path) -> RunRequest:
    """The call, with the bundle's values where it says none of its own."""
    said, there = asked.model_dump(exclude_defaults=True), one.session.request
    found = {name: getattr(there, name) for name in RunRequest.model_fields}
    found = {n: value for n, value in found.items() if n not in ONLY_HERE | {*said}}
    known = one.session.resolved.parameters
    settings = [f"{name}={value}" for name, value in known.items() if value]
    found["settings"] = (*_without(settings, asked.settings), *asked.settings)
    if one.session.backend == SIM and asked.backend is None and not asked.targets:
        text = one.session.resolved.drive_file
        drive = (f"drive={plan.parent / 'drive.toml'}",) if text else ()
        found |= {"backend": SIM, "options": asked.options or drive}
        found["create"] = asked.create or there.create
    return asked.model_copy(update=found)


def _without(settings: list[str], own: Sequence[str]) -> list[str]:
    """The bundle's settings that the call does not set itself."""
    said = {one.partition("=")[0].strip() for one in own}
    return [one for one in settings if one.partition("=")[0] not in said]


def _told(found: Comparison, path: Path) -> int:
    """Say whether it reproduces, and what does not; returns the exit code."""
    known = [row for row in found.rows if (row.base, row.new) != (None, None)]
    rows = {word: [r for r in known if judged(r) == word] for word in WORDS}
    counts = ", ".join(f"{len(rows[word])} {word}" for word in WORDS if rows[word])
    missing = len(found.only_base)
    more = f"; {missing} of its cells were not run" if missing else ""
    print_line(f"against {path}: of {len(known)} figures {counts or 'none'}{more}")
    for row in [*rows["different"], *rows["undecided"]][:MOST_SHOWN]:
        print_line(f"  {row.test}: {_shown(row)}")
    for remark in dict.fromkeys(text for row in known for text in row.remarks):
        print_line(f"  different: {remark}")
    if rows["different"]:
        print_line("not reproduced")
    elif rows["undecided"] or missing or not known:
        print_line(f"undecided{ONE_EACH}")
    else:
        print_line("reproduced")
        return HELD
    return EXPECTATION_FAILED


WORDS = ("equal", "different", "undecided")
ONE_EACH = ": noise cannot be estimated from one run per side; repeat the cells"


def judged(row: Row) -> str:
    """What a comparison's row means for a repetition.

    Where nothing tells the noise, a difference below the threshold is taken as none.
    """
    if row.verdict in ("better", "worse"):
        return "different"
    ratio = _ratio(row)
    near = ratio is not None and abs(ratio - 1) <= float(THRESHOLD[:-1]) / 100
    return "equal" if row.verdict == "equal" or near else "undecided"


def _ratio(row: Row) -> float | None:
    return row.new / row.base if row.base and row.new is not None else None


def _shown(row: Row) -> str:
    cell = "".join(f"{name}={value} " for name, value in row.cell.items())
    ratio = _ratio(row)
    times = f"{ratio:.3f} times" if ratio is not None else "a metric on one side only"
    return f"{cell}{row.metric} is {judged(row)}, {times}"
