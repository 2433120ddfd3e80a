"""How much of a run is done, told to whoever watches."""

from __future__ import annotations

from ioplan.job import Job, Progress
from ioplan.results.record import Interval
from ioplan.runner.share import share_done
from ioplan.runner.watcher import Watcher


class Showing:
    """Passes the intervals of one run on, with the share that is done."""

    def __init__(self, job: Job, watcher: Watcher) -> None:
        self.job, self.watcher = job, watcher
        self.moved_bytes = 0

    def __call__(self, progress: Progress, interval: Interval | None) -> bool:
        """Never ends the run."""
        if interval:
            self.moved_bytes += sum(interval.bytes.values())
        run_ns = 0 if progress.warmup else progress.t_ns
        share = share_done(self.job, run_ns, self.moved_bytes)
        self.watcher.progress(progress, interval, share)
        return False
