"""Lines for a terminal, with what goes on now below them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from time import monotonic

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import Progress as Bar
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ioplan.cli.display.lines import Lines
from ioplan.cli.display.plain import LineOutput
from ioplan.cli.display.terminal import Terminal
from ioplan.core.units import bandwidth_text, bars, iops_text, latency_text, time_text
from ioplan.job import Progress
from ioplan.planner.steps import Step
from ioplan.records.record import Interval
from ioplan.records.session import Session
from ioplan.results.measure.tally import moved

LEAST_DRAWN = 3
MOST_DRAWN = 500
"""Intervals, the last ones; more than half the columns of any terminal."""
LABELS = "IOPS ", "  p99 "


class LiveLines(Lines):
    """Lines that scroll, and three more below them that are redrawn."""

    def __init__(self, console: Terminal) -> None:
        super().__init__(console)
        self.live = Live(console=console, refresh_per_second=8, transient=True)
        self.now: RenderableType = Text("")
        self.total_s = 0.0
        self.left_at = monotonic()
        self.text = ""
        self.rates = deque[float](maxlen=MOST_DRAWN)
        self.p99s_ns = deque[float](maxlen=MOST_DRAWN)

    def session_started(self, session: Session, total_s: float) -> None:
        super().session_started(session, total_s)
        self.total_s, self.left_at = total_s, monotonic()
        self.live.start()

    def step(self, step: Step, number: int) -> None:
        super().step(step, number)
        self.text = f"{number}  {step}"
        self.rates.clear()
        self.p99s_ns.clear()
        self._draw(None, None, warmup=False)

    def progress(
        self, progress: Progress, interval: Interval | None, done: float | None
    ) -> None:
        if interval:
            self.rates.append(_rate(interval))
            self.p99s_ns.append(interval.p99_ns or 0.0)
        self._draw(interval, done, progress.warmup)

    def purged(self, done: float) -> None:
        self.live.update(Group(Text(f"{self.text}  {done:.1%}"), self._bar(done)))

    def eta(self, left_s: float) -> None:
        super().eta(left_s)
        self.left_at = monotonic()

    def _draw(
        self, interval: Interval | None, done: float | None, warmup: bool
    ) -> None:
        rows: list[RenderableType] = [self._line(interval, warmup), self._bar(done)]
        if len(self.rates) >= LEAST_DRAWN:
            rows.insert(1, self._sparklines())
        self.live.update(Group(*rows))

    def _sparklines(self) -> Text:
        """The last intervals of the run, a character each, the newest at the right.

        Each of the two is drawn from 0 to its largest, in half of the columns.
        """
        width = (self.live.console.width - len("".join(LABELS))) // 2
        row = Text(no_wrap=True)
        for label, values in zip(LABELS, (self.rates, self.p99s_ns), strict=True):
            last = list(islice(values, max(0, len(values) - max(1, width)), None))
            row.append(label, "dim").append(bars(last))
        return row

    def _line(self, interval: Interval | None, warmup: bool) -> Text:
        if interval is None:
            return Text(f"{self.text}{'  warming up' if warmup else ''}")
        bandwidth = moved(interval.bytes) / (interval.length_s or 1.0)
        figures = (
            f"  {iops_text(_rate(interval))} IOPS  {bandwidth_text(bandwidth)} MB/s"
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

    def session_finished(self, status: str, verdict: str) -> None:
        super().session_finished(status, verdict)
        self.live.stop()


def _rate(interval: Interval) -> float:
    return moved(interval.ios) / (interval.length_s or 1.0)


def live_lines(out: LineOutput) -> LiveLines | None:
    """None where it is no terminal of rich's."""
    return LiveLines(out) if isinstance(out, Terminal) else None


@contextmanager
def progress_bar(
    text: str, total: float, console: Console | None = None
) -> Iterator[Callable[[float], None]]:
    """A bar that is gone at the end; what is yielded takes how much is done."""
    console = console or Terminal(stderr=True)
    with Bar(console=console, transient=True) as progress:
        task = progress.add_task(text, total=total)
        yield lambda done: progress.update(task, completed=done)
