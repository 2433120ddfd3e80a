"""The backend under test: what its author says of it, and how a test uses it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ioplan.backends import Backend, BackendError, Drive, TargetFacts, TargetRequest
from ioplan.job import Event, Failure, Job, JobStream
from ioplan.lab.target import make_scratch
from ioplan.testing import jobs


class Subject:
    """An author overrides `backend` and `request`, and what else does not fit."""

    queue_depth_tolerance = 0.05
    """How far IOPS times latency may be from the queue depth that was asked."""
    times = jobs.SHORT
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
        return Path(facts.path).read_bytes() if facts.kind == "file" else None

    def damage(self, facts: TargetFacts) -> str | None:
        """Break the target; returns how in a few words, None where it cannot be."""
        if facts.kind != "file":
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
        return jobs.job(facts, *streams, times=self.times, **fields)

    def exactly(self, job: Job) -> Job:
        """The job, if the backend says that it can do it exactly."""
        gaps = self.backend().gaps(job, self.options)
        if gaps:
            told = "; ".join(f"{gap.field}: {gap.reason}" for gap in gaps)
            pytest.skip(f"the backend says: {told}")
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
