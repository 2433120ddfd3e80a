"""Keeps the account of a target's state while a session writes to it."""

from __future__ import annotations

from collections import Counter, defaultdict

from ioplan.drive_account import DriveAccount, Moved
from ioplan.drive_needs import Standing, standing
from ioplan.job import SECOND_NS, Job, Progress
from ioplan.job_stream import JobStream
from ioplan.records.record import DriveState
from ioplan.results.measure.measurement import Measurement


class AccountKeeper:
    """The account of one target: as it was before the run, and what that has moved.

    What an interval of a run tells counts at once, the warm-up as well; at its end the
    bytes of its result stand for those of its measured intervals.
    """

    def __init__(self, account: DriveAccount, noun: str = "drive") -> None:
        self.account, self.noun = account, noun
        self.streams: tuple[JobStream, ...] = ()
        self.pause_ns = self.idle_ns = 0
        self.begin_counts()

    def begin(self, job: Job) -> None:
        """A run is about to begin."""
        self.streams = job.streams
        self.idle_ns, self.pause_ns = self.pause_ns, 0
        self.begin_counts()

    def begin_counts(self) -> None:
        """Nothing is moved that is not in the account."""
        self.warmup, self.measured = _no_bytes(), _no_bytes()

    def add(self, progress: Progress) -> None:
        """An interval of the run."""
        into = self.warmup if progress.warmup else self.measured
        for stream in progress.streams:
            for direction, counts in stream.directions.items():
                into[stream.name][direction] += counts.bytes

    @property
    def now(self) -> DriveAccount:
        """The account with what the run has moved so far."""
        account = self.account
        for stream in self.streams:
            if stream.writes:
                account = account.after(stream, self._moved(stream))
        return account

    def _moved(self, stream: JobStream) -> Moved:
        """On each of its targets; those of a stream share all that it moved."""
        bytes = self.warmup[stream.name] + self.measured[stream.name]
        shares = max(1, len(stream.target_numbers))
        return Moved(*(bytes[d] / shares for d in ("read", "write", "trim")))

    def end(self, measurement: Measurement) -> None:
        """The run is over. What it trimmed is unknown where it has no result."""
        if measurement.complete:
            for stream in measurement.streams:
                parts = stream.directions.items()
                self.measured[stream.name] = Counter({d: p.bytes for d, p in parts})
        self.account = self.now
        self.begin_counts()
        trims = any(one.trim_percent for one in self.streams)
        if trims and not measurement.complete:
            self.account = DriveAccount.begun(self.account.capacity_bytes)

    def rest(self, pause_ns: int) -> None:
        """Nothing is done to the target for a while before the next run."""
        self.pause_ns += pause_ns

    def purged(self) -> None:
        """The target holds nothing any more."""
        self.account = DriveAccount.begun(self.account.capacity_bytes, "purge")

    def standing(self, waf: float | None = None, fits: bool = False) -> Standing:
        """The account against what the streams of the run need."""
        counts = (*self.warmup.values(), *self.measured.values())
        shares = max((len(one.target_numbers) for one in self.streams), default=1)
        written = sum(one["write"] for one in counts)
        own = written / max(1, shares) / self.account.capacity_bytes
        return standing(self.now, self.streams, waf, self.noun, fits, own)

    def state(self, waf: float | None = None) -> DriveState:
        """The account as a record has it, when the run is over."""
        drive = self.account.drive
        found = standing(self.account, self.streams, waf, self.noun)
        return DriveState(
            since=self.account.since,
            written_capacities=round(drive.passes, 4),
            random_capacities=round(drive.turns, 4),
            unwritten_percent=round(100 * drive.blank, 3),
            idle_s=self.idle_ns / SECOND_NS,
            evidence=found.evidence,
            lacks=found.lacks,
            limits=found.limits,
        )


def _no_bytes() -> dict[str, Counter[str]]:
    return defaultdict(Counter)
