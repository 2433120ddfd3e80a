"""Plans and values from the command line."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ioplan.backends import TargetFacts
from ioplan.cli.display.terminal import data_out
from ioplan.cli.errors import UsageError
from ioplan.core.text import did_you_mean
from ioplan.guard.resolve import aim
from ioplan.guard.target import capacity_of
from ioplan.lab.lab_file import read_lab
from ioplan.language.check.check import check_file
from ioplan.language.errors.diagnostic import Diagnostic, PlanError
from ioplan.language.fields import SECTOR_BYTES
from ioplan.language.plan import FULL, CheckedPlan
from ioplan.language.quantity import QuantityError, parse, size_text
from ioplan.language.syntax.source import Source, Span
from ioplan.store.postgres import is_address
from ioplan.store.store import Store, default_path
from ioplan.suites import suite_file, suite_names

PAGE_BYTES = 4096
DEFAULT_CAPACITY_BYTES = 10**12
NO_TARGET = "TARGET"
"""What a plan is shown for where none is named."""


def checked(
    path: Path,
    settings: list[str],
    time_scale: float = 1.0,
    profile: str = FULL,
    begun: bool = False,
) -> CheckedPlan:
    """The checked plan. Raises PlanError and UsageError.

    A session that has begun keeps its settings: a plan that was edited since need
    not use them any more.
    """
    if not 0 < time_scale <= 1000:
        raise UsageError("--scale-time is a factor above 0, for example 0.01")
    try:
        given = pairs(settings)
        plan = check_file(plan_path(path), given, time_scale, profile)
        if not begun:
            _check_used(plan, given)
        return plan
    except OSError as error:
        near = did_you_mean(str(path), suite_names())
        raise UsageError(
            f"cannot read {str(path)!r}: {error.strerror}{near}"
        ) from error
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from error


def _check_used(plan: CheckedPlan, given: Mapping[str, str]) -> None:
    """Raises PlanError for values that would change nothing."""
    used = f"those that tests use are: {', '.join(plan.parameters) or 'none'}"
    unused = [
        Diagnostic(
            f"no test uses the param {name!r}: setting it would change nothing",
            Span(Source("--set", f"{name}={text}"), 0, len(name)),
            used,
        )
        for name, text in given.items()
        if name not in plan.parameters
    ]
    if unused:
        raise PlanError(unused)


def plan_path(path: Path) -> Path:
    """The file itself, else the suite of that name, if there is one."""
    return path if path.exists() else suite_file(str(path)) or path


def assumed_facts(
    target: str | None, capacity: str | None, lab: Path | None = None
) -> TargetFacts:
    """The facts of a target that need not be there: a capacity, a path."""
    if target and capacity:
        raise UsageError("say --target or --capacity, not both")
    target = aim(target, read_lab(lab))[0] if target else None
    found = capacity_of(target) if target else size(capacity, "--capacity")
    return TargetFacts(
        path=target or NO_TARGET,
        kind="assumed",
        capacity_bytes=found or DEFAULT_CAPACITY_BYTES,
        block_bytes=SECTOR_BYTES,
    )


def pairs(settings: list[str]) -> dict[str, str]:
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


def results_at(place: str | None) -> Store:
    """The store to read: a file, or a database that is shared. Raises StoreError."""
    named = place or os.environ.get("IOPLAN_STORE", "")
    return Store.to_read(named if is_address(named) else place or default_path())


@contextmanager
def opened(path: Path | None) -> Iterator[BinaryIO]:
    """The file to write to, or standard output. Raises UsageError."""
    if path is None:
        with data_out() as out:
            yield out
        return
    try:
        with path.open("wb") as file:
            yield file
    except OSError as error:
        raise UsageError(f"cannot write {str(path)!r}: {error.strerror}") from error


def size(text: str | None, option: str) -> int | None:
    """A size in bytes that is a whole number of pages."""
    if text is None:
        return None
    try:
        quantity = parse(text)
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
