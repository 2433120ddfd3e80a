"""What runs the lanes of a job, for the desk."""

from __future__ import annotations

from ioplan_lab.cluster.jobs.executors import Executor, LocalExecutor
from ioplan_lab.cluster.jobs.job import Job
from ioplan_lab.programs import PROGRAMS


def connect(job: Job) -> Executor:
    """Connected to where its lanes are. Raises ClusterError."""
    if job.scheduler is None:
        return LocalExecutor(PROGRAMS.lane)
    from ioplan_lab.cluster.hosts.dask_client import DaskClient  # noqa: PLC0415  a second

    return DaskClient(job.scheduler, PROGRAMS)
