"""One JSON object a line, for programs."""

from __future__ import annotations

import json
import sys
from typing import Any

from ioplan.job import Progress
from ioplan.planner.steps import Prepare, Run, Step
from ioplan.records.record import Interval, RunRecord, Steady, Verdict
from ioplan.records.session import Session
from ioplan.runner.execute.observer import SessionObserver


class JsonLines(SessionObserver):
    """Writes everything to standard output as it happens."""

    def _write(self, kind: str, /, **fields: Any) -> None:
        sys.stdout.write(json.dumps({"type": kind, **fields}) + "\n")
        sys.stdout.flush()

    def session_started(self, session: Session, total_s: float) -> None:
        fields = session.model_dump(exclude={"plan_text", "host"}, mode="json")
        self._write("session", **fields, estimated_s=round(total_s, 3))

    def note(self, text: str) -> None:
        self._write("note", text=text)

    def warned(self, kind: str, text: str, help: str) -> None:
        self._write("warning", kind=kind, text=text, help=help)

    def step(self, step: Step, number: int) -> None:
        fields: dict[str, Any] = {"number": number, "test": step.test.title}
        fields |= {"what": type(step).__name__.lower(), "text": str(step)}
        if isinstance(step, Run):
            fields |= {"run_id": step.run_id, "cell": step.cell_text}
            fields |= {"round": step.round, "iteration": step.iteration}
        if isinstance(step, Prepare):
            fields |= {"state": step.state.name}
        self._write("step", **fields)

    def progress(
        self, progress: Progress, interval: Interval | None, done: float | None
    ) -> None:
        self._write(
            "progress",
            warmup=progress.warmup,
            done=None if done is None else round(done, 4),
            interval=interval.model_dump(mode="json") if interval else None,
        )

    def purged(self, done: float) -> None:
        self._write("purged", done=round(done, 4))

    def record(self, record: RunRecord) -> None:
        self._write("record", record=record.model_dump(mode="json"))

    def reused(self, record: RunRecord) -> None:
        self._write("kept", seq=record.seq, run_id=record.run_id)

    def steady(self, steady: Steady, round: int) -> None:
        self._write("steady", round=round, steady=steady.model_dump(mode="json"))

    def verdict(self, record: RunRecord, verdict: Verdict) -> None:
        place = {"test": record.asked.test, "cell": record.asked.cell}
        self._write("verdict", seq=record.seq, **place, **verdict.model_dump())

    def failed(self, kind: str, text: str) -> None:
        self._write("error", kind=kind, text=text)

    def session_finished(self, status: str, verdict: str) -> None:
        self._write("end", status=status, verdict=verdict)
