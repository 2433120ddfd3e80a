"""Each drive of a group has its evidence before the first is written."""

from __future__ import annotations

from pathlib import Path

from ioplan.backends import TargetRequest, find
from ioplan.cli.choose import after_reading
from ioplan.guard.errors import ConsentError, TargetError
from ioplan.guard.resolve import resolve_target
from ioplan.guard.target import check_evidence
from ioplan.lab.lab import Lab
from ioplan.language.plan import CheckedPlan
from ioplan.planner.summary import summary_of
from ioplan_lab.cluster.jobs.job import Job
from ioplan_lab.cluster.jobs.lane import LaneCall


def check_group(plan: CheckedPlan, job: Job, lab: Lab) -> None:
    """Refuse all where the data on one was not given up. Raises ConsentError.

    A lane whose target is refused for another reason says so itself; targets of other
    hosts are checked there.
    """
    if not summary_of(plan).writes:
        return
    for call in job.calls:
        entry = lab.targets[call.target]
        is_here = not (entry.host or entry.hosts)
        if is_here and not _is_simulated(call, lab):
            _check(call, lab)


def _is_simulated(call: LaneCall, lab: Lab) -> bool:
    return find(call.request.backend or lab.backend).virtual_time


def _check(call: LaneCall, lab: Lab) -> None:
    path, entry = resolve_target(call.target, lab)
    if not Path(path).exists():
        return
    request = TargetRequest(
        path=path,
        entry=entry,
        writes=True,
        overwrite=call.request.overwrite,
        overwrite_data=call.request.overwrite_data,
    )
    try:
        after_reading(check_evidence, request)
    except ConsentError:
        raise
    except TargetError:
        return
