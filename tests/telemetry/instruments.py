"""Runs under instruments on a made-up machine, whose clock goes as a test says."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from figures import SECOND_NS, workload
from made_machine import DISK, put

from ioplan.backends import TargetFacts
from ioplan.job import Job, Progress, Started
from ioplan.runner import InstrumentedRun, Instruments, Tree

JOB = workload()[1]
PATIENCE_S = 10.0
SENSORS = "ioplan.runner.telemetry.sensors"


def facts_of(path: str | Path) -> TargetFacts:
    return TargetFacts(
        path=str(path), kind="file", capacity_bytes=1 << 20, block_bytes=512
    )


def process(root: Path, pid: int, *times: int, flags: int = 0) -> None:
    """`times`: user, kernel, and both of children that have ended, in ticks."""
    before = f"{pid} (a ) b) S 1 1 1 0 -1 {flags} 0 0 0 0"
    put(root, **{f"proc/{pid}/stat": f"{before} {' '.join(map(str, times))} 20 0 1"})


class Machine:
    """A copy of /proc and /sys; its target is a file of its own."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch) -> None:
        self.root, self.patch, self.at_s = root, patch, 0.0
        self.target = root / "target"
        self.target.touch()
        self.put(**{"proc/cpuinfo": "model name : made up"})
        own = SimpleNamespace(monotonic=lambda: self.at_s, thread_time=time.thread_time)
        patch.setattr(f"{SENSORS}.time", own)

    def put(self, **files: str | int) -> None:
        put(self.root, **files)

    def has_disk(self, folder: str = DISK, is_target: bool = False) -> None:
        """The target lies on it, or is taken for its node, which only root can make."""
        if is_target:
            blocks = SimpleNamespace(S_ISBLK=lambda mode: True)
            self.patch.setattr("ioplan.runner.telemetry.disk.stat", blocks)
        status = self.target.stat()
        number = status.st_rdev if is_target else status.st_dev
        link = self.root / f"sys/dev/block/{os.major(number)}:{os.minor(number)}"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(self.root / folder)

    def instruments(self, *meter: str) -> Instruments:
        return Instruments(facts_of(self.target), meter, Tree(self.root))

    @contextmanager
    def run(self, *meter: str, warmup_ns: int = 0) -> Iterator[Measured]:
        """What it told is in `telemetry` afterwards."""
        job = JOB.model_copy(update={"warmup_ns": warmup_ns})
        with InstrumentedRun(self.instruments(*meter), job) as run:
            yield Measured(self, run)


class Measured:
    """One run: a moment is read when the clock has come to it."""

    def __init__(self, machine: Machine, run: InstrumentedRun) -> None:
        self.machine, self.run = machine, run

    @property
    def means(self) -> Any:
        return self.run.telemetry.means

    @property
    def points(self) -> Any:
        return self.run.telemetry.points

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.run.telemetry.warnings

    def moment(self, t_s: float, at_s: float | None = None, **files: Any) -> None:
        """The begin, or the end of an interval, which may be told late."""
        sampler = self.run.sampler
        before = sampler.samples
        self.machine.put(**files)
        self.machine.at_s = 100 + (t_s if at_s is None else at_s)
        self.run.on_event(interval(t_s) if t_s else Started(mode="x"))
        until_s = time.monotonic() + PATIENCE_S
        while sampler.samples is before and sampler.thread.is_alive():
            assert time.monotonic() < until_s
            time.sleep(0.0005)


def interval(t_s: float, warmup: bool = False) -> Progress:
    t_ns = round(t_s * SECOND_NS)
    return Progress(t_ns=t_ns, interval_ns=SECOND_NS, warmup=warmup, streams=())


def on_this_machine(path: Path, job: Job) -> InstrumentedRun:
    return InstrumentedRun(Instruments(facts_of(path)), job)
