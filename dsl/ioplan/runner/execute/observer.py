"""What displays learn while a plan runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ioplan.job import Progress
from ioplan.planner.steps import Step
from ioplan.records.record import Interval, RunRecord, Steady, Verdict
from ioplan.records.session import Session


class SessionObserver:
    """Is called with everything, and does nothing; displays override what they show."""

    def session_started(self, session: Session, total_s: float) -> None:
        """The session starts; `total_s` is the estimate for all of it."""

    def note(self, text: str) -> None:
        """Something worth a line."""

    def warned(self, kind: str, text: str, help: str) -> None:
        """A classic lint of the plan, before the first run, and what to write."""

    def step(self, step: Step, number: int) -> None:
        """A step starts, the first with number 1."""

    def progress(
        self, progress: Progress, interval: Interval | None, done: float | None
    ) -> None:
        """An interval has ended; `done` is the fraction of the step, from 0 to 1."""

    def purged(self, done: float) -> None:
        """A purge goes on; `done` is the fraction of it, from 0 to 1."""

    def record(self, record: RunRecord) -> None:
        """A run has ended and is stored."""

    def reused(self, record: RunRecord) -> None:
        """A run is kept: an earlier part of the session has finished it."""

    def steady(self, steady: Steady, round: int) -> None:
        """A round, or a window of a precondition, was judged."""

    def verdict(self, record: RunRecord, verdict: Verdict) -> None:
        """An expectation was judged on the cell that the record belongs to."""

    def eta(self, left_s: float) -> None:
        """The estimate for the rest of the plan has changed."""

    def failed(self, kind: str, text: str) -> None:
        """What failed in the session, by name and in words; called at its end."""

    def session_finished(self, status: str) -> None:
        """The session has ended."""


class Observers(SessionObserver):
    """Several that are called with everything, in their order."""

    def __init__(self, *observers: SessionObserver) -> None:
        self.observers = observers


def _call_each(name: str) -> Callable[..., None]:
    def call(self: Observers, *args: Any, **named: Any) -> None:
        for one in self.observers:
            getattr(one, name)(*args, **named)

    return call


for _name in (one for one in vars(SessionObserver) if not one.startswith("_")):
    setattr(Observers, _name, _call_each(_name))
