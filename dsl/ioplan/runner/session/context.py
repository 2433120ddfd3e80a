"""Everything that a session of runs has in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from msgspec import Struct, field

from ioplan.backends import Backend, Drive
from ioplan.language.lints.lints import Lint
from ioplan.language.plan import CheckedPlan
from ioplan.planner.budget import Share
from ioplan.planner.summary import PlanSummary
from ioplan.records.host_clock import HostClock
from ioplan.records.session import Session
from ioplan.results.store.store import Store
from ioplan.runner.events.lab_events import EventCommand
from ioplan.runner.events.power_cut import PowerSupply
from ioplan.runner.execute.observer import SessionObserver
from ioplan.runner.execute.watchdog import Limits
from ioplan.runner.prepare.placement import Placement
from ioplan.runner.session.baseline import BaselineSession
from ioplan.runner.session.finished_runs import FinishedRuns
from ioplan.target_entry import JournalPlace


def no_clock() -> None:
    """The clock of a host that is in no lab."""


class SessionContext(Struct, frozen=True):
    """What is run, on what, by what, and where the results go.

    If no step of the plan's `summary` writes, all of them open the target for
    reading only. `options` are the backend's own; `meter` is the lab's command for
    power; `placement` says on which CPUs; `lints` are what is told before the first
    run, and in the records; `left_out` are the tests that do not fit, a line each;
    `clock` is this host's against its lab's, as it was measured last. `power` is what
    cuts the target's, where the lab has it; `events` are its commands by their names.
    `journal` is the other host that keeps what `verify` knows, if one does.
    With `within_s` the session ends by then, and `shares` are its tests' parts of it.
    """

    plan: CheckedPlan
    summary: PlanSummary
    backend: Backend
    drive: Drive
    store: Store
    session: Session
    options: dict[str, Any] = {}
    observer: SessionObserver = field(default_factory=SessionObserver)
    baseline: BaselineSession | None = None
    finished_runs: FinishedRuns = field(default_factory=FinishedRuns)
    on_failure: Literal["stop", "continue"] = "stop"
    limits: Limits = field(default_factory=Limits)
    meter: tuple[str, ...] = ()
    placement: Placement = field(default_factory=Placement)
    lints: tuple[Lint, ...] = ()
    left_out: tuple[str, ...] = ()
    clock: Callable[[], HostClock | None] = no_clock
    power: PowerSupply | None = None
    events: Mapping[str, EventCommand] = {}
    journal: JournalPlace | None = None
    within_s: float | None = None
    shares: tuple[Share, ...] = ()
