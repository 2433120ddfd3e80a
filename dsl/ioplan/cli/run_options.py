"""A call of `ioplan run`: a request, and what is of this call alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from ioplan.cli.errors import UsageError
from ioplan.cli.inputs import checked_plan
from ioplan.cli.sessions.selection import only_tests
from ioplan.language.plan import CheckedPlan
from ioplan.records.run_request import RequestError, RunRequest, request_of


class RunCall(Struct, frozen=True):
    """What is run, for whom it is shown, and where it is kept."""

    request: RunRequest
    plan: Path
    store: Path
    listed: bool = False
    overwrite_from: Path | None = None
    quiet: bool = False
    json: bool = False
    lane: Path | None = None
    job: str | None = None


def requested_plan(
    file: Path, request: RunRequest, started: bool = False
) -> CheckedPlan:
    """The checked plan with the tests that are asked for; a session that has begun
    keeps its settings. Raises PlanError, UsageError."""
    asked = request.settings, request.scale_time, request.profile
    plan = checked_plan(file, *asked, started=started, lab=request.lab)
    return only_tests(plan, request.tests)


def requested(values: Mapping[str, Any]) -> RunRequest:
    """What the options of a call ask for; others are ignored. Raises UsageError."""
    try:
        known = {
            name: values[name] for name in RunRequest.model_fields if name in values
        }
        return request_of(known)
    except RequestError as error:
        raise UsageError(str(error)) from None


def read_request(file: Path) -> RunRequest:
    """A request that another process has written. Raises UsageError."""
    try:
        return RunRequest.model_validate_json(file.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read the request {str(file)!r}: {error}") from error
