"""Watches the session of a drive job, for those who look at its folder."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from ioplan.core import percent_text
from ioplan.job import Progress
from ioplan.planner import Step
from ioplan.records import Interval, RunRecord, Session, Verdict
from ioplan.results.measure import moved
from ioplan.runner import SessionObserver
from ioplan_lab.host.drive_job import JobState
from ioplan_lab.host.folder import JobFolder

WRITE_EVERY_S = 0.5


class JobObserver(SessionObserver):
    """Writes the state to the folder, twice a second at most."""

    def __init__(self, path: Path) -> None:
        self.folder = JobFolder(path)
        self.state: JobState = self.folder.state()
        self.total_s = 0.0
        self.written_s = 0.0

    def _change(self, at_once: bool = False, **change: Any) -> None:
        self.state = self.state.model_copy(update=change)
        now_s = time.monotonic()
        if at_once or now_s - self.written_s >= WRITE_EVERY_S:
            self.written_s = now_s
            self.folder.write_state(self.state)

    def session_started(self, session: Session, total_s: float) -> None:
        self.total_s = total_s
        fresh = {"status": "running", "message": "", "runs": 0, "unmet": 0}
        self._change(at_once=True, left_s=total_s, **fresh)

    def note(self, text: str) -> None:
        if not text.startswith(
            "not measured: "
        ):  # the same for hours, and in the report
            self._change(message=text)

    def step(self, step: Step, number: int) -> None:
        self._change(step=f"{number}  {step}"[:500])

    def purged(self, done: float) -> None:
        self._change(message=f"purge: {percent_text(100 * done)}")

    def progress(
        self, progress: Progress, interval: Interval | None, done: float | None
    ) -> None:
        if interval is not None:
            iops = moved(interval.ios) / (interval.length_s or 1.0)
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
        self._change(left_s=max(0.0, left_s), done=min(1.0, max(0.0, done)))

    def session_finished(self, status: str, verdict: str) -> None:
        self._change(at_once=True)
