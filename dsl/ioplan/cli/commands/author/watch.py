"""`ioplan watch`: check and rehearse a plan each time that it is saved."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from ioplan.cli.commands.planning.rehearse import print_rehearsal
from ioplan.cli.display.output import print_line, print_message
from ioplan.cli.display.terminal import Terminal
from ioplan.cli.errors import UsageError
from ioplan.cli.exit_codes import HELD
from ioplan.cli.inputs import checked_plan, lab_folders, plan_path
from ioplan.cli.sessions.selection import only_tests
from ioplan.core.error_kinds import ExplainedError
from ioplan.core.extras import install_command
from ioplan.language.checker.modules import library_roots, read_text
from ioplan.language.errors.diagnostic import PlanError, render_all
from ioplan.language.lints.warnings import warnings_of
from ioplan.language.plan import CheckedPlan
from ioplan.language.search.search_path import SearchPath
from ioplan.trace.known import is_facts

LOOK_MS = 2000
"""So often files are looked at even where the system tells of no change."""
Stamps = dict[Path, tuple[int, int] | None]


class Watched(Struct, frozen=True):
    """What `watch` was called with."""

    plan: Path
    tests: list[str]
    settings: list[str]
    profile: str
    scale_time: float
    sim: Path | None
    lab: Path | None
    check_only: bool


def watch_plan(**words: object) -> int:
    """Tell what is wrong with a plan, else what it costs, until Ctrl-C."""
    asked = Watched(**words)  # type: ignore[arg-type]
    path = plan_path(asked.plan)
    used: dict[Path, str] = {}
    try:
        while True:
            stamps = _stamps({path, *used})
            used |= _looked_at(asked, path)
            sys.stdout.flush()  # also into a pipe: the next word may come in an hour
            _wait({new: _stamp_of(new, text) for new, text in used.items()} | stamps)
    except KeyboardInterrupt:
        return HELD


def _looked_at(asked: Watched, path: Path) -> dict[Path, str]:
    """Tell of the plan as it is now; the files that it uses, and what they said."""
    print_line(f"{datetime.now():%H:%M:%S} {path}")
    try:
        told = asked.settings, asked.scale_time, asked.profile
        plan = checked_plan(path, *told, lab=asked.lab, library=True)
        _tell(only_tests(plan, asked.tests), asked)
    except PlanError as error:
        print_message(str(error))
        return {}
    except ExplainedError as error:
        print_message(f"error: {error}")
        return {}
    sys.stdout.flush()  # into a pipe as well: the next word may come in an hour
    search = SearchPath(library_roots(path), lab_folders(asked.lab))
    found = ((search.find(name), text) for name, text in plan.files.items())
    return {used: text for used, text in found if used}


def _tell(plan: CheckedPlan, asked: Watched) -> None:
    if warnings := warnings_of(plan):
        print_message(render_all(warnings))
    if plan.tests and not asked.check_only:
        print_rehearsal(Terminal(highlight=False), plan, None, asked.sim, False)
    else:
        print_line("no errors")


def _stamps(files: Iterable[Path]) -> Stamps:
    return {path: _stamp(path) for path in files}


def _stamp_of(path: Path, text: str) -> tuple[int, int] | None:
    """The stamp of a file when it said so; none where it says something else now."""
    stamp = _stamp(path)
    if is_facts(text):  # a trace; what is known of it was read just now
        return stamp
    try:
        return stamp if read_text(path) == text else None
    except (OSError, ValueError):
        return None


def _stamp(path: Path) -> tuple[int, int] | None:
    """What changes with a file; None while it is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino


def _wait(stamps: Stamps) -> None:
    """Until one of the files has changed, and is there. Raises KeyboardInterrupt."""
    try:
        from watchfiles import watch  # noqa: PLC0415  an extra
    except ModuleNotFoundError:
        raise UsageError(
            f"to watch files needs watchfiles: {install_command('watch')}"
        ) from None
    folders = {path.absolute().parent for path in stamps}
    if _stamps(stamps) != stamps:
        return
    changes = watch(
        *folders,
        watch_filter=None,
        debounce=100,
        step=20,
        rust_timeout=LOOK_MS,
        yield_on_timeout=True,
        recursive=False,
    )
    for _ in changes:
        now = _stamps(stamps)
        if now != stamps and None not in now.values():
            return
