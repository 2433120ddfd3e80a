"""Lines for a terminal, with one more below them that shows what goes on now."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.progress import Progress as Bar
from rich.text import Text

from ioplan.cli.display.lines import MINUTE_S, Lines
from ioplan.cli.display.plain import LineOutput
from ioplan.cli.display.terminal import Terminal
from ioplan.core.text import printable
from ioplan.core.units import (
    bytes_text,
    iops_text,
    metric_text,
    percent_text,
    time_text,
)
from ioplan.job import SECOND_NS, Progress
from ioplan.language.plan import WriteStep
from ioplan.planner.steps import Prepare, Run, Step
from ioplan.records.record import Interval, Steady
from ioplan.records.session import Session
from ioplan.results.measure.tally import moved

LARGE_BYTES = 1 << 16
"""The rate of I/Os of this size on is shown in bytes."""


class LiveLines(Lines):
    """Lines that scroll, and the line of progress, which counts down by itself."""

    def __init__(self, console: Terminal) -> None:
        super().__init__(console)
        self.live = Live(
            console=console,
            get_renderable=self._progress_line,
            refresh_per_second=4,
            transient=True,
        )
        self.amount = self.rate = self.why = ""

    def session_started(self, session: Session, total_s: float) -> None:
        super().session_started(session, total_s)
        self.live.start()

    def step(self, step: Step, number: int) -> None:
        super().step(step, number)
        self.amount = self.rate = self.why = ""

    def progress(
        self, progress: Progress, interval: Interval | None, done: float | None
    ) -> None:
        self.amount = "warming up" if progress.warmup else _amount(self.current, done)
        if interval:
            self.rate = _rate(interval)

    def purged(self, done: float) -> None:
        self.amount = percent_text(100 * done)

    def steady(self, steady: Steady, round: int) -> None:
        super().steady(steady, round)
        self.why = steady.why

    def _progress_line(self) -> Text:
        """`7  fill: 1.2 of 2 passes written, 62.6k IOPS, 4 min left`."""
        if self.current is None:
            return Text("")
        state = [self.amount, self.rate, self.why, self.left_text]
        text = ", ".join(filter(None, state))
        name = Text(f"{self.number}  {printable(_name(self.current))}", "bold")
        room = self.live.console.width - len(text) - len(": ")
        name.truncate(max(1, room), overflow="ellipsis")
        name.no_wrap = True
        return name + f": {text}" if text else name

    def session_finished(self, status: str, verdict: str) -> None:
        super().session_finished(status, verdict)
        self.live.stop()


def _name(step: Step) -> str:
    """`steady4k` of a write; else what the step prints."""
    if isinstance(step, Prepare) and isinstance(step.step, WriteStep):
        return step.state.name
    return str(step)


def _amount(step: Step | None, done: float | None) -> str:
    """`1.2 of 2 passes written`, `12 s of 1 min`; of several limits the share."""
    if done is None:
        return ""
    limits: list[str] = []
    if isinstance(step, Prepare) and isinstance(step.step, WriteStep):
        limits = _limits(done, step.step.passes, step.step.run_ns, "passes written")
    elif isinstance(step, Run):
        length = step.length
        limits = _limits(done, length.passes, length.run_ns, "passes")
        if size := length.limit_bytes:
            limits.append(f"{bytes_text(done * size)} of {bytes_text(size)}")
    return limits[0] if len(limits) == 1 else percent_text(100 * done)


def _limits(
    done: float, passes: float | None, run_ns: int | None, noun: str
) -> list[str]:
    limits = []
    if passes:
        noun = noun if passes != 1 else noun.replace("passes", "pass")
        limits.append(f"{done * passes:.1f} of {passes:g} {noun}")
    if run_ns:
        limits.append(_time_of(done, run_ns / SECOND_NS))
    return limits


def _time_of(done: float, whole_s: float) -> str:
    """`12 of 60 s`, `1 h 05 min of 2 h`."""
    if whole_s < 2 * MINUTE_S:
        return f"{done * whole_s:.0f} of {whole_s:g} s"
    minutes = round(done * whole_s / MINUTE_S) * MINUTE_S
    return f"{time_text(minutes)} of {time_text(whole_s)}"


def _rate(interval: Interval) -> str:
    ios, size = moved(interval.ios), moved(interval.bytes)
    length_s = interval.length_s or 1.0
    if ios and size / ios >= LARGE_BYTES:
        return metric_text(size / length_s, "B/s")
    return f"{iops_text(ios / length_s)} IOPS"


def live_lines(out: LineOutput) -> LiveLines | None:
    """None where it is no terminal of rich's."""
    return LiveLines(out) if isinstance(out, Terminal) else None


@contextmanager
def progress_bar(
    text: str, total: float, console: Console | None = None
) -> Iterator[Callable[[float], None]]:
    """A bar with the time left, gone at the end; what is yielded takes what is done."""
    console = console or Terminal(stderr=True)
    with Bar(console=console, transient=True) as progress:
        task = progress.add_task(text, total=total)
        yield lambda done: progress.update(task, completed=done)
