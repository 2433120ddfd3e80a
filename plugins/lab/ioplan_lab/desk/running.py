"""What runs now: the jobs that were started here, as `ioplan status` sees them."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock

from msgspec import Struct

from ioplan.core import ClusterFault
from ioplan.results.store import StoreError, stored_now
from ioplan_lab.cluster.errors import ClusterError
from ioplan_lab.cluster.jobs.executors import Executor
from ioplan_lab.cluster.jobs.job import Job, Jobs
from ioplan_lab.cluster.jobs.lane import LaneCall, LaneState

# Runs of a job that the lab's database does not have yet, as far as is known.


def unstored(job: Job) -> list[LaneCall]:
    """The lanes that have ended, and of which not everything is known to be there."""
    if not job.results:
        return []
    ended = [call for call in job.calls if job.has_ended(call)]
    return [one for one in ended if not job.delivery(one).done]


def undelivered_runs(job: Job) -> dict[str, int]:
    """How many runs of ended lanes are missing, by host; none where all are there."""
    found: dict[str, int] = {}
    for call in unstored(job):
        if missing := _missing(job, call):
            found[call.host] = found.get(call.host, 0) + missing
    return found


def _missing(job: Job, call: LaneCall) -> int:
    known = job.delivery(call)
    return max(job.known[call.session].runs, known.runs) - known.stored


NEWEST = 50
"""Jobs that are looked at; older ones have long ended."""
FRESH_S = 1.0
"""However many people look, the hosts are asked once in that time."""
RETRY_S = 30.0
"""A scheduler or a database that did not answer is asked again after this."""

Connect = Callable[[Job], Executor]


class JobNow(Struct, frozen=True):
    """A job and its lanes; `silent` are hosts of which nothing is heard, `why` is what
    keeps all of them from being asked."""

    job: Job
    states: tuple[LaneState, ...]
    silent: tuple[str, ...] = ()
    why: str = ""

    @property
    def ended(self) -> bool:
        """Whether all lanes have."""
        return all(state.ended for state in self.states)

    @property
    def undelivered(self) -> dict[str, int]:
        """Runs of ended lanes that the lab's database does not have yet, by host."""
        return undelivered_runs(self.job)

    @property
    def by_status(self) -> dict[str, list[LaneState]]:
        """The lanes of each status."""
        found: dict[str, list[LaneState]] = {}
        for state in self.states:
            found.setdefault(state.status, []).append(state)
        return found

    @property
    def done(self) -> float:
        """The fraction of all lanes' work, from 0 to 1."""
        return sum(1.0 if one.ended else one.done for one in self.states) / max(
            1, len(self.states)
        )


class Running:
    """Methods block: they ask hosts. One thread at a time does; others meanwhile get
    what was seen last."""

    def __init__(self, store: Path, connect: Connect) -> None:
        self.jobs = Jobs(store)
        self._connect = connect
        self._executors: dict[str | None, Executor] = {}
        self._ended: dict[str, JobNow] = {}
        self._failed: dict[str | None, tuple[float, str]] = {}
        self._away_s = -RETRY_S
        self._seen: tuple[float, list[JobNow]] | None = None
        self._lock = Lock()

    def now(self) -> list[JobNow]:
        """The newest jobs, the newest first."""
        if not self._lock.acquire(blocking=self._seen is None):
            return self._seen[1] if self._seen else []
        try:
            if self._seen is None or time.monotonic() - self._seen[0] >= FRESH_S:
                ids = self.jobs.ids()[:NEWEST]
                found = [one for one in map(self._look, ids) if one]
                self._seen = (time.monotonic(), found)
            return self._seen[1]
        finally:
            self._lock.release()

    def job(self, key: str) -> Job:
        """A job by its id. Raises StoreError."""
        return self.jobs.job(key)

    def sessions(self, key: str) -> list[str]:
        """The sessions of a job's lanes. Raises StoreError."""
        return [call.session for call in self.job(key).calls]

    def _look(self, id: str) -> JobNow | None:
        if id in self._ended:
            return self._ended[id]
        try:
            found = self._asked(self.jobs.job(id))
        except (StoreError, OSError):  # removed meanwhile, or another's
            return None
        if found.ended and not found.undelivered:
            self._ended[id] = found
        return found

    def _asked(self, job: Job) -> JobNow:
        """The job now; lanes of hosts that do not answer are as they were seen last."""
        silent_s: dict[str, float | None] = {}
        why = ""
        if job.unfinished:
            try:
                executor = self._executor(job)
                job.known.update(executor.states(job.unfinished))
                silent_s = executor.silent(job.unfinished)
            except (ClusterError, ModuleNotFoundError) as error:
                self._failed[job.scheduler] = (time.monotonic(), str(error))
                silent_s = {call.host: None for call in job.unfinished}
                why = str(error)
        self._count_stored(job)
        return JobNow(job, tuple(job.states(silent_s)), tuple(silent_s), why)

    def _count_stored(self, job: Job) -> None:
        """In the database; one that does not answer is asked again later."""
        runs = {call.session: job.known[call.session].runs for call in unstored(job)}
        if not runs or not job.results or time.monotonic() - self._away_s < RETRY_S:
            return
        found = stored_now(job.results, runs, runs)
        job.deliveries.update(found)
        if any(one.error for one in found.values()):
            self._away_s = time.monotonic()

    def _executor(self, job: Job) -> Executor:
        """Raises ClusterError, at once where it was so a short time ago."""
        at_s, why = self._failed.get(job.scheduler, (-RETRY_S, ""))
        if time.monotonic() - at_s < RETRY_S:
            raise ClusterError(why, ClusterFault.SCHEDULER_UNREACHABLE)
        if job.scheduler not in self._executors:
            self._executors[job.scheduler] = self._connect(job)
        return self._executors[job.scheduler]

    def close(self) -> None:
        """Disconnect; the lanes go on."""
        with self._lock:
            for executor in self._executors.values():
                with suppress(ClusterError, OSError):
                    executor.close()
            self._executors.clear()
