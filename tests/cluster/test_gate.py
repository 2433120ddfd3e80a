"""A run that awaits its start does no I/O before it is told to, and not before then."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fio_jobs import MIB, NEEDS_FIO, job, stream

from ioplan.backends import TargetRequest, find
from ioplan.job import Job, Progress, Result, Started
from ioplan.runner.guard import make_scratch
from ioplan_lab.cluster.sync.participant import GatedExecution

pytestmark = pytest.mark.slow

MS_NS = 1_000_000
LEAD_NS = 150 * MS_NS
BACKENDS = ["io_uring", pytest.param("fio", marks=NEEDS_FIO), "sim"]


@pytest.fixture(params=BACKENDS)
def begun(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A run at its gate: two streams, one of several threads."""
    backend = find(request.param)
    make_scratch(tmp_path / "t", 64 * MIB, lambda _: None)
    asked = TargetRequest(
        path=str(tmp_path / "t"), writes=True, folder=str(tmp_path / "session")
    )
    with closing(backend.open(asked)) as drive:
        execution: Any = drive.start(awaiting(drive.facts.path))
        execution = GatedExecution(execution) if backend.virtual_time else execution
        with execution:
            yield execution
    assert not list((tmp_path / "session").glob("*.prerun.txt"))


def awaiting(target: str) -> Job:
    streams = (stream(name="a", threads=2), stream(name="b", qd=4))
    return job(*streams, target=target, run_ns=100 * MS_NS, await_start=True)


@pytest.mark.long
def test_it_begins_when_it_is_told_to(begun: Any) -> None:
    events = iter(begun)
    assert isinstance(next(events), Started)
    time.sleep(0.2)
    at_ns = time.time_ns() + LEAD_NS
    begun.go(at_ns)
    *progress, result = events
    assert progress and all(isinstance(one, Progress) for one in progress)
    assert isinstance(result, Result) and not result.stopped
    assert at_ns <= result.facts["started_ns"] <= time.time_ns()


def test_what_is_stopped_at_the_gate_does_no_io(begun: Any) -> None:
    events = iter(begun)
    assert isinstance(next(events), Started)
    begun.stop()
    if isinstance(begun, GatedExecution):
        begun.go(0)
    *_, result = events
    assert isinstance(result, Result) and result.stopped
    assert sum(one.ios for s in result.streams for one in s.directions.values()) == 0
