"""A run of a backend on a device of its own, and what was seen of it."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from ioplan.backends import Backend, BackendError, Drive, TargetFacts, TargetRequest
from ioplan.job import NOTHING_ISSUED, Event, Failure, Job, Result, Started
from ioplan_witness.device import Device, running
from ioplan_witness.flow import flow_clauses
from ioplan_witness.log import Entries, seen
from ioplan_witness.offsets import offset_clauses
from ioplan_witness.script import Script
from ioplan_witness.sighting import (
    READ,
    WRITE,
    Clause,
    StreamSighting,
    stream_sightings,
)

# What was written: zeros, noise, what compresses or repeats; what was verified.

NOISE_BITS = {512: 7.4, 4096: 7.9}
"""Random bytes have so many bits each, at least, in a sample of that size."""
SAMPLES = 64
COMPRESSED_SLACK = 0.12
DEDUP_SLACK = 0.05


def data_clauses(seen: StreamSighting, disk: Path) -> Iterator[Clause]:
    """All that is asked of data; `disk` still has what was written."""
    writes = seen.of(WRITE)
    if len(writes):
        yield _kind(seen, writes, disk)
        yield _repeats(seen, writes)
    if seen.stream.verify:
        yield _verified(seen)


def _kind(seen: StreamSighting, writes: Entries, disk: Path) -> Clause:
    asked = seen.stream.data
    zeros = float((writes["zeros"] == 65535).mean())
    bits = float(np.median(writes["entropy"])) / 256
    shown = f"{zeros:.0%} all zeros, {bits:.2f} bits a byte"
    if asked.kind == "zeros":
        return seen.clause("data", "zeros", "", shown, zeros == 1)
    if asked.kind == "compressible":
        left = _compressed(writes, disk)
        text, wanted = f"compressible {asked.percent:g} %", 1 - asked.percent / 100
        fits = abs(left - wanted) <= COMPRESSED_SLACK
        return seen.clause("data", text, "", f"{left:.0%} left by zlib", fits)
    least = NOISE_BITS[512 if int(writes["size"].min()) < 4096 else 4096]
    stamped = 0.5 * seen.stream.verify  # what is verified has numbers in it
    return seen.clause(
        "data", "random", "", shown, not zeros and bits >= least - stamped
    )


def _compressed(writes: Entries, disk: Path) -> float:
    """The size that is left of some blocks."""
    some = writes[-SAMPLES:]
    file = os.open(disk, os.O_RDONLY)
    try:
        blocks = [os.pread(file, int(e["size"]), int(e["offset"])) for e in some]
    finally:
        os.close(file)
    return sum(len(zlib.compress(one)) for one in blocks) / sum(map(len, blocks))


def _repeats(seen: StreamSighting, writes: Entries) -> Clause:
    """Writes whose data is that of an earlier one; of zeros all are."""
    share = 1 - len(np.unique(writes["digest"])) / len(writes)
    asked = seen.stream.dedup_percent / 100
    slack = DEDUP_SLACK * (asked > 0) + 5 / np.sqrt(len(writes)) * (asked > 0)
    fits = None if seen.stream.data.kind == "zeros" else abs(share - asked) <= slack
    if not asked and fits is False:
        fits = share < 0.01
    return seen.clause("dedup", f"{asked:.0%}", "", f"{share:.0%} repeat", fits)


def _verified(seen: StreamSighting) -> Clause:
    """What is verified has been read; that it was compared, a wrong bit shows."""
    reads = int(seen.of(READ)["size"].astype(np.int64).sum())
    told = seen.told.verified_bytes
    fits = 0 < told <= reads
    return seen.clause("verify", "yes", f"{told} B", f"{reads} B read", fits)


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
