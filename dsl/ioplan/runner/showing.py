"""How much of a run is done, told to whoever watches."""

from __future__ import annotations

from ioplan.job import Job, Progress
from ioplan.results.record import Interval
from ioplan.runner.share import share_done
from ioplan.runner.watcher import Watcher
from ioplan.runner.window import SteadyWatch


class Showing:
    """Passes the intervals of one run on, with the share that is done.

    Where a run goes on until it is steady, `judge` says when.
    """

    def __init__(
        self, job: Job, watcher: Watcher, judge: SteadyWatch | None = None
    ) -> None:
        self.job, self.watcher, self.judge = job, watcher, judge
        self.moved_bytes = 0

    def __call__(self, progress: Progress, interval: Interval | None) -> bool:
        """Whether the run has gone on long enough."""
        if interval:
            self.moved_bytes += sum(interval.bytes.values())
        run_ns = 0 if progress.warmup else progress.t_ns
        share = share_done(self.job, run_ns, self.moved_bytes)
        self.watcher.progress(progress, interval, share)
        return self.judge is not None and self.judge.add(progress)
