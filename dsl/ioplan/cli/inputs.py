"""Plans and values from the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ioplan.cli.errors import UsageError
from ioplan.core.text import did_you_mean
from ioplan.language.checker.check import check, check_file
from ioplan.language.checker.modules import library_roots
from ioplan.language.errors.diagnostic import Diagnostic, PlanError
from ioplan.language.plan import FULL, CheckedPlan
from ioplan.language.quantity import QuantityError, parse_quantity, size_text
from ioplan.language.search.packages import SuiteError
from ioplan.language.search.search_path import Folders
from ioplan.language.syntax.source import Source, Span
from ioplan.planner.suites import suite

NO_TARGET = "TARGET"
"""What a plan is shown for where no target is named."""

PAGE_BYTES = 4096
SIM = "sim"


def checked_plan(
    path: Path,
    settings: Sequence[str],
    time_scale: float = 1.0,
    profile: str = FULL,
    started: bool = False,
    lab: Path | None = None,
    library: bool = False,
) -> CheckedPlan:
    """The checked plan; it may use files of the lab. Raises PlanError and UsageError.

    A session that has begun keeps its settings: a plan that was edited since need
    not use them any more. A `library` needs no test.
    """
    if not 0 < time_scale <= 1000:
        raise UsageError("--scale-time must be a number above 0, for example 0.01")
    try:
        values = pairs(settings)
        folders = lab_folders(lab)
        file = plan_path(path)
        plan = check_file(file, values, time_scale, profile, folders, library)
        if not started:
            _check_used(plan, values)
        return plan
    except OSError as error:
        near = did_you_mean(str(path), _suite_names())
        raise UsageError(
            f"cannot read {str(path)!r}: {error.strerror}{near}"
        ) from error
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from error


def _suite_names() -> list[str]:
    """None where a suite cannot be used: it is another error that is told."""
    with suppress(SuiteError):
        return suite.suite_names()
    return []


def checked_text(
    source: Source,
    at: Path,
    settings: Sequence[str],
    profile: str,
    lab: Path | None,
    time_scale: float = 1.0,
    library: bool = True,
) -> CheckedPlan:
    """The checked plan or library of a text, as if it were a file. Raises PlanError."""
    values = pairs(settings)
    more, roots = lab_folders(lab), library_roots(at)
    known: dict[str, Any] = {"profile": profile, "more": more, "library": library}
    plan = check(source, roots, values, time_scale, at.resolve(), **known)
    _check_used(plan, values)
    return plan


def _check_used(plan: CheckedPlan, values: Mapping[str, str]) -> None:
    """Raises PlanError for values that would change nothing."""
    used = f"params in use: {', '.join(plan.parameters) or 'none'}"
    unused = [
        Diagnostic(
            f"no test uses the param {name!r}: setting it would change nothing",
            Span(Source("--set", f"{name}={text}"), 0, len(name)),
            used,
        )
        for name, text in values.items()
        if name not in plan.parameters
    ]
    if unused:
        raise PlanError(unused)


def lab_folders(lab: Path | None) -> Folders:
    """What reads the lab, once a file is found nowhere else."""

    def folders() -> tuple[Path, ...]:
        from ioplan.runner.lab.lab_file import plan_folders  # noqa: PLC0415  rare

        return plan_folders(lab)

    return folders


def plan_path(path: Path) -> Path:
    """The file itself, else the suite of that name, if there is one.

    Raises UsageError for a suite that cannot be used.
    """
    if path.exists():
        return path
    try:
        return suite.suite_file(str(path)) or path
    except SuiteError as error:
        raise UsageError(str(error)) from error


def simulated(
    sim: Path | None, backend: str | None, options: list[str]
) -> tuple[str | None, list[str]]:
    """`--sim FILE` as the backend and the option that it stands for."""
    if sim is None:
        return backend, options
    if backend not in (None, SIM):
        raise UsageError(
            f"--sim is for the backend sim, not {backend}; use only one of them"
        )
    return SIM, [*options, f"drive={sim}"]


def pairs(settings: Sequence[str]) -> dict[str, str]:
    """NAME=VALUE, each name once."""
    found: dict[str, str] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"--set takes NAME=VALUE, not {setting!r}")
        if name.strip() in found:
            raise UsageError(f"--set says {name.strip()!r} twice")
        found[name.strip()] = value.strip()
    return found


def size(text: str | None, option: str) -> int | None:
    """A size in bytes that is a whole number of pages."""
    if text is None:
        return None
    try:
        quantity = parse_quantity(text)
    except QuantityError as error:
        help = f"; {error.help}" if error.help else ""
        raise UsageError(f"{option}: {error}{help}") from None
    if quantity.kind != "size" or not quantity.value:
        raise UsageError(f"{option} takes a size, for example 1GiB, not {text!r}")
    if int(quantity.value) % PAGE_BYTES:
        above = size_text(-(-int(quantity.value) // PAGE_BYTES) * PAGE_BYTES)
        raise UsageError(
            f"{option}: {quantity.value} B is not a multiple of the block of "
            f"{PAGE_BYTES} B; write for example {above}"
        )
    return int(quantity.value)
