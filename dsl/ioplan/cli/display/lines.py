"""Plain lines, for output that is no terminal."""

from __future__ import annotations

from textwrap import wrap

from ioplan.cli.display.plain import LineOutput
from ioplan.core.units import bandwidth_text, iops_text, time_text
from ioplan.planner.steps import Idle, Prepare, Run, Step
from ioplan.records import scopes
from ioplan.records.record import DirectionResult, RunRecord, Steady, Verdict
from ioplan.records.session import Session
from ioplan.results.report import judgements, sentences
from ioplan.runner.execute.observer import SessionObserver


class Lines(SessionObserver):
    """A line for each step that has ended."""

    def __init__(self, out: LineOutput) -> None:
        self.out = out
        self.test = ""
        self.number = 0
        self.left_s = 0.0
        self.told_mode = False
        self.kept_runs = 0
        self.warnings: set[str] = set()

    def say(self, text: str, style: str = "") -> None:
        """One line, wrapped nowhere."""
        self.out.say(text, style)

    def session_started(self, session: Session, total_s: float) -> None:
        self.left_s = total_s
        self.say(session.plan, "bold")
        drive = f"drive {session.target}, backend {session.backend}"
        self.say(f"{drive}; session {session.id}")

    def note(self, text: str) -> None:
        """At a terminal wrapped by words, as it may be long."""
        self.out.say(text, "dim", whole=not self.out.is_terminal)

    def warned(self, kind: str, text: str, help: str) -> None:
        """At a terminal wrapped by words; the runs do not say it again."""
        for part in (f"warning: {text}", f"  {help}"):
            self.out.say(part, "yellow", whole=not self.out.is_terminal)
        self.warnings.add(text)

    def step(self, step: Step, number: int) -> None:
        self.number = number
        self._tell_kept()
        if step.test.title != self.test:
            self.test = step.test.title
            self.say(f"{self.test}, about {time_text(self.left_s)} left", "bold")
        if isinstance(step, Idle | Prepare):
            self.say(f"  {self.number:>3}  {step}", "dim")
        assert isinstance(step, Idle | Prepare | Run)

    def record(self, record: RunRecord) -> None:
        self._tell_mode(record)
        if record.asked.kind == "prepare":
            self.say(f"       {sentences.prepare_line(record)}", "dim")
            return
        cell = " ".join(f"{n}={v}" for n, v in record.asked.cell.items())
        cell = f"{cell} {record.asked.name}".strip()
        if record.found:
            self.say(f"       {sentences.found_at(record)}")
            return
        shown, what = sentences.main_result(record)
        how = f"  {sentences.probe_words(record)}" if record.asked.seek else ""
        self.say(f"  {self.number:>3}  {_figures(what + cell or 'run', shown)}{how}")
        self._tell_streams(record)
        if verified := sentences.verified_line(record):
            self.say(f"       {verified}", "dim")
        for event in record.events:
            self.say(f"       {sentences.event_line(event)}", "dim")
        for warning in record.warnings:
            if warning not in self.warnings:
                self.say(f"       warning: {warning}", "yellow")

    def _tell_streams(self, record: RunRecord) -> None:
        """A line on each of several streams, by direction, and on each target."""
        results = scopes.results_of(record)
        if len(record.streams) > 1:
            for label, result in zip(
                scopes.labels_of(results), results.values(), strict=True
            ):
                self.say(f"       {_figures(label, result)}", "dim")
        for name, target in record.targets.items():
            self.say(f"       {_figures(f'on {name}', target.total)}", "dim")

    def _tell_mode(self, record: RunRecord) -> None:
        """Once, where the backend did not work as it would by itself."""
        backend = record.backend
        if backend.reason and not self.told_mode:
            self.say(f"       {backend.mode} mode: {backend.reason}", "yellow")
            self.told_mode = True

    def reused(self, record: RunRecord) -> None:
        """Count a kept run: a test's are shown together, before what follows."""
        self.kept_runs += 1

    def _tell_kept(self) -> None:
        if self.kept_runs:
            self.say(f"       {self.kept_runs} runs are kept from before", "dim")
            self.kept_runs = 0

    def steady(self, steady: Steady, round: int) -> None:
        text = f"round {round}: {sentences.steady_line(steady)}"
        for row in wrap(text, 80, initial_indent=" " * 7, subsequent_indent=" " * 9):
            self.say(row, "dim")

    def verdict(self, record: RunRecord, verdict: Verdict) -> None:
        """What held is said once, at the end."""
        if verdict.outcome != "held":
            style = "red" if verdict.outcome == "failed" else "yellow"
            self.say(
                f"       {judgements.verdict_line(record.asked.cell, verdict)}", style
            )

    def eta(self, left_s: float) -> None:
        self.left_s = left_s

    def session_finished(self, status: str, verdict: str) -> None:
        self._tell_kept()


def _figures(what: str, result: DirectionResult) -> str:
    """One line, in columns."""
    mean, p99, *_ = sentences.latencies(result)
    return (
        f"{what:<22} {iops_text(result.iops):>6} IOPS"
        f" {bandwidth_text(result.bandwidth_bytes_per_s):>6} MB/s"
        f"  mean {mean:>7}  p99 {p99:>7}"
    )
