"""What can be seen while a plan runs."""

from __future__ import annotations

from ioplan.job import Progress
from ioplan.planner.steps import Step
from ioplan.records.record import Interval, RunRecord, Steady, Verdict
from ioplan.records.session import Session


class SessionObserver:
    """Told of everything, does nothing; displays override what they show."""

    def session_started(self, session: Session, total_s: float) -> None:
        """The session begins; `total_s` is the estimate for all of it."""

    def note(self, text: str) -> None:
        """Something worth a line."""

    def step(self, step: Step, number: int) -> None:
        """A step begins, the first with number 1."""

    def progress(
        self, progress: Progress, interval: Interval | None, done: float | None
    ) -> None:
        """An interval has ended; `done` is the share of the step from 0 to 1."""

    def purged(self, done: float) -> None:
        """A purge goes on, and so much of it is done, from 0 to 1."""

    def record(self, record: RunRecord) -> None:
        """A run has ended and is stored."""

    def reused(self, record: RunRecord) -> None:
        """A run was finished by an earlier part of the session."""

    def steady(self, steady: Steady, round: int) -> None:
        """A round, or a window of a precondition, was judged."""

    def verdict(self, record: RunRecord, verdict: Verdict) -> None:
        """An expectation was judged on the cell that the record belongs to."""

    def eta(self, left_s: float) -> None:
        """The estimate for the rest of the plan has changed."""

    def session_finished(self, status: str) -> None:
        """The session has ended."""
