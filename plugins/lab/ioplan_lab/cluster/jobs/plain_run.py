"""A plain `ioplan run` on this host: the lab's database is told of it as of a lane.

So its drive is busy for each desk and shell, and any of them can cancel it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ioplan.backends import JoinedFacts, TargetFacts
from ioplan.job import Progress
from ioplan.planner import Step
from ioplan.records import Interval, RunRecord, Session, Verdict
from ioplan.results.measure import moved
from ioplan.runner import Lab, SessionObserver, expanded
from ioplan_lab.cluster.jobs.lane import EXIT, SEVERAL, LaneCall, LaneState
from ioplan_lab.cluster.jobs.lane_folder import LaneFolder, lanes_root
from ioplan_lab.cluster.jobs.reporting import start_reporter

# Observes a lane's session, for those who watch the lane from outside.

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

    def session_finished(self, status: str, verdict: str) -> None:
        self._change(at_once=True)


UNMET = ("failed", "undecided")
CODES = {"ok": EXIT["ok"], "failed": EXIT["failed"], "interrupted": EXIT["stopped"]}


class _Watcher(LaneObserver):
    """Writes the run's state, and knows how it ends."""

    code = CODES["failed"]

    def failed(self, kind: str, text: str) -> None:
        self._change(message=f"error: {text}")

    def session_finished(self, status: str, verdict: str) -> None:
        self.code = CODES[status] or (EXIT["unmet"] if verdict in UNMET else 0)


@contextmanager
def told_of(
    session: Session, facts: TargetFacts, lab: Lab, store: Path
) -> Iterator[SessionObserver]:
    """Tell of a session that this process runs, for this block.

    Raises OSError where its state cannot be kept, as on a full disk.
    """
    call = _call(session, facts, lab, store)
    folder = LaneFolder.of(call)
    with folder.held():
        watcher = _Watcher(folder.path)
        start_reporter(lanes_root(call.store))
        try:
            yield watcher
        finally:
            folder.finish(watcher.state, watcher.code)
            with suppress(OSError):
                start_reporter(lanes_root(call.store))


def _call(session: Session, facts: TargetFacts, lab: Lab, store: Path) -> LaneCall:
    targets = SEVERAL.join(expanded(lab, session.request.targets))
    members = facts.members.values() if isinstance(facts, JoinedFacts) else [facts]
    return LaneCall(
        job=session.id,
        session=session.id,
        target=targets,
        plan="",
        files={},
        lab="",
        request=session.request.model_copy(update={"person": session.person}),
        store=str(store.absolute()),
        title=session.plan,
        where=targets,
        drive=SEVERAL.join(map(_drive, members)),
        results=lab.results,
    )


def _drive(facts: TargetFacts) -> str:
    """All that a lab may call it by; a file by its path."""
    named = [facts.identity.get(key) for key in ("serial", "wwid", "backing_file")]
    return SEVERAL.join(filter(None, named)) or facts.path
