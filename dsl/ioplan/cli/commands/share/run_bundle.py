"""`ioplan run x.ioplan-bundle`: what was measured there, measured again here."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from ioplan.cli.commands.compare import compared
from ioplan.cli.commands.share.unbundle import plan_name, write_plan
from ioplan.cli.display.output import print_line
from ioplan.cli.errors import UsageError
from ioplan.cli.exit_codes import EXPECTATION_FAILED, HELD, INTERRUPTED, NOT_DELIVERED
from ioplan.cli.run_options import RunCall
from ioplan.core.state_folder import state_folder
from ioplan.records.run_request import RunRequest
from ioplan.records.session_id import new_session_id
from ioplan.results.compare.comparison import Comparison, Row
from ioplan.results.share.bundle import read_bundle
from ioplan.results.share.contents import Bundled
from ioplan.results.share.recorded_plan import checked_with, run_ids

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
        drive = (f"drive={plan.parent / 'drive.toml'}",) if one.drive else ()
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
