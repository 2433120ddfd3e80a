"""Observes a lane's session, for those who watch the lane from outside."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from ioplan.job import Progress
from ioplan.planner.steps import Step
from ioplan.records.record import Interval, RunRecord, Verdict
from ioplan.records.session import Session
from ioplan.results.measure.tally import moved
from ioplan.runner.execute.observer import SessionObserver
from ioplan_lab.cluster.jobs.lane import LaneState
from ioplan_lab.cluster.jobs.lane_folder import LaneFolder

WRITE_EVERY_S = 0.5


class LaneObserver(SessionObserver):
    """Writes the lane's state to its folder, twice a second at most."""

    def __init__(self, folder: Path) -> None:
        self.lane = LaneFolder(folder)
        self.state: LaneState = self.lane.state()
        self.total_s = 0.0
        self.written_s = 0.0

    def _change(self, at_once: bool = False, **change: Any) -> None:
        self.state = self.state.model_copy(update=change)
        now_s = time.monotonic()
        if at_once or now_s - self.written_s >= WRITE_EVERY_S:
            self.written_s = now_s
            self.lane.write_state(self.state)

    def session_started(self, session: Session, total_s: float) -> None:
        self.total_s = total_s
        self._change(
            at_once=True, status="running", message="", runs=0, unmet=0, left_s=total_s
        )

    def note(self, text: str) -> None:
        self._change(message=text)

    def step(self, step: Step, number: int) -> None:
        self._change(step=f"{number}  {step}")

    def purged(self, done: float) -> None:
        self._change(message=f"purge: {done:.0%}")

    def progress(
        self, progress: Progress, interval: Interval | None, done: float | None
    ) -> None:
        if interval is None:
            return
        seconds = interval.length_s or 1.0
        iops = moved(interval.ios) / seconds
        self._change(iops=iops, p99_ns=interval.p99_ns)

    def record(self, record: RunRecord) -> None:
        celsius = record.telemetry.temperature_celsius if record.telemetry else None
        self._change(runs=self.state.runs + 1, temperature_celsius=celsius)

    def reused(self, record: RunRecord) -> None:
        self._change(runs=self.state.runs + 1)

    def verdict(self, record: RunRecord, verdict: Verdict) -> None:
        if verdict.outcome != "held":
            self._change(unmet=self.state.unmet + 1)

    def eta(self, left_s: float) -> None:
        done = 1 - left_s / self.total_s if self.total_s else 0.0
        self._change(left_s=left_s, done=min(1.0, max(0.0, done)))

    def session_finished(self, status: str) -> None:
        self._change(at_once=True)
