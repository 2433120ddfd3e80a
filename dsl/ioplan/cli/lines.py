"""Plain lines, for output that is no terminal."""

from __future__ import annotations

from rich.console import Console

from ioplan.planner.steps import Idle, Prepare, Run, Step
from ioplan.report.line import line
from ioplan.report.steady import steady_line
from ioplan.report.tables import latencies, prepare_line, shown_of, verdict_line
from ioplan.report.units import bandwidth_text, iops_text, time_text
from ioplan.results.record import RunRecord, Steady, Verdict
from ioplan.results.session import Session
from ioplan.runner.watcher import Watcher


class Lines(Watcher):
    """A line for each step that has ended."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.test = ""
        self.number = 0
        self.left_s = 0.0
        self.told_mode = False
        self.kept_runs = 0

    def say(self, text: str, style: str = "") -> None:
        """One line, wrapped nowhere."""
        self.console.print(line(text, style), soft_wrap=True, highlight=False)

    def begins(self, session: Session, total_s: float) -> None:
        self.left_s = total_s
        self.say(session.plan, "bold")
        self.say(f"on {session.target} by {session.backend}; session {session.id}")

    def note(self, text: str) -> None:
        """At a terminal wrapped by words, as it may be long."""
        whole = not self.console.is_terminal
        self.console.print(line(text, "dim"), soft_wrap=whole, highlight=False)

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
            self.say(f"       {prepare_line(record)}", "dim")
            return
        cell = " ".join(f"{n}={v}" for n, v in record.asked.cell.items())
        shown, what = shown_of(record)
        mean, p99, *_ = latencies(shown)
        self.say(
            f"  {self.number:>3}  {what + cell or 'run':<22}"
            f" {iops_text(shown.iops):>6} IOPS"
            f" {bandwidth_text(shown.bandwidth_bytes_per_s):>6} MB/s"
            f"  mean {mean:>7}  p99 {p99:>7}"
        )
        for warning in record.warnings:
            self.say(f"       warning: {warning}", "yellow")

    def _tell_mode(self, record: RunRecord) -> None:
        """Once, where the backend did not work as it would by itself."""
        backend = record.backend
        if backend.reason and not self.told_mode:
            self.say(f"       {backend.mode} mode: {backend.reason}", "yellow")
            self.told_mode = True

    def kept(self, record: RunRecord) -> None:
        """Those of a test are told together, before what comes after them."""
        self.kept_runs += 1

    def _tell_kept(self) -> None:
        if self.kept_runs:
            self.say(f"       {self.kept_runs} runs are kept from before", "dim")
            self.kept_runs = 0

    def steady(self, steady: Steady, round: int) -> None:
        self.say(f"       round {round}: {steady_line(steady)}", "dim")

    def verdict(self, record: RunRecord, verdict: Verdict) -> None:
        """What held is said once, at the end."""
        if verdict.outcome != "held":
            style = "red" if verdict.outcome == "failed" else "yellow"
            self.say(f"       {verdict_line(record, verdict)}", style)

    def left(self, left_s: float) -> None:
        self.left_s = left_s

    def ends(self, status: str) -> None:
        self._tell_kept()
