"""Each drive of a group has its evidence before the first is written."""

from __future__ import annotations

from ioplan.cli.targets.choose import after_reading
from ioplan.core.error_kinds import TargetFault
from ioplan.language.plan import CheckedPlan
from ioplan.planner.summary import summary_of
from ioplan.runner.guard.errors import ConsentError, TargetError
from ioplan.runner.guard.target import check_evidence
from ioplan.runner.lab.lab import Lab
from ioplan_lab.cluster.hosts.evidence import request_of
from ioplan_lab.cluster.jobs.executors import Executor
from ioplan_lab.cluster.jobs.job import Job
from ioplan_lab.cluster.jobs.lane import LaneCall


def check_group(plan: CheckedPlan, executor: Executor, job: Job, lab: Lab) -> None:
    """Refuse all where the data on one was not given up. Raises TargetError.

    A lane whose target is refused for another reason says so itself.
    """
    if not summary_of(plan).writes:
        return
    there = []
    for call in job.calls:
        entry = lab.targets[call.target]
        if entry.host or entry.hosts:
            there.append(call)
        else:
            _check(call, lab)
    _check_there(executor, there)


def _check_there(executor: Executor, calls: list[LaneCall]) -> None:
    """On their hosts, all at once."""
    refused = executor.refusals(calls) if calls else {}
    for call in calls:
        if why := refused.get(call.session):
            raise TargetError(f"{call.host}: {why}", TargetFault.DATA)


def _check(call: LaneCall, lab: Lab) -> None:
    request = request_of(call, lab)
    if request is None:
        return
    try:
        after_reading(check_evidence, request)
    except ConsentError:
        raise
    except TargetError:
        return
