"""Everything that a session of runs has in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ioplan.backends import Backend, Drive
from ioplan.language.plan import CheckedPlan
from ioplan.records.session import Session
from ioplan.runner.baseline import BaselineSession
from ioplan.runner.execute.watchdog import Limits
from ioplan.runner.finished_runs import FinishedRuns
from ioplan.runner.observer import SessionObserver
from ioplan.store.store import Store


@dataclass(frozen=True)
class SessionContext:
    """What is run, on what, by what, and where the results go.

    `writes` tells whether any step of the plan writes: if none does, the target
    is opened for reading only in all of them. `options` are the backend's own.
    `done` has what an earlier part of the session has finished; `meter` is the
    lab's command for power.
    """

    plan: CheckedPlan
    backend: Backend
    drive: Drive
    store: Store
    session: Session
    writes: bool
    options: dict[str, Any] = field(default_factory=dict)
    observer: SessionObserver = field(default_factory=SessionObserver)
    baseline: BaselineSession | None = None
    finished_runs: FinishedRuns = field(default_factory=FinishedRuns)
    on_failure: Literal["stop", "continue"] = "stop"
    limits: Limits = field(default_factory=Limits)
    meter: tuple[str, ...] = ()
