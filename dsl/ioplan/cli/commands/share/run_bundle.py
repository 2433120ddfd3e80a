"""`ioplan run x.ioplan-bundle`: what was measured there, measured again here."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ioplan.cli.commands.compare import compared
from ioplan.cli.commands.share.unbundle import plan_name, write_plan
from ioplan.cli.display.output import print_line
from ioplan.cli.errors import UsageError
from ioplan.cli.exit_codes import EXPECTATION_FAILED, HELD, INTERRUPTED, NOT_DELIVERED
from ioplan.cli.run_options import Options
from ioplan.compare.comparison import Comparison, Row
from ioplan.core.state_folder import state_folder
from ioplan.language.plan import FULL
from ioplan.records.session_id import new_session_id
from ioplan.share.bundle import read_bundle
from ioplan.share.contents import Bundled
from ioplan.share.recorded_plan import run_ids

SIM = "sim"
MOST_SHOWN = 10
THRESHOLD = "2%"


def run_bundle(asked: Options, run: Callable[[Options, str], int]) -> int:
    """Repeat a bundle's plan with its values; 1 unless it reproduces, else run's code.

    `run` does a session of a given id. Of the bundle come the plan, its files and
    values, and the simulated drive; what is run with, and on what, from this call.
    """
    one = _only(read_bundle(asked.plan).sessions, asked.plan)
    if run_ids(one.session) is None:
        raise UsageError(
            f"the plan in {asked.plan} has errors; ioplan unbundle shows it"
        )
    folder = _folder(asked.plan)
    plan = folder / plan_name(one)
    if not plan.exists():  # it is written last
        write_plan(one, folder)
    options, id = _with_values(asked, one, plan), new_session_id()
    code = run(options, id)
    if code == INTERRUPTED or asked.listed:
        return code
    store = str(asked.store)
    found = compared(store, str(asked.plan), id, THRESHOLD)
    if code not in (HELD, EXPECTATION_FAILED, NOT_DELIVERED):
        return code
    judged = _told(found, asked.plan)
    return judged or code if code == NOT_DELIVERED else max(code, judged)


def _only(sessions: tuple[Bundled, ...], path: Path) -> Bundled:
    """The one session; several that ran the same on many drives count as one."""
    if len({_values(one) for one in sessions}) > 1:
        raise UsageError(
            f"{path} has {len(sessions)} sessions of different plans or values; write "
            f"them out with ioplan unbundle {path} -o FOLDER, and run one"
        )
    return sessions[0]


def _values(one: Bundled) -> str:
    args = one.session.args
    named = ("set", "profile", "scale_time", "tests", "files")
    return repr([one.session.plan_text, *(args.get(name) for name in named)])


def _folder(bundle: Path) -> Path:
    """Where the plan stays for `resume`: by the bundle's content, so never another."""
    with bundle.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return state_folder() / "bundles" / digest[:32]


def _with_values(asked: Options, one: Bundled, plan: Path) -> Options:
    """The call, with the bundle's values where it says none of its own."""
    args = one.session.args
    simulated = (
        one.session.backend == SIM and asked.backend is None and not asked.target
    )
    drive = [f"drive={plan.parent / 'drive.toml'}"] if one.drive else []
    settings = [f"{k}={v}" for k, v in dict(args.get("set", {})).items() if v]
    return replace(
        asked,
        plan=plan,
        settings=[*_without(settings, asked.settings), *asked.settings],
        profile=_chosen(asked.profile, FULL, str(args.get("profile", FULL))),
        scale_time=_chosen(asked.scale_time, 1.0, float(args.get("scale_time", 1.0))),
        tests=asked.tests or [str(test) for test in args.get("tests", [])],
        backend=SIM if simulated else asked.backend,
        options=asked.options or (drive if simulated else []),
        create=asked.create or (_created(one) if simulated else None),
        allow_approximate=asked.allow_approximate
        or bool(args.get("allow_approximate")),
    )


def _without(settings: list[str], own: list[str]) -> list[str]:
    """Those of the bundle that the call does not set itself."""
    said = {one.partition("=")[0].strip() for one in own}
    return [one for one in settings if one.partition("=")[0] not in said]


def _chosen(asked: Any, default: Any, bundled: Any) -> Any:
    return bundled if asked == default else asked


def _created(one: Bundled) -> str | None:
    created = one.session.args.get("create")
    return str(created) if created else None


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
