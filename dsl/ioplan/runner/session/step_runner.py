"""One step of a plan on an open drive, and the record that it leaves in the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import TypeVar

from msgspec.structs import replace

from ioplan.backends.backend import OpeningDrive, TargetFacts
from ioplan.core.error_kinds import Cause
from ioplan.job import Job, Progress, Wear
from ioplan.language.plan import PurgeStep, RestStep, SteadyRule, WriteStep
from ioplan.planner.jobs import pass_bytes, run_job, write_job
from ioplan.planner.steps import Prepare, Run
from ioplan.records.record import RunDetail, RunRecord, Verdict
from ioplan.records.seek import Probed
from ioplan.records.session import EventKind, SessionEvent
from ioplan.results.measure.metrics import Sample
from ioplan.results.measure.steady_state import Every, SteadyWatch, Windows
from ioplan.results.measure.wear import StatedSpare
from ioplan.runner.events.lab_events import NO_EVENTS, LabEvents, Timed
from ioplan.runner.events.power_cut import PowerCut
from ioplan.runner.execute.execute import RunOutcome, execute, format_error, now
from ioplan.runner.execute.interrupt import CRITICAL, IDLE, Interrupt
from ioplan.runner.execute.observer import ProgressReporter, RunWatch
from ioplan.runner.execute.other_use import other_use
from ioplan.runner.execute.outcome import (
    UNUSABLE,
    PreparationFailed,
    RunFailed,
    SessionOutcome,
    TargetUnusable,
)
from ioplan.runner.guard.errors import os_reason
from ioplan.runner.seek.decision_watch import DecisionWatch
from ioplan.runner.session.budget import Budget
from ioplan.runner.session.context import SessionContext
from ioplan.runner.session.recorder import Recorder, without_failed_ios
from ioplan.runner.session.stated_spare import stated_spare
from ioplan.runner.state.account_keeper import AccountKeeper
from ioplan.runner.state.stamps import StampFile
from ioplan.runner.state.state_ledger import known_account
from ioplan.runner.telemetry.instruments import Instruments

Result = TypeVar("Result")


def keeper_of(context: SessionContext) -> AccountKeeper:
    """Of the target of a session, with what is known of it as it begins."""
    facts = context.drive.facts
    noun = "file" if facts.kind == "file" else "drive"
    return AccountKeeper(known_account(context.store, facts), noun)


class StepRunner:
    """Does steps one at a time. Between two of them `drive` may be another one."""

    def __init__(
        self,
        context: SessionContext,
        interrupt: Interrupt | None = None,
        outcome: SessionOutcome | None = None,
    ) -> None:
        self.context = context
        self.drive, self.observer = context.drive, context.observer
        self.interrupt = interrupt or Interrupt()
        self.outcome = outcome or SessionOutcome()
        self.keeper = keeper_of(context)
        self.recorder = Recorder(context, self.keeper)
        self.interval_ns = context.session.request.interval_ns
        self.stamps = StampFile(context.drive.facts)
        self.budget: Budget | None = None

    @cached_property
    def instruments(self) -> Instruments | None:
        """What is read of the machine; nothing in virtual time."""
        if self.context.backend.virtual_time:
            return None
        return Instruments(self.context.drive.facts, self.context.meter)

    # runs

    def run(self, run: Run) -> tuple[RunRecord, RunDetail]:
        """A run by itself, stored, but not judged. Raises RunFailed."""
        record, outcome = self.measure(run)
        self.store(record, outcome.detail)
        return record, outcome.detail

    def measure(self, run: Run) -> tuple[RunRecord, RunOutcome]:
        """A run and its record, which is not stored yet."""
        read_only = not self.context.summary.writes
        job = run_job(run, self.drive.facts, read_only, self.interval_ns)
        every: Every | None = (run.every_ns, "ns") if run.every_ns else None
        watch = self._steady_watch(run.template.rule, every, job)
        events = LabEvents.of(run, self.context.events, self.recorder.seq)
        if run.cut_ns:
            return self._cut(run, job, watch, events)
        job, outcome = self._execute(job, watch, events)
        record = self.recorder.record(run, run.workload, job, outcome, events.made)
        return self._with_steady(record, watch, run.test.title), outcome

    def repeat(self, run: Run) -> None:
        """A run for the state that it leaves alone. Raises PreparationFailed."""
        read_only = not self.context.summary.writes
        job = run_job(run, self.drive.facts, read_only, self.interval_ns)
        every: Every | None = (run.every_ns, "ns") if run.every_ns else None
        steady = self._steady_watch(run.template.rule, every, job)
        _, outcome = self._execute(
            job, DecisionWatch(run, job) if run.probing else steady
        )
        if outcome.status == "failed":
            error = TargetUnusable if outcome.cause in UNUSABLE else PreparationFailed
            raise error(f"{run.test.title}: {outcome.message}", outcome.cause)

    def _cut(
        self, run: Run, job: Job, watch: RunWatch | None, events: LabEvents
    ) -> tuple[RunRecord, RunOutcome]:
        """A run with a power cut; afterwards the target is there again, opened anew."""
        supply = self.context.power
        assert supply and run.cut_ns
        cut = PowerCut.drawn(supply, run.cut_ns, run.run_id, self.recorder.seq)
        facts, lost = self.drive.facts, None
        try:
            job, outcome = self._execute(job, watch, events, cut)
        finally:
            cut.end()
            if cut.cut_s:
                noted = self._cut_noted()
                lost = self._power_back(cut, facts) or noted
        outcome = cut.judged(outcome, lost)
        record = self.recorder.record(
            run, run.workload, job, outcome, events.made, power_cut=cut.made
        )
        if cut.cut_s:
            record = without_failed_ios(record)
        if lost:
            with suppress(RunFailed):
                self.store(record, outcome.detail)
            raise lost
        return record, outcome

    def _cut_noted(self) -> TargetUnusable | None:
        """Note the cut in the journal; the error, after which nothing can be judged."""
        try:
            self.stamps.power_was_cut()
        except OSError as error:
            text = f"the cut cannot be noted in {self.stamps.path}: {os_reason(error)}"
            text += "; without it, verify would blame the target for what a cut may do"
            return TargetUnusable(text, Cause.BACKEND_ERROR)
        return None

    def _power_back(self, cut: PowerCut, facts: TargetFacts) -> TargetUnusable | None:
        """Open what comes back; the error where this is not the target."""
        try:
            self.drive = cut.back(facts, self.drive)
        except TargetUnusable as error:
            return error
        return None

    def probe(self, run: Run, probed: Probed) -> tuple[RunRecord, RunOutcome]:
        """A run of a seek, which ends once it is decided, and its record."""
        read_only = not self.context.summary.writes
        job = run_job(run, self.drive.facts, read_only, self.interval_ns)
        watch = DecisionWatch(run, job)
        events = LabEvents.of(run, self.context.events, self.recorder.seq)
        job, outcome = self._execute(job, watch, events)
        record = self.recorder.record(run, run.workload, job, outcome, events.made)
        if record.status == "ok":
            probed = watch.decided(probed, Sample(record, outcome.detail))
        asked = record.asked.model_copy(update={"kind": "probe", "seek": probed})
        return record.model_copy(update={"asked": asked}), outcome

    def _execute(
        self,
        job: Job,
        watch: RunWatch | None,
        events: LabEvents = NO_EVENTS,
        *others: Timed,
    ) -> tuple[Job, RunOutcome]:
        """The run, and the job as placed; its first I/O begins the others."""
        self._check_use()
        try:
            self.stamps.before(job, self.drive)
        except OSError as error:
            text = f"{self.stamps.path}: {error.strerror}"
            raise RunFailed(text, Cause.BACKEND_ERROR) from error

        def begun() -> None:
            if isinstance(self.drive, OpeningDrive):
                self.drive.ignore_openings()
            events.begin()
            for one in others:
                one.begin()

        if self.budget:
            watch = self.budget.watch(watch)
        self.keeper.begin(job)
        reporter = ProgressReporter(job, self.observer, watch, self.keeper.add)
        limits, instruments = self.context.limits, self.instruments
        with (
            self._made_to_the_end(events),
            self.context.placement.placed(job) as (placed, warnings),
        ):
            outcome = execute(
                *(self.drive, placed, self.interrupt, reporter, limits, instruments),
                begun=begun,
            )
        self.keeper.end(outcome.measurement)
        outcome = replace(outcome, warnings=(*outcome.warnings, *warnings))
        if self.budget:
            outcome = self.budget.judged(outcome)
        return placed, events.judged(self._if_not_taken(outcome))

    @contextmanager
    def _made_to_the_end(self, events: LabEvents) -> Iterator[None]:
        """Whatever happens, what an event has taken away is given back."""
        try:
            yield
        finally:
            with self.interrupt.tolerating(CRITICAL):
                events.end()

    def _check_use(self) -> None:
        """Raises TargetUnusable."""
        if taken := other_use(self.drive):
            raise TargetUnusable(taken.message, taken.cause)

    def _if_not_taken(self, outcome: RunOutcome) -> RunOutcome:
        """A run during which something else began to use the target has failed."""
        if outcome.cause in (Cause.STUCK, Cause.INTERRUPTED):
            return outcome
        if taken := other_use(self.drive):
            change = {"cause": taken.cause, "message": taken.message}
            return replace(outcome, status="failed", **change)
        return outcome

    def _steady_watch(
        self,
        rule: SteadyRule | None,
        every: Every | None,
        job: Job,
        stated: StatedSpare | None = None,
    ) -> SteadyWatch | None:
        """None for a run that goes on for its time, as most do."""
        if not rule or not every:
            return None
        meter = self.instruments.wear_meter() if self.instruments else _told_wear
        account = pass_bytes(job), stated, self.keeper.standing
        windows = Windows(*every, meter)
        return SteadyWatch(rule, windows, self.observer.steady, *account)

    def _with_steady(
        self, record: RunRecord, watch: SteadyWatch | None, name: str
    ) -> RunRecord:
        """The record with the last assessment, if the run was to become steady."""
        if watch is None:
            return record
        if record.status == "ok" and not watch.last.reached:
            self.observer.note(f"{name}: not steady: {watch.last.why}")
        return record.model_copy(update={"steady": watch.last})

    # preparations and rests

    def prepare(self, prepare: Prepare) -> None:
        """One step of a precondition. Raises RunFailed."""
        step = prepare.step
        if isinstance(step, PurgeStep):
            self._check_use()
            self._wait(self.stamps.forget)
            method = self._wait(lambda: self.drive.purge(self.observer.purged))
            self.keeper.purged()
            self.note("purged", f"purge: {method}")
        elif isinstance(step, RestStep):
            self.rest(step.pause_ns)
        else:
            self._write(prepare, step)

    def rest(self, pause_ns: int) -> None:
        """Leave the target alone for a while. Raises RunFailed."""
        self._wait(lambda: self.drive.idle(pause_ns))
        self.keeper.rest(pause_ns)
        if self.budget:
            self.budget.passed(pause_ns)

    def _write(self, prepare: Prepare, step: WriteStep) -> None:
        job = write_job(step, self.drive.facts, self.interval_ns)
        stated = stated_spare(prepare, step)
        watch = self._steady_watch(step.rule, _every(step, job), job, stated)
        job, outcome = self._execute(job, watch)
        record = self.recorder.record(prepare, step.workload, job, outcome)
        judged = self._with_steady(record, watch, prepare.state.name)
        if judged.steady and judged.steady.reached:
            self.keeper.account = self.keeper.account.proven()
        self.store(judged, outcome.detail)

    def _wait(self, work: Callable[[], Result]) -> Result:
        """What a drive does without I/O of ours; the first signal interrupts it."""
        with self.interrupt.tolerating(IDLE):
            try:
                return work()
            except Exception as error:  # a stranger's code: anything may come
                raise RunFailed(format_error(error), Cause.BACKEND_ERROR) from error

    # results

    def store(self, record: RunRecord, detail: RunDetail) -> None:
        """Keep a record, durably before anything else. Raises RunFailed if it is one.

        Where the disk is full, the record is the last one: raises ReserveUsedError.
        """
        with self.interrupt.tolerating(CRITICAL):
            self.context.store.add(record, detail)
        self.observer.record(record)
        self.report(record, record.verdicts)
        if record.status == "failed":
            error = TargetUnusable if record.cause in UNUSABLE else RunFailed
            raise error(f"{record.asked.test}: {record.message}", record.cause)

    def report(self, record: RunRecord, verdicts: tuple[Verdict, ...]) -> None:
        """Show verdicts."""
        for verdict in verdicts:
            self.observer.verdict(record, verdict)

    def note(self, kind: EventKind, text: str) -> None:
        """Show what happened to the session, and store it."""
        self.observer.note(text)
        event = SessionEvent(at=now(), kind=kind, text=text)
        with self.interrupt.tolerating(CRITICAL):
            self.context.store.add_event(self.context.session.id, event)


def _every(step: WriteStep, job: Job) -> Every | None:
    """How often it is judged whether a write is steady."""
    if step.every_percent:
        share_bytes = pass_bytes(job) * step.every_percent / 100
        return max(1, round(share_bytes)), "bytes"
    return (step.every_ns, "ns") if step.every_ns else None


def _told_wear(progress: Progress) -> Wear | None:
    """Of a backend that is the drive itself."""
    return progress.wear
