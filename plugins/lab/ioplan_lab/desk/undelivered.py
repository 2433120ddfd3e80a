"""Runs of a job that the lab's database does not have yet, as far as is known."""

from __future__ import annotations

from ioplan_lab.cluster.jobs.job import Job
from ioplan_lab.cluster.jobs.lane import LaneCall


def unstored(job: Job) -> list[LaneCall]:
    """The lanes that have ended, and of which not everything is known to be there."""
    if not job.results:
        return []
    ended = [call for call in job.calls if job.has_ended(call)]
    return [one for one in ended if not job.delivery(one).done]


def undelivered_runs(job: Job) -> dict[str, int]:
    """How many runs of ended lanes are missing, by host; none where all are there."""
    found: dict[str, int] = {}
    for call in unstored(job):
        if missing := _missing(job, call):
            found[call.host] = found.get(call.host, 0) + missing
    return found


def _missing(job: Job, call: LaneCall) -> int:
    known = job.delivery(call)
    return max(job.known[call.session].runs, known.runs) - known.stored
