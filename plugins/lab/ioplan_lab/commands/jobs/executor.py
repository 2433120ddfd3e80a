"""What runs a job's lanes, and its errors as those of the command line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager

from ioplan.cli import print_message
from ioplan.results.store import StoreError
from ioplan_lab.cluster.errors import ClusterError
from ioplan_lab.cluster.jobs.executors import Executor, LocalExecutor
from ioplan_lab.cluster.jobs.job import Job
from ioplan_lab.commands.lab import lab_errors
from ioplan_lab.programs import PROGRAMS


def connect(job: Job) -> Executor:
    """Connected to the lab where lanes are on its hosts. Raises ClusterError."""
    if job.scheduler is None:
        return LocalExecutor(PROGRAMS.lane)
    from ioplan_lab.cluster.hosts.dask_client import DaskClient  # noqa: PLC0415  takes a second

    return DaskClient(job.scheduler, PROGRAMS)


@contextmanager
def executor_of(job: Job) -> Iterator[Executor]:
    """The one of a job, closed in the end. Raises ClusterError."""
    with lab_errors(), closing(connect(job)) as found:
        yield found


def some_ready(executor: Executor, job: Job) -> dict[str, ClusterError]:
    """The job's hosts that can start no lane now, and why. Raises if none can."""
    unready = executor.unready(job.calls)
    if unready and set(unready) == {call.host for call in job.calls}:
        first, *_ = unready.values()
        raise ClusterError("\n".join(map(str, unready.values())), first.kind)
    return unready


def print_unready(job: Job, unready: Mapping[str, ClusterError]) -> None:
    """Which lanes wait for their host, or are skipped, and why."""
    for host, error in unready.items():
        lanes = [call for call in job.calls if call.host == host]
        skipped = sum(job.has_ended(call) for call in lanes)
        does = "skipped" if skipped else "waiting for it"
        print_message(f"warning: {error}; {len(lanes)} lanes of {host}: {does}")


@contextmanager
def lane_errors() -> Iterator[None]:
    """What goes wrong with lanes, as an error of the command line."""
    try:
        with lab_errors():
            yield
    except OSError as error:
        raise StoreError(_unkept(error)) from error


def _unkept(error: OSError) -> str:
    """What went wrong and where, and what to do; not each error has a number."""
    reason = error.strerror or str(error) or type(error).__name__
    where = f" in {error.filename}" if error.filename else ""
    return (
        f"the lanes of the job cannot be started or kept{where}: {reason}; if the disk "
        "or the memory is full, make room, and go on with `ioplan resume`"
    )
