"""The backend under test: what its author says of it, and how a test uses it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ioplan.backends import (
    Backend,
    BackendError,
    Drive,
    JobStream,
    TargetFacts,
    TargetRequest,
)
from ioplan.job import Event, Failure, Job
from ioplan.language import Source, check, installed_plans
from ioplan.planner import all_jobs, unfold
from ioplan.runner import FEATURES, MIXED_WORKLOAD, gaps_of
from ioplan.runner.guard import make_scratch
from ioplan.workload import SizeShare, scaled_times
from ioplan_testing.calm import calmly

MS_NS = 1_000_000


class Times(NamedTuple):
    """How long the kit's runs are, and how often one tells of itself."""

    run_ns: int = 200 * MS_NS
    warmup_ns: int = 100 * MS_NS
    interval_ns: int = 50 * MS_NS


SHORT = Times()
SLACK_NS = 50 * MS_NS
"""What a loaded machine may add to a run."""
BLOCK_BYTES = 4096
WORK_BYTES = 4 << 20
"""How much of the target a test by bytes or passes works on."""

SPREADS = ("hotspots", "zipf", "pareto", "normal")
"""Features that are measured by what few writes have changed."""
DRAWS = 1024


def sizes(**percents: float) -> tuple[SizeShare, ...]:
    """`sizes(b4096=60, b65536=40)`."""
    return tuple(
        SizeShare(size_bytes=int(name[1:]), percent=percent)
        for name, percent in percents.items()
    )


def stream(facts: TargetFacts, **fields: Any) -> JobStream:
    """Random 4 KiB reads on the whole target, but for what is given."""
    usual = {
        "pattern": "random",
        "read_percent": 100,
        "read_sizes": sizes(b4096=100),
        "write_sizes": sizes(b4096=100),
        "region_start_bytes": 0,
        "region_end_bytes": facts.capacity_bytes // BLOCK_BYTES * BLOCK_BYTES,
    }
    return JobStream(**{**usual, **fields})


def job(
    facts: TargetFacts, *streams: JobStream, times: Times = SHORT, **fields: Any
) -> Job:
    """A short run, but for what is given; by time unless it has another limit."""
    usual: dict[str, Any] = {
        "target": facts.path,
        "capacity_bytes": facts.capacity_bytes,
        "block_bytes": facts.block_bytes,
        "streams": streams or (stream(facts),),
        "interval_ns": times.interval_ns,
        "read_only": not any(one.writes for one in streams),
    }
    if not fields.keys() & {"run_ns", "limit_bytes", "passes"}:
        usual["run_ns"] = times.run_ns
    return Job(**{**usual, **fields})


def feature_job(facts: TargetFacts, feature: str, times: Times = SHORT) -> Job:
    """A feature of the language as `ioplan backends` asks for it, made short."""
    text = f'{MIXED_WORKLOAD}test "T" {{ {FEATURES[feature]} }}'
    plan = check(Source(feature, text), (installed_plans(),))
    (_, asked), *_ = all_jobs(unfold(plan), facts, False)
    short: dict[str, Any] = {
        "interval_ns": times.interval_ns,
        "warmup_ns": min(asked.warmup_ns, times.warmup_ns),
        "read_only": not any(one.writes for one in asked.streams),
    }
    if asked.run_ns:
        short["run_ns"] = min(asked.run_ns, times.run_ns)
        share = short["run_ns"] / asked.run_ns
        short["streams"] = tuple(scaled_times(one, share) for one in asked.streams)
    if asked.limit_bytes:
        short["limit_bytes"] = min(asked.limit_bytes, WORK_BYTES)
    if feature in SPREADS:
        writing = asked.streams[0].model_copy(update={"read_percent": 0.0})
        short["streams"], short["read_only"] = (writing,), False
        short["run_ns"], short["limit_bytes"] = None, DRAWS * BLOCK_BYTES
    if asked.passes:
        first = asked.streams[0].model_copy(update={"region_end_bytes": WORK_BYTES})
        short["streams"] = (first,)
    return asked.model_copy(update=short)


def invalid_jobs(facts: TargetFacts, times: Times = SHORT) -> dict[str, Job]:
    """Jobs that no plan makes, or that fit another target than this one."""
    plain, end = job(facts, times=times), facts.capacity_bytes
    beyond = {"region_start_bytes": end, "region_end_bytes": 2 * end}
    tiny = {"region_end_bytes": facts.block_bytes}
    part = sizes(b1000=100)
    odd: dict[str, dict[str, Any]] = {
        "no streams": {"streams": ()},
        "no limit": {"run_ns": None},
        "a region beyond the end": {"streams": (stream(facts, **beyond),)},
        "a region smaller than an I/O": {"streams": (stream(facts, **tiny),)},
        "sizes that are no blocks": {"streams": (stream(facts, read_sizes=part),)},
        "a target that is not there": {"target": f"{facts.path}-is-not-there"},
    }
    return {name: plain.model_copy(update=fields) for name, fields in odd.items()}


INVALID = (
    *("no streams", "no limit", "a region beyond the end"),
    *("a region smaller than an I/O", "sizes that are no blocks"),
)


class Subject:
    """An author overrides `backend` and `request`, and what else does not fit."""

    queue_depth_tolerance = 0.05
    """How far IOPS times latency may be from the queue depth that was asked."""
    times = SHORT
    """Longer ones are for a backend whose own `gaps` leave out parts of a second."""
    options: dict[str, Any] = {}
    """The backend's, as the request of the open drive has them."""

    def backend(self) -> Backend:
        """The backend under test."""
        raise NotImplementedError("override backend()")

    def request(self, folder: Path) -> TargetRequest:
        """A small target that may be overwritten, its own for each test.

        8 MiB will do. A file is made if `create_bytes` are asked and it is missing.
        """
        raise NotImplementedError("override request(folder)")

    def content(self, facts: TargetFacts) -> bytes | None:
        """All that is stored on the target; None where that cannot be read."""
        path = Path(facts.path)
        return path.read_bytes() if path.is_file() else None

    def damage(self, facts: TargetFacts) -> str | None:
        """Break the target; returns how in a few words, None where it cannot be."""
        if not Path(facts.path).is_file():
            return None
        os.truncate(facts.path, 0)
        return "the file was truncated"

    @contextmanager
    def drive(self, folder: Path, **changes: Any) -> Iterator[Drive]:
        """An open target; a backend that cannot run here leaves the test out."""
        backend = self.backend()
        request = self.request(folder).model_copy(update=changes)
        self.options = request.options
        found = backend.availability(request.options)
        if not found.usable:
            pytest.skip(f"LEFT OUT: {backend.name} cannot run here: {found.reason}")
        if not backend.virtual_time:
            _make(request)
        drive = backend.open(request)
        try:
            yield drive
        finally:
            drive.close()

    def job(self, facts: TargetFacts, *streams: JobStream, **fields: Any) -> Job:
        """A run, short but for what is given."""
        return job(facts, *streams, times=self.times, **fields)

    def exactly(self, job: Job) -> Job:
        """The job, if the backend says that it can do it exactly."""
        gaps = gaps_of(self.backend(), job, self.options)
        if gaps:
            reasons = "; ".join(f"{gap.field}: {gap.reason}" for gap in gaps)
            pytest.skip(f"the backend says: {reasons}")
        return job

    def run(self, drive: Drive, job: Job) -> list[Event]:
        """All events of a run; a BackendError is a Failure, as ioplan takes it."""
        events: list[Event] = []
        try:
            with drive.start(job) as execution:
                events.extend(execution)
        except BackendError as error:
            events.append(Failure(cause="backend-error", message=str(error)))
        return events

    def done(self, drive: Drive, job: Job) -> list[Event]:
        """All events of a run that the backend says it can do exactly."""
        return self.run(drive, self.exactly(job))

    def calmly(self, measured: Callable[[int], None]) -> None:
        """Three attempts, but in virtual time, which nothing disturbs."""
        if self.backend().virtual_time:
            measured(0)
        else:
            calmly(measured)

    def stored(self, drive: Drive) -> bytes:
        """The content of the target, where it has one that can be read."""
        found = self.content(drive.facts)
        if found is None:
            pytest.skip("the target has no content to compare; see content()")
        return found


def _make(request: TargetRequest) -> None:
    """The scratch file that is asked, if it is missing."""
    if request.path and request.create_bytes and not Path(request.path).exists():
        make_scratch(Path(request.path), request.create_bytes, lambda _: None)
