"""`ioplan unbundle`: what is in a bundle, into the store or into files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
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
from ioplan.results.share.bundle import REPORT, Bundle, Bundled, read_bundle, restore
from ioplan.results.share.recorded_plan import checked_with, run_ids
from ioplan.results.store.pushing import push
from ioplan.results.store.store import Store, default_path
from ioplan.runner.guard.output import output_folder
from ioplan.trace.known import is_facts, recorded_trace

SETTINGS = ("ioplan.toml", "ioplan.lock", "lab.toml")
PLAN_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}\.ioplan", re.ASCII)


def unbundle(
    bundle: Path,
    signers: Path | None,
    output: Path | None,
    check: bool,
    store: Path | None,
) -> None:
    """Check a bundle; put its sessions where they are wanted. Raises BundleError."""
    contents = read_bundle(bundle, signers.expanduser() if signers else None)
    _print_contents(contents)
    if check:
        return
    with TemporaryDirectory() as folder, Store.open(Path(folder) / "all.db") as source:
        restore(contents.sessions, source)
        if output:
            _write(contents, source, output)
            return
        with Store.open(store or default_path()) as target:
            new = [pushed.session for pushed in push(source, target)]
    for bundled in contents.sessions:
        id = bundled.session.id
        print_line(f"stored{'' if id in new else ' (was there)'}: ioplan show {id}")


def _print_contents(contents: Bundle) -> None:
    signer, signed = contents.signer, "nobody"
    if signer:
        who = (signer.name, signer.key) if signer.name else (signer.key, "not verified")
        signed = ", ".join(who)
    print_line(f"made {contents.made_at} by {contents.made_by}; signed by {signed}")
    for bundled in contents.sessions:
        session = bundled.session
        text = (
            f"{session.id}: {session.plan} on {session.target}, {session.backend}, "
            f"{session.status}; {len(bundled.runs)} runs"
        )
        print_line(line(text).plain)


def _write(contents: Bundle, store: Store, folder: Path) -> None:
    """The plans with their files, and a report made here: theirs is not looked at."""
    with output_folder(folder) as part:
        for bundled in contents.sessions:
            _write_plan(bundled, part / bundled.session.id)
            _print_traces(bundled, folder / bundled.session.id)
        page = report_page(store, [bundled.session for bundled in contents.sessions])
        _write_new(part / REPORT, page)
    print_line(f"{folder}: plans, and {REPORT}")


def _print_traces(bundled: Bundled, folder: Path) -> None:
    """Name what stands for the traces that are not in the bundle."""
    for name, text in bundled.session.resolved.files.items():
        if name in bundled.models:
            print_line(f"{folder / _model_name(name)}: a model of {name}")
        elif is_facts(text) and name not in bundled.traces:
            print_line(f"{folder / name}: a trace, not in the bundle; SHA-256")
            print_line(f"  {recorded_trace(text).facts.digest}")


def _write_plan(bundled: Bundled, folder: Path) -> None:
    """A plan with the files that it uses, where it finds them; the plan is the last.

    Raises BundleError for names that would lead out of the folder, and for settings.
    """
    resolved = bundled.session.resolved
    for name, text in resolved.files.items():
        if not goes_down(name) or _is_setting(name):
            raise BundleError(f"the plan of the bundle uses a file {name!a}")
        if name in bundled.models:
            _write_new(folder / _model_name(name), bundled.models[name].encode())
        if name in bundled.traces or not is_facts(text):
            _write_new(folder / name, bundled.traces.get(name) or text.encode())
    for name, text in ((DRIVE, resolved.drive_file), ("lab.json", bundled.lab)):
        if text and name not in resolved.files:
            _write_new(folder / name, text.encode())
    _write_new(folder / _plan_name(bundled), bundled.session.plan_text.encode())


def _model_name(trace: str) -> str:
    return f"{trace.removesuffix('.iotrace')}.model.ioplan"


def _is_setting(name: str) -> bool:
    """A file that programs take by its name, without being asked: no part of a plan."""
    parts = PurePath(name).parts
    return any(part.startswith(".") for part in parts) or parts[-1] in SETTINGS


def _plan_name(bundled: Bundled) -> str:
    """The name that the plan had, as its title may come from it; else another one."""
    name = PurePath(bundled.session.plan_file).name
    if not PLAN_NAME.fullmatch(name):
        name = "plan.ioplan"
    while name in bundled.session.resolved.files:
        name = f"the-{name}"
    return name


def _write_new(path: Path, data: bytes) -> None:
    """Through the gate. Raises UsageError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        text = f"cannot make {str(path.parent)!r}: {error.strerror}"
        raise UsageError(text) from error
    with opened(path) as out:
        out.write(data)


# `ioplan run x.ioplan-bundle`: what was measured there, measured again here.

SIM, DRIVE = "sim", "drive.toml"
MOST_SHOWN = 10
THRESHOLD = "2%"
ONLY_HERE = frozenset(
    (
        *("targets", "lab", "backend", "options", "create", "baseline", "fresh"),
        *("overwrite", "overwrite_data", "cannot_see_users", "tags", "note", "person"),
    )
)
"""What is run with, on what, and what is said of it: of the call, not of the bundle."""


def run_bundle(call: RunCall, run: Callable[[RunCall, str], int]) -> int:
    """Repeat a bundle's plan with its values; 1 unless it reproduces, else run's code.

    `run` does a session of a given id. Of the bundle come the plan, its files and
    values, and the simulated drive; what is run with, and on what, from this call.
    """
    bundle = call.plan
    bundled = _only(read_bundle(bundle).sessions, bundle)
    if run_ids(bundled.session) is None:
        raise UsageError(f"the plan in {bundle} has errors; ioplan unbundle shows it")
    plan = _folder(bundle) / _plan_name(bundled)
    if not plan.exists():  # it is written last
        _write_plan(bundled, plan.parent)
    request = _with_values(call.request, bundled, plan)
    id = new_session_id()
    code = run(replace(call, plan=plan, request=request), id)
    if code == INTERRUPTED or call.listed:
        return code
    comparison = compared(str(call.store), str(bundle), id, THRESHOLD)
    if code not in (HELD, EXPECTATION_FAILED, NOT_DELIVERED):
        return code
    outcome = _print_outcome(comparison, bundle)
    return outcome or code if code == NOT_DELIVERED else max(code, outcome)


def _only(sessions: tuple[Bundled, ...], path: Path) -> Bundled:
    """The one session; several that ran the same on many drives count as one."""
    if len({checked_with(bundled.session) for bundled in sessions}) > 1:
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


def _with_values(request: RunRequest, bundled: Bundled, plan: Path) -> RunRequest:
    """The call, with the bundle's values where it says none of its own."""
    theirs, resolved = bundled.session.request, bundled.session.resolved
    own = ONLY_HERE | {*request.model_dump(exclude_defaults=True)}
    values = {n: getattr(theirs, n) for n in RunRequest.model_fields if n not in own}
    own_settings = {text.partition("=")[0].strip() for text in request.settings}
    settings = (
        f"{name}={text}"
        for name, text in resolved.parameters.items()
        if text and name not in own_settings
    )
    values["settings"] = (*settings, *request.settings)
    is_sim = bundled.session.backend == SIM
    if is_sim and request.backend is None and not request.targets:
        drive = (f"drive={plan.parent / DRIVE}",) if resolved.drive_file else ()
        values |= {"backend": SIM, "options": request.options or drive}
        values["create"] = request.create or theirs.create
    return request.model_copy(update=values)


WORDS = ("equal", "different", "inconclusive")
ONE_EACH = ": 1 run a side does not show the noise; repeat the cells"


def _print_outcome(comparison: Comparison, path: Path) -> int:
    """Say whether it reproduces, and what does not; returns the exit code."""
    known = [r for r in comparison.rows if (r.base, r.new) != (None, None)]
    rows = {word: [r for r in known if _word(r) == word] for word in WORDS}
    counts = ", ".join(f"{len(rows[word])} {word}" for word in WORDS if rows[word])
    missing = len(comparison.only_base)
    more = f"; {missing} of its cells were not run" if missing else ""
    print_line(f"against {path}: of {len(known)} figures {counts or 'none'}{more}")
    for row in [*rows["different"], *rows["inconclusive"]][:MOST_SHOWN]:
        print_line(f"  {row.test}: {_row_text(row)}")
    for remark in dict.fromkeys(text for row in known for text in row.remarks):
        print_line(f"  different: {remark}")
    if rows["different"]:
        print_line("not reproduced")
    elif rows["inconclusive"] or missing or not known:
        print_line(f"inconclusive{ONE_EACH}")
    else:
        print_line("reproduced")
        return HELD
    return EXPECTATION_FAILED


def _word(row: Row) -> str:
    """What a comparison's row means for a repetition.

    Where the noise is unknown, a difference below the threshold is taken as none.
    """
    if row.verdict in ("better", "worse"):
        return "different"
    ratio = _ratio(row)
    near = ratio is not None and abs(ratio - 1) <= float(THRESHOLD[:-1]) / 100
    return "equal" if row.verdict == "equal" or near else "inconclusive"


def _ratio(row: Row) -> float | None:
    return row.new / row.base if row.base and row.new is not None else None


def _row_text(row: Row) -> str:
    cell = "".join(f"{name}={value} " for name, value in row.cell.items())
    ratio = _ratio(row)
    times = f"{ratio:.3f} times" if ratio is not None else "a metric on one side only"
    return f"{cell}{row.metric} is {_word(row)}, {times}"
