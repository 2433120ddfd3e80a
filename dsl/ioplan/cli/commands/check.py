"""`ioplan check` and `ioplan fmt`."""

from __future__ import annotations

import json
from pathlib import Path

from ioplan.cli.display.output import print_line, print_message
from ioplan.cli.errors import UsageError
from ioplan.cli.exit_codes import HELD, USAGE
from ioplan.cli.inputs import checked_plan
from ioplan.core.text import counted
from ioplan.language.check.modules import read_text
from ioplan.language.errors.diagnostic import Diagnostic, PlanError, in_order
from ioplan.language.mistakes.warnings import warnings_of
from ioplan.language.syntax.formatter import format_text

DIFFERENT = 1


def check_plans(
    plans: list[Path], settings: list[str], profile: str, format: str
) -> int:
    """Check each plan and say what is wrong; returns the exit code."""
    if format not in ("text", "json"):
        raise UsageError(f"--format is text or json, not {format!r}")
    code, found = HELD, []
    for path in plans:
        try:
            found += warnings_of(checked_plan(path, settings, profile=profile))
        except PlanError as error:
            code = USAGE
            found += in_order(error.diagnostics)
    if format == "json":
        print(json.dumps([one.as_json() for one in found], indent=2))
    elif found:
        print_message("\n\n".join(one.render() for one in found))
        print_message(f"\n{_counts(found)}")
    return code


def _counts(found: list[Diagnostic]) -> str:
    """`2 errors, 1 warning`."""
    severities = [one.severity for one in found]
    kinds = ((severities.count(kind), kind) for kind in ("error", "warning"))
    return ", ".join(counted(count, kind) for count, kind in kinds if count)


def format_plans(plans: list[Path], check: bool) -> int:
    """Rewrite each plan, or tell which would change; returns the exit code."""
    code = HELD
    for path in plans:
        text = _text(path)
        formatted = format_text(text, str(path))
        if formatted == text:
            continue
        code = DIFFERENT if check else HELD
        if check:
            print_line(f"{path} is not formatted")
        else:
            _rewrite(path, formatted)
            print_line(f"{path} reformatted")
    return code


def _rewrite(path: Path, text: str) -> None:
    """Whole or not at all."""
    from ioplan.guard.output import OutputError, rewrite  # noqa: PLC0415  not for check

    try:
        rewrite(path, text.encode())
    except OutputError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        raise UsageError(f"cannot write {str(path)!r}: {error.strerror}") from error


def _text(path: Path) -> str:
    try:
        return read_text(path)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"cannot read {str(path)!r}: {why}") from error
