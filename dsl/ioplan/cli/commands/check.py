"""`ioplan check` and `ioplan fmt`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ioplan.cli.display.output import data_out, print_line, print_message
from ioplan.cli.errors import UsageError
from ioplan.cli.exit_codes import HELD, USAGE
from ioplan.cli.inputs import checked_plan, checked_text
from ioplan.cli.sessions.selection import only_tests, print_tests
from ioplan.core.text import counted
from ioplan.language.checker.modules import MOST_BYTES, read_text, text_of
from ioplan.language.errors.diagnostic import Diagnostic, PlanError, in_order
from ioplan.language.lints.warnings import warnings_of
from ioplan.language.plan import CheckedPlan
from ioplan.language.syntax.formatter import format_text
from ioplan.language.syntax.source import Source
from ioplan.runner.guard.output import rewrite

DIFFERENT = 1
STDIN, STDIN_PLAN = "-", "stdin.ioplan"
"""A plan in place of a file, and what it is called without a name."""


def check_plans(
    *,
    plans: list[Path],
    tests: list[str],
    listed: bool,
    settings: list[str],
    profile: str,
    format: str,
    lab: Path | None,
    stdin_name: Path | None,
) -> int:
    """Check each plan and say what is wrong; returns the exit code.

    A file without tests is a library, and checked as one.
    """
    if format not in ("text", "json"):
        raise UsageError(f"--format is text or json, not {format!r}")
    asked: dict[str, Any] = {"settings": settings, "profile": profile, "lab": lab}
    code, found = HELD, []
    for path in plans:
        try:
            plan = _checked(path, stdin_name, asked)
            plan = only_tests(plan, tests)
            found += warnings_of(plan)
            if listed:
                print_tests(plan)
        except PlanError as error:
            code = USAGE
            found += in_order(error.diagnostics)
    if format == "json":
        print(json.dumps([one.as_json() for one in found], indent=2))
    elif found:
        print_message("\n\n".join(one.render() for one in found))
        print_message(f"\n{_counts(found)}")
    return code


def _checked(path: Path, name: Path | None, asked: dict[str, Any]) -> CheckedPlan:
    if str(path) != STDIN:
        return checked_plan(path, library=True, **asked)
    at = name or Path(STDIN_PLAN)
    return checked_text(Source(str(at), _standard_input()), at, **asked)


def _counts(found: list[Diagnostic]) -> str:
    """`2 errors, 1 warning`."""
    severities = [one.severity for one in found]
    kinds = ((severities.count(kind), kind) for kind in ("error", "warning"))
    return ", ".join(counted(count, kind) for count, kind in kinds if count)


def format_plans(plans: list[Path], check: bool, stdin_name: Path | None) -> int:
    """Rewrite each plan, or tell which would change; returns the exit code.

    What comes from standard input goes to standard output.
    """
    code = HELD
    for path in plans:
        text = _standard_input() if str(path) == STDIN else _text(path)
        name = str(stdin_name or STDIN_PLAN) if str(path) == STDIN else str(path)
        formatted = format_text(text, name)
        if check and formatted != text:
            code = DIFFERENT
            print_line(f"{name} is not formatted")
        elif str(path) == STDIN and not check:
            with data_out() as out:
                out.write(formatted.encode())
        elif formatted != text:
            _rewrite(path, formatted)
            print_line(f"{path} reformatted")
    return code


def _standard_input() -> str:
    """All of it. Raises UsageError."""
    data = sys.stdin.buffer.read(MOST_BYTES + 1)
    try:
        return text_of(data)
    except ValueError as error:
        raise UsageError(f"cannot read standard input: {error}") from error


def _rewrite(path: Path, text: str) -> None:
    """Whole or not at all."""
    try:
        rewrite(path, text.encode())
    except OSError as error:
        raise UsageError(f"cannot write {str(path)!r}: {error.strerror}") from error


def _text(path: Path) -> str:
    try:
        return read_text(path)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"cannot read {str(path)!r}: {why}") from error
