"""A run of a backend on a device of its own, and what was seen of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from msgspec import Struct

from ioplan.backends import Backend, BackendError, Drive, TargetFacts, TargetRequest
from ioplan.job import NOTHING_ISSUED, Event, Failure, Job, Result, Started
from ioplan.witness.data import data_clauses
from ioplan.witness.device import Device, running
from ioplan.witness.flow import flow_clauses
from ioplan.witness.log import Entries, seen
from ioplan.witness.offsets import offset_clauses
from ioplan.witness.script import Script
from ioplan.witness.sighting import Clause, stream_sightings

SCRIPT = Script.model_validate(
    {
        "size": "64MiB",
        "latency": [
            {"direction": "flush", "value": "200us"},
            {"shape": "lognormal", "median": "2ms", "sigma": 0.2},
        ],
    }
)
"""So slow that a depth is held on two busy cores, also by a generator in Python."""
QUICK = Script.model_validate({"size": "64MiB", "latency": [{"value": "100us"}]})
"""For rates: they are kept."""
CORRUPT = Script.model_validate(
    {"size": "64MiB", "fault": [{"direction": "read", "corrupt": True, "every": 2}]}
)
"""Half of the reads return a wrong bit: who verifies finds it."""


class Witnessed(Struct, frozen=True):
    """What came of a run, by clauses; a run that failed has none."""

    clauses: tuple[Clause, ...]
    failure: str = ""

    @property
    def differences(self) -> list[Clause]:
        """What was not as asked."""
        return [one for one in self.clauses if one.verdict == "differs"]

    @property
    def open_clauses(self) -> list[Clause]:
        """What was not judged."""
        return [one for one in self.clauses if one.verdict == "not judged"]


def witness(
    backend: Backend,
    request: TargetRequest,
    make_job: Callable[[TargetFacts], Job],
    folder: Path,
    rated: bool = False,
) -> Witnessed:
    """Run a job, made of the device's facts, on a device in an empty folder.

    `request` is the backend's, for another target; a `rated` job gets a device that
    keeps up. Raises DeviceError, and what `backend.open` does.
    """
    script = QUICK if rated else SCRIPT
    with (
        running(script, folder / "device", folder / "device.iolog") as device,
        closing(opened(backend, device, request)) as drive,
    ):
        job = make_job(drive.facts)
        found = witness_run(drive, device, job)
    if not found.failure and any(one.verify for one in job.streams):
        lied = _believes_wrong_data(backend, request, make_job, folder)
        found = Witnessed((*found.clauses, lied))
    return found


def opened(backend: Backend, device: Device, request: TargetRequest) -> Drive:
    """The device's file as a target that may be written."""
    disk = str(device.disk)
    changes = {
        "path": disk,
        "create_bytes": None,
        "overwrite": (disk,),
        "overwrite_data": (disk,),
        "cannot_see_users": True,
        "writes": True,
    }
    return backend.open(request.model_copy(update=changes))


def witness_run(drive: Drive, device: Device, job: Job) -> Witnessed:
    """One run on an open drive, whose file is the device's."""
    before = [len(seen(device))]

    def started(event: Started) -> None:
        if event.facts.get(NOTHING_ISSUED):
            before.append(len(seen(device)))

    last = _last_event(drive, job, started)
    if not isinstance(last, Result):
        why = last.message if isinstance(last, Failure) else "it ended without a Result"
        return Witnessed((), why)
    return Witnessed(tuple(clauses(job, last, seen(device)[before[-1] :], device.disk)))


def _last_event(
    drive: Drive, job: Job, started: Callable[[Started], None] = lambda _: None
) -> Event | None:
    last: Event | None = None
    try:
        with drive.start(job) as execution:
            for event in execution:
                last = event
                if isinstance(event, Started):
                    started(event)
    except BackendError as error:
        return Failure(cause="backend-error", message=str(error))
    return last


def clauses(job: Job, result: Result, entries: Entries, disk: Path) -> list[Clause]:
    """All clauses of all streams."""
    found: list[Clause] = []
    for one in stream_sightings(job, result, entries):
        if isinstance(one, Clause):
            found.append(one)
        elif not len(one.entries):
            found.append(one.clause("I/O", "some", "", "none", False))
        else:
            found += [*flow_clauses(one), *offset_clauses(one)]
            found += data_clauses(one, disk)
    return found


def _believes_wrong_data(
    backend: Backend,
    request: TargetRequest,
    make_job: Callable[[TargetFacts], Job],
    folder: Path,
) -> Clause:
    """Verify on a device whose reads are wrong: that must be told."""
    with (
        running(CORRUPT, folder / "corrupt", folder / "corrupt.iolog") as device,
        closing(opened(backend, device, request)) as drive,
    ):
        last = _last_event(drive, make_job(drive.facts))
    streams = last.streams if isinstance(last, Result) else ()
    errors = sum(one.verify_errors for one in streams)
    told = f"{errors} errors" if streams else "a failed run"
    fits = errors > 0 or isinstance(last, Failure)
    return Clause(
        "verify wrong data", "all", "errors", told, "wrong reads",
        "as asked" if fits else "differs",
    )  # fmt: skip


def short(job: Job, run_ns: int) -> Job:
    """The job, in so little time: without a warm-up, and with the same streams."""
    limits: dict[str, Any] = {
        "run_ns": min(job.run_ns or run_ns, run_ns),
        "warmup_ns": 0,
    }
    limits |= {"limit_bytes": None, "passes": None, "await_start": False}
    return job.model_copy(update=limits)
