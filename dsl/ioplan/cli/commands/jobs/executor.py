"""What runs a job's lanes, and its errors as those of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from ioplan.cli.commands.lab import lab_errors
from ioplan.cli.programs import PROGRAMS
from ioplan.cluster.jobs.executors import Executor, LocalExecutor
from ioplan.cluster.jobs.job import Job
from ioplan.store.errors import StoreError


@contextmanager
def executor_of(job: Job) -> Iterator[Executor]:
    """Connected to the lab where lanes are on its hosts. Raises ClusterError."""
    if job.scheduler is None:
        yield LocalExecutor(PROGRAMS.lane)
        return
    with lab_errors():
        from ioplan.cluster.hosts.dask_client import DaskClient  # noqa: PLC0415  takes a second

        with closing(DaskClient(job.scheduler, PROGRAMS)) as client:
            yield client


@contextmanager
def lane_errors() -> Iterator[None]:
    """What goes wrong with lanes, as an error of the command line."""
    try:
        with lab_errors():
            yield
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise StoreError(f"cannot keep the lanes: {where}{error.strerror}") from error
