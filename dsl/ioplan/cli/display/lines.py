"""A line for each step that has ended, for output that is no terminal."""

from __future__ import annotations

from collections import Counter
from textwrap import wrap
from time import monotonic

from ioplan.backends.backend import find
from ioplan.cli.display.plain import LineOutput
from ioplan.core.units import (
    bandwidth_text,
    iops_text,
    time_text,
)
from ioplan.language.plan import PurgeStep, RestStep
from ioplan.planner.steps import Prepare, Run, Step
from ioplan.records.record import RunRecord, Steady, Verdict
from ioplan.records.session import Session
from ioplan.results.measure.over_time import ends_steady
from ioplan.results.report import FAILED, judgements, sentences
from ioplan.results.report.remarks import text_kind
from ioplan.runner.execute.observer import SessionObserver

WIDTH = 80
BELOW, FURTHER = " " * 7, " " * 9
NAME = 33
PROBE = 18
"""Columns of a cell's name, and of that of a probe, so that a run has a line."""
MINUTE_S = 60


class Lines(SessionObserver):
    """Prints a line for each test and step, and the same warning once."""

    def __init__(self, out: LineOutput) -> None:
        self.out = out
        self.current: Step | None = None
        self.number = 0
        self.is_virtual = False
        self.began_at = self.estimated_at = monotonic()
        self.total_s = self.estimated_s = 0.0
        self.mode_shown = False
        self.reused_runs = 0
        self.warnings = Counter[str]()
        self.failures = set[str]()

    def say(self, text: str, style: str = "") -> None:
        """One line, wrapped nowhere."""
        self.out.say(text, style)

    def session_started(self, session: Session, total_s: float) -> None:
        self.is_virtual = find(session.backend).virtual_time
        self.began_at = self.estimated_at = monotonic()
        self.total_s = self.estimated_s = total_s
        self.say(session.plan, "bold")
        drive = f"drive {session.target}, backend {session.backend}"
        self.say(f"{drive}; session {session.id}")

    def eta(self, left_s: float) -> None:
        self.estimated_s, self.estimated_at = left_s, monotonic()

    @property
    def left_text(self) -> str:
        """`4 min left`; empty while nothing shows how fast time is simulated."""
        left_s = self.estimated_s - (monotonic() - self.estimated_at)
        if self.is_virtual:
            done_s = self.total_s - self.estimated_s
            if done_s <= 0:
                return ""
            pace = (self.estimated_at - self.began_at) / done_s
            left_s += (pace - 1) * self.estimated_s
        return left_text(left_s)

    def note(self, text: str) -> None:
        """At a terminal wrapped by words, as it may be long."""
        if isinstance(self.current, Prepare):
            name = self.current.state.name
            if isinstance(self.current.step, PurgeStep):
                self._numbered(f"{name}: {text}", "dim")
                return
            if text.startswith(f"{name}: not steady: "):
                return  # as the line of the write says
        self.out.say(text, "dim", whole=not self.out.is_terminal)

    def warned(self, kind: str, text: str, help: str) -> None:
        """At a terminal wrapped by words; the runs do not say it again."""
        for part in (f"warning: {text}", f"  {help}"):
            self.out.say(part, "yellow", whole=not self.out.is_terminal)
        self.warnings[text_kind(text)] += 1

    def step(self, step: Step, number: int) -> None:
        self._show_reused()
        if self.current is None or step.test.title != self.current.test.title:
            left = self.left_text
            self.say(f"{step.test.title}{left and f', about {left}'}", "bold")
        self.current, self.number = step, number
        if not _has_record(step):
            self._numbered(str(step), "dim")

    def _numbered(self, text: str, style: str = "") -> None:
        self.say(f"  {self.number:>3}  {text}", style)

    def _below(self, text: str, style: str = "dim", whole: bool = True) -> None:
        """A line that belongs to the step above it, at a terminal wrapped by words."""
        is_narrow = self.out.is_terminal or not whole
        width = WIDTH if is_narrow else len(BELOW + text)
        for row in wrap(text, width, initial_indent=BELOW, subsequent_indent=FURTHER):
            self.say(row, style)

    def record(self, record: RunRecord) -> None:
        self._show_mode(record)
        if record.asked.kind == "prepare":
            self._numbered(sentences.prepare_line(record, is_brief=True), "dim")
        elif record.found:
            self._below(sentences.found_at(record), "")
        else:
            self._numbered(run_line(record))
        kind = text_kind(record.message)
        if record.status == "failed" and kind not in self.failures:
            self._below(record.message, "red")
            self.failures.add(kind)
        if verified := sentences.verified_line(record):
            self._below(verified)
        for event in record.events:
            self._below(sentences.event_line(event))
        for warning in record.warnings:
            if not self.warnings[text_kind(warning)]:
                self._below(f"warning: {warning}", "yellow")
            self.warnings[text_kind(warning)] += 1

    def _show_mode(self, record: RunRecord) -> None:
        """Once, where a backend did not work as it would by itself."""
        backend = record.backend
        if backend.reason and not self.mode_shown and not self.is_virtual:
            self._below(f"{backend.mode} mode: {backend.reason}", "yellow")
            self.mode_shown = True

    def reused(self, record: RunRecord) -> None:
        """Count a run that is not repeated: a test's are shown together."""
        self.reused_runs += 1

    def _show_reused(self) -> None:
        if self.reused_runs:
            self._below(f"{self.reused_runs} runs are kept from before")
            self.reused_runs = 0

    def steady(self, steady: Steady, round: int) -> None:
        """A line a round; the windows of one step have that step's line."""
        if not (isinstance(self.current, Run) and self.current.round):
            return
        text = f"round {round}: {sentences.steady_line(steady)}"
        self._below(text, whole=False)

    def verdict(self, record: RunRecord, verdict: Verdict) -> None:
        """Expectations that passed are counted at the end."""
        if verdict.outcome != "held":
            style = "red" if verdict.outcome == "failed" else "yellow"
            self._below(judgements.verdict_line(record.asked.cell, verdict), style)

    def session_finished(self, status: str, verdict: str) -> None:
        self._show_reused()


def left_text(left_s: float) -> str:
    """`4 min left`; nothing of less than a second."""
    if left_s < 2 * MINUTE_S:
        return f"{left_s:.0f} s left" if left_s >= 1 else ""
    return f"{time_text(round(left_s / MINUTE_S) * MINUTE_S)} left"


def _has_record(step: Step) -> bool:
    """Whether the step has its line when it has ended."""
    if isinstance(step, Prepare):
        return not isinstance(step.step, RestStep)
    return isinstance(step, Run)


def run_line(record: RunRecord) -> str:
    """`qd=4  52.6k IOPS  215 MB/s  p99 121 µs`, in columns."""
    result, what = sentences.main_result(record)
    cell = sentences.place_text(record.asked.cell)
    name = f"{what}{cell} {record.asked.name}".strip() or "run"
    name += ", until it was steady" * ends_steady(record)
    rate = f"{iops_text(result.iops):>6} IOPS"
    if record.status != "ok":  # its other figures are of no use
        return f"{name:<{NAME}} {rate}  {FAILED} {record.status}"
    p99 = f"p99 {sentences.p99_text(result):>7}"
    if probe := sentences.probe_words(record):
        return f"{name:<{PROBE}} {rate}  {p99}  {probe}"
    bandwidth = bandwidth_text(result.bandwidth_bytes_per_s)
    return f"{name:<{NAME}} {rate}  {bandwidth:>9}  {p99}"
