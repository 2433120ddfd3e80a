"""The targets of one run: one, or several that a plan has together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing

from ioplan.backends.backend import (
    Backend,
    BackendError,
    Drive,
    JoiningBackend,
    TargetRequest,
)
from ioplan.cli.errors import UsageError
from ioplan.cli.targets.choose import Choice, open_drive, resolved_request
from ioplan.core.text import did_you_mean
from ioplan.planner.summary import PlanSummary
from ioplan.records.run_request import RunRequest
from ioplan.runner.lab.cross_references import called, expanded
from ioplan.runner.lab.lab import Lab

MOST = 256
Requests = dict[str, TargetRequest]
"""By the names that results have."""


def opening_of(
    plan: PlanSummary, asked: RunRequest, choice: Choice, request: TargetRequest
) -> Requests:
    """What is to be opened, by name. Raises UsageError, BackendError, TargetError."""
    names = named_targets(plan, choice.lab, asked.targets)
    if len(names) > MOST:
        raise UsageError(
            f"a run has at most {MOST} targets, and these are {len(names)}"
        )
    if len(names) < 2:
        return {"": resolved_request(request, choice, asked.lab)}
    _check_joined(plan, choice, names)
    return {
        name: resolved_request(
            request.model_copy(update={"path": word}), choice, asked.lab
        )
        for name, word in names.items()
    }


def named_targets(plan: PlanSummary, lab: Lab, words: Sequence[str]) -> dict[str, str]:
    """The words behind `--target` by the names that results and streams have.

    A target is called as the lab does, a file by its name, or by its path where several
    have that name. Raises UsageError where the plan names another one.
    """
    names = called(expanded(lab, words), lab.targets)
    for name in plan.targets:
        if name not in names:
            known = f"{did_you_mean(name, names)}; named are: {', '.join(names)}"
            raise UsageError(
                f"the plan has a stream on the target {name!r}, which no --target "
                f"names{known if names else ''}"
            )
    return names


def _check_joined(plan: PlanSummary, choice: Choice, names: Mapping[str, str]) -> None:
    """Raises UsageError, BackendError."""
    if not isinstance(choice.backend, JoiningBackend):
        raise BackendError(
            f"the backend {choice.backend.name!r} has one target in a run, and the "
            f"plan has {len(names)} together (over all, on targets); use io_uring"
        )
    if plan.cuts_power:
        raise UsageError("a plan that cuts the power of its target is for one target")
    if plan.hosts:
        raise UsageError("a plan with streams on hosts is for one target")
    locks: dict[str, str] = {}
    for name, word in names.items():
        entry = choice.lab.targets.get(word)
        lock = entry.lock if entry else None
        if lock and locks.setdefault(lock, name) != name:
            raise UsageError(
                f"the targets {locks[lock]} and {name} have the same lock in the lab, "
                "so that they are not used at the same time"
            )
        if where := entry and (entry.host or ", ".join(entry.hosts)):
            raise UsageError(
                f"the target {name} is on the host {where}, and targets of one run "
                "must be of this host: run it there"
            )


def open_together(
    backend: Backend, requests: Requests, request: TargetRequest
) -> tuple[Drive, TargetRequest]:
    """Open all of them, as one drive; a person may give missing words there.

    Returns the request with these words. Raises TargetError, BackendError.
    """
    if len(requests) == 1:
        return open_drive(backend, request)
    assert isinstance(backend, JoiningBackend)
    with ExitStack() as opened:
        drives, words = {}, (*request.overwrite,)
        for name, one in requests.items():
            drives[name], told = open_drive(backend, one)
            opened.enter_context(closing(drives[name]))
            words += (*told.overwrite, *told.overwrite_data)
        joined = backend.joined(drives)
        opened.pop_all()
    return joined, request.model_copy(update={"overwrite": tuple(sorted({*words}))})
