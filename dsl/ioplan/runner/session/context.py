"""Everything that a session of runs has in common."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Literal

from msgspec import Struct, field

from ioplan.backends.backend import Backend, Drive
from ioplan.language.lints.lints import Lint
from ioplan.language.plan import CheckedPlan
from ioplan.planner.budget import Share
from ioplan.planner.steps import RoundsOf, Run, SeekOf
from ioplan.planner.summary import PlanSummary
from ioplan.planner.unfolding import unfold
from ioplan.records.host_clock import HostClock
from ioplan.records.record import RunRecord
from ioplan.records.session import Session
from ioplan.results.store.store import Store
from ioplan.runner.events.lab_events import EventCommand
from ioplan.runner.events.power_cut import PowerSupply
from ioplan.runner.execute.observer import SessionObserver
from ioplan.runner.execute.watchdog import Limits
from ioplan.runner.prepare.placement import Placement
from ioplan.runner.session.baseline import BaselineSession

# The finished runs of an interrupted session, which need not be repeated.

Key = tuple[str, int, int, int]


class FinishedRuns:
    """Finished runs, found by what they do. Each can be taken once.

    Names count for nothing, so that a run is found again in an edited plan; among
    runs that do the same, the one of the same test is preferred.
    """

    def __init__(self, records: Iterable[RunRecord] = ()) -> None:
        self.runs: dict[Key, deque[RunRecord]] = defaultdict(deque)
        for one in records:
            if one.status == "ok" and one.asked.kind in ("run", "probe"):
                self.runs[_key(one)].append(one)

    def __len__(self) -> int:
        return sum(map(len, self.runs.values()))

    def take(self, run: Run) -> RunRecord | None:
        """The record of a run, if it was finished before."""
        if not self.runs:
            return None
        number = run.probing.number if run.probing else 0
        found = self.runs.get((run.run_id, run.round, run.iteration, number))
        if not found:
            return None
        same = (one for one in found if one.asked.test == run.test.title)
        record = next(same, found[0])
        found.remove(record)
        return record

    def remaining(self) -> list[RunRecord]:
        """The runs that nothing has taken."""
        return list(chain.from_iterable(self.runs.values()))


def _key(record: RunRecord) -> Key:
    """What a run does, and which time: its places in a plan have the same."""
    asked = record.asked
    number = asked.seek.number if asked.seek else 0
    return record.run_id, asked.round, asked.iteration, number


class PlanChange(Struct, frozen=True):
    """What an edited plan reuses of a session, adds to it and removes from it.

    `records` are all of the session, at the places that the plan has for them, and
    without verdicts, as these were on another plan.
    """

    reused: int
    added: list[Run]
    removed: list[RunRecord]
    records: list[RunRecord]


def plan_change(plan: CheckedPlan, records: list[RunRecord]) -> PlanChange:
    """Compare a plan with records; of its rounds, those that were started.

    What was left out, as it was decided, is not added.
    """
    finished = FinishedRuns(records)
    rounds = max((one.asked.round for one in records), default=0)
    taken, added = dict[int, Run](), []
    runs: dict[Key, list[Run]] = defaultdict(list)
    for run in _runs(plan, max(rounds, 1)):
        runs[run.run_id, run.round, run.iteration, 0].append(run)
        if record := finished.take(run):
            taken[record.seq] = run
        elif not _may_be_left_out(run):
            added.append(run)
    removed = [one for one in finished.remaining() if one.asked.kind == "run"]
    places = {one.seq: taken.get(one.seq) or _same(one, runs) for one in records}
    return PlanChange(len(taken), added, removed, _placed(plan, records, places))


def _same(record: RunRecord, runs: Mapping[Key, list[Run]]) -> Run | None:
    """A run that does what a failed record did."""
    same = [] if record.status == "ok" else runs.get(_key(record), [])
    of_test = (run for run in same if run.test.title == record.asked.test)
    return next(of_test, same[0] if same else None)


def _placed(
    plan: CheckedPlan, records: list[RunRecord], places: Mapping[int, Run | None]
) -> list[RunRecord]:
    """Each record at the place of its run, and what prepared or probed for the runs
    of a test with these."""
    found = [(one, run) for one in records if (run := places[one.seq])]
    titles = {one.asked.test: run.test.title for one, run in found}
    known = {test.title for test in plan.tests}
    states = {
        (test.title, state.name)
        for test in plan.tests
        if test.after
        for state in (test.after.precondition, test.after.then)
        if state
    }
    placed = []
    for record in records:
        title = titles.get(record.asked.test, record.asked.test)
        place: dict[str, object] = {"test": title, "removed": False}
        if run := places[record.seq]:
            place |= {"test": run.test.title, "cell": run.cell_text}
            place |= {"step": run.index, "name": run.template.name}
        elif title not in known or record.asked.kind == "run":
            place = {"removed": True}
        elif record.asked.kind == "prepare" and record.asked.after:
            place["removed"] = (title, record.asked.after.name) not in states
        change = {"asked": record.asked.model_copy(update=place), "verdicts": ()}
        placed.append(record.model_copy(update=change))
    return placed


def _may_be_left_out(run: Run) -> bool:
    """Whether its cell may be decided."""
    return bool(run.round > 1 and run.test.rounds and run.test.rounds.within)


def _runs(plan: CheckedPlan, rounds: int) -> Iterator[Run]:
    for step in unfold(plan):
        if isinstance(step, RoundsOf):
            for number in range(1, min(rounds, step.rounds.at_most) + 1):
                yield from (one for one in step.round(number) if isinstance(one, Run))
        elif isinstance(step, SeekOf):
            yield step.finding
        elif isinstance(step, Run):
            yield step


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
    within_s: float | None = None
    shares: tuple[Share, ...] = ()
