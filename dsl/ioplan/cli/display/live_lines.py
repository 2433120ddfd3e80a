"""Lines for a terminal, with what goes on now below them."""

from __future__ import annotations

from time import monotonic

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ioplan.cli.display.lines import Lines
from ioplan.cli.display.terminal import Terminal
from ioplan.core.units import bandwidth_text, iops_text, latency_text, time_text
from ioplan.job import Progress
from ioplan.measure.tally import moved
from ioplan.planner.steps import Step
from ioplan.records.record import Interval
from ioplan.records.session import Session


class LiveLines(Lines):
    """Lines that scroll, and two more below them that are redrawn."""

    def __init__(self, console: Terminal) -> None:
        super().__init__(console)
        self.live = Live(console=console, refresh_per_second=8, transient=True)
        self.now: RenderableType = Text("")
        self.total_s = 0.0
        self.left_at = monotonic()
        self.text = ""

    def session_started(self, session: Session, total_s: float) -> None:
        super().session_started(session, total_s)
        self.total_s, self.left_at = total_s, monotonic()
        self.live.start()

    def step(self, step: Step, number: int) -> None:
        super().step(step, number)
        self.text = f"{number}  {step}"
        self._draw(None, None, warmup=False)

    def progress(
        self, progress: Progress, interval: Interval | None, done: float | None
    ) -> None:
        self._draw(interval, done, progress.warmup)

    def purged(self, done: float) -> None:
        self.live.update(Group(Text(f"{self.text}  {done:.1%}"), self._bar(done)))

    def eta(self, left_s: float) -> None:
        super().eta(left_s)
        self.left_at = monotonic()

    def _draw(
        self, interval: Interval | None, done: float | None, warmup: bool
    ) -> None:
        self.live.update(Group(self._line(interval, warmup), self._bar(done)))

    def _line(self, interval: Interval | None, warmup: bool) -> Text:
        if interval is None:
            return Text(f"{self.text}{'  warming up' if warmup else ''}")
        seconds = interval.length_s or 1.0
        iops = moved(interval.ios) / seconds
        bandwidth = moved(interval.bytes) / seconds
        figures = (
            f"  {iops_text(iops)} IOPS  {bandwidth_text(bandwidth)} MB/s"
            f"  p99 {latency_text(interval.p99_ns)}"
        )
        step = Text(self.text, "bold")
        step.truncate(
            max(1, self.live.console.width - len(figures)), overflow="ellipsis"
        )
        return step + figures

    def _bar(self, done: float | None) -> Table:
        left_s = max(0.0, self.left_s - (monotonic() - self.left_at))
        grid = Table.grid(padding=(0, 1))
        grid.add_row(
            ProgressBar(total=1.0, completed=done or 0.0, width=40),
            Text(f"plan: {time_text(left_s)} left"),
        )
        return grid

    def session_finished(self, status: str) -> None:
        super().session_finished(status)
        self.live.stop()
