"""How much of a run is done, told to whoever watches."""

from __future__ import annotations

from ioplan.job import Job, Progress
from ioplan.results.record import Interval
from ioplan.runner.watcher import Watcher


class Showing:
    """Passes the intervals of one run on, with the share that is done."""

    def __init__(self, job: Job, watcher: Watcher) -> None:
        region = sum(s.region_end_bytes - s.region_start_bytes for s in job.streams)
        self.job, self.watcher = job, watcher
        self.target_bytes = job.limit_bytes or (job.passes or 0) * region
        self.moved_bytes = 0

    def __call__(self, progress: Progress, interval: Interval | None) -> bool:
        """Never ends the run."""
        if interval:
            self.moved_bytes += sum(interval.bytes.values())
        self.watcher.progress(progress, interval, self._share(progress))
        return False

    def _share(self, progress: Progress) -> float:
        """By time or by bytes, whichever is further."""
        if progress.warmup:
            return 0.0
        by_time = progress.t_ns / self.job.run_ns if self.job.run_ns else 0.0
        by_bytes = self.moved_bytes / self.target_bytes if self.target_bytes else 0.0
        return min(1.0, max(by_time, by_bytes))
