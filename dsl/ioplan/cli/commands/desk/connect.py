"""What runs the lanes of a job, for the desk."""

from __future__ import annotations

from ioplan.cli.programs import PROGRAMS
from ioplan.cluster.jobs.executors import Executor, LocalExecutor
from ioplan.cluster.jobs.job import Job


def connect(job: Job) -> Executor:
    """Connected to where its lanes are. Raises ClusterError."""
    if job.scheduler is None:
        return LocalExecutor(PROGRAMS.lane)
    from ioplan.cluster.hosts.dask_client import DaskClient  # noqa: PLC0415  a second

    return DaskClient(job.scheduler, PROGRAMS)
