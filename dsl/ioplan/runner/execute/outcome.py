"""How a session went, and the errors that end it or a part of it."""

from __future__ import annotations

from typing import NamedTuple

from ioplan.core.error_kinds import Cause, ExplainedError
from ioplan.records.session import SessionStatus


class RunFailed(ExplainedError):
    """A run failed; what there is of it is stored. `kind` is its cause."""


class TargetUnusable(RunFailed):
    """Nothing more may be done on the target, whatever the plan says of failures.

    It has been taken by something else, or what cannot be ended still holds it.
    """


UNUSABLE = (Cause.STUCK, Cause.TAKEN)
"""The causes of it."""


class NothingFound(ExplainedError):
    """A run takes a share of what was not found: it is left out, and others go on."""

    kind = Cause.NOTHING_FOUND


class PreparationFailed(RunFailed):
    """A state was not reached, so nothing can be measured in it."""


class SessionFailure(NamedTuple):
    """What failed, by name and in words."""

    kind: str
    text: str


class SessionOutcome:
    """How the session went."""

    def __init__(self) -> None:
        self.reused = 0
        self.failures: list[SessionFailure] = []
        self.skipped: list[str] = []
        self.interrupted = False

    def skip(self, error: NothingFound) -> None:
        """Add a run that is left out: no failure, but the plan is not done whole."""
        self.skipped.append(str(error))

    def fail(self, error: BaseException) -> None:
        """Add a failure; an error that explains nothing is a defect of ioplan."""
        if isinstance(error, ExplainedError):
            self.failures.append(SessionFailure(error.kind, str(error)))
        else:
            text = f"{type(error).__name__}: {error}"
            self.failures.append(SessionFailure(Cause.INTERNAL, text))

    @property
    def failure(self) -> str:
        """What failed first, and how much after it; empty if nothing did."""
        if not self.failures:
            return ""
        more = len(self.failures) - 1
        return self.failures[0].text + (f" (and {more} more failed)" if more else "")

    @property
    def status(self) -> SessionStatus:
        """How the session ended."""
        if self.interrupted:
            return "interrupted"
        return "failed" if self.failures or self.skipped else "ok"
