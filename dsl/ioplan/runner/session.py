"""Steps -> records: dispatches one step after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from ioplan.job import Job
from ioplan.language.plan import PurgeStep, RestStep, Test, WriteStep
from ioplan.measure.metrics import Sample
from ioplan.measure.steady_state import SteadyWatch, steady_watch
from ioplan.planner.estimate import Estimator
from ioplan.planner.jobs import run_job, write_job
from ioplan.planner.steps import Idle, Prepare, RoundsOf, Run, SingleStep, Step
from ioplan.planner.unfold import unfold
from ioplan.records.record import RunDetail, RunRecord, Verdict
from ioplan.records.session import EventKind, SessionEvent, SessionStatus
from ioplan.runner.context import SessionContext
from ioplan.runner.execute.execute import RunOutcome, execute, format_error, now
from ioplan.runner.execute.interrupt import CRITICAL, IDLE, Interrupt
from ioplan.runner.execute.progress import ProgressReporter
from ioplan.runner.execute.watchdog import STUCK
from ioplan.runner.expectations import ExpectationTracker
from ioplan.runner.preparation import PreparationQueue
from ioplan.runner.recorder import Recorder
from ioplan.runner.rounds import RoundTracker
from ioplan.runner.state_ledger import StateLedger
from ioplan.store.errors import ReserveUsedError, StoreError
from ioplan.telemetry.instruments import Instruments

Waited = TypeVar("Waited")


class RunFailed(Exception):
    """A run failed; what there is of it is stored."""


class StuckRun(RunFailed):
    """Something that cannot be ended still holds the target."""


class PreparationFailed(RunFailed):
    """A state was not reached, so nothing can be measured in it."""


@dataclass
class Tally:
    """How the session went."""

    runs: int = 0
    kept: int = 0
    failures: list[str] = field(default_factory=list)
    outcomes: dict[str, int] = field(default_factory=dict)
    interrupted: bool = False

    def count(self, verdicts: Iterable[Verdict]) -> None:
        """Add verdicts."""
        for verdict in verdicts:
            self.outcomes[verdict.outcome] = self.outcomes.get(verdict.outcome, 0) + 1

    @property
    def failure(self) -> str:
        """What failed first, and how much after it; empty if nothing did."""
        if not self.failures:
            return ""
        more = len(self.failures) - 1
        return self.failures[0] + (f" (and {more} more failed)" if more else "")

    @property
    def status(self) -> SessionStatus:
        """How the session ended."""
        if self.interrupted:
            return "interrupted"
        return "failed" if self.failures else "ok"


class Runner:
    """Runs a plan on an open drive, but for what is done already."""

    def __init__(self, context: SessionContext) -> None:
        self.context = context
        self.drive, self.observer = context.drive, context.observer
        self.recorder = Recorder(context)
        self.estimator = Estimator(context.drive.facts.capacity_bytes)
        self.interrupt = Interrupt()
        self.tally = Tally()
        self.number = 0
        self.left_s = 0.0
        self.tracking: RoundTracker | None = None
        self.expecting: ExpectationTracker | None = None
        self.preparing = PreparationQueue()
        self.given_up: Test | None = None

    @cached_property
    def ledger(self) -> StateLedger:
        """What is known of the target's state; the session is in the store by then."""
        setting = self.context
        return StateLedger(setting.store, setting.drive.facts, setting.session.id)

    @cached_property
    def instruments(self) -> Instruments | None:
        """What watches the machine; there is none in virtual time."""
        setting = self.context
        if setting.backend.virtual_time:
            return None
        return Instruments(setting.drive.facts, setting.meter)

    def run(self) -> Tally:
        """All of the plan. What is finished is stored, however this ends."""
        self.left_s = self.estimator.total(unfold(self.context.plan)).run_s
        with self.interrupt:
            self.context.store.begin(self.context.session)
            try:
                self.observer.session_started(self.context.session, self.left_s)
                self._tell_host()
                if self.ledger.why:
                    self.note("state", self.ledger.why)
                self._tests(unfold(self.context.plan))
            except KeyboardInterrupt:
                self.tally.interrupted = True
            except (RunFailed, StoreError) as error:
                self.tally.failures.append(str(error))
            except BaseException as error:
                self.tally.failures.append(f"{type(error).__name__}: {error}")
                raise
            finally:
                self._finish()
        return self.tally

    def _tell_host(self) -> None:
        """Once a session, what distorts and what nothing here can measure."""
        host = self.context.session.host
        for text in host.get("warnings", ()):
            self.observer.note(f"warning: {text}")
        if absent := host.get("not_measured"):
            self.observer.note(f"not measured: {', '.join(absent)}")

    def _finish(self) -> None:
        """Write down how the session ended, even in a store that has failed."""
        with self.interrupt.tolerating(CRITICAL):
            try:
                ended, id = now(), self.context.session.id
                self.context.store.finish(id, self.tally.status, ended)
                for text in self.tally.failures:
                    event = SessionEvent(at=ended, kind="failed", text=text)
                    self.context.store.add_event(id, event)
            except StoreError as error:
                self.tally.failures = self.tally.failures or [str(error)]
            self.observer.session_finished(self.tally.status)

    def note(self, kind: EventKind, text: str) -> None:
        """Tell something, and write it down."""
        self.observer.note(text)
        event = SessionEvent(at=now(), kind=kind, text=text)
        with self.interrupt.tolerating(CRITICAL):
            self.context.store.add_event(self.context.session.id, event)

    def _tests(self, steps: Iterable[Step]) -> None:
        for step in steps:
            if self.expecting is None or self.expecting.test is not step.test:
                self._close_test()
                self.expecting = ExpectationTracker(step.test, self.context.baseline)
            if step.test is not self.given_up:
                self._attempt(step)
        self._close_test()
        for rest in self.preparing.rests():
            self._do(rest)

    def _close_test(self) -> None:
        """Judge what can only be judged when the test is over."""
        if self.expecting is None:
            return
        session = self.context.session.id
        for record, verdicts in self.expecting.final_verdicts():
            with self.interrupt.tolerating(CRITICAL):
                self.context.store.add_verdicts(session, record.seq, verdicts)
            self._tell(record, verdicts)

    def _attempt(self, step: Step) -> None:
        """A step; where the plan goes on after failures, one may fail."""
        try:
            self._step(step)
        except StuckRun:
            raise
        except RunFailed as error:
            if self.context.on_failure == "stop":
                raise
            self.tally.failures.append(str(error))
            if isinstance(error, PreparationFailed):
                self.given_up = step.test
                self.observer.note(f"{step.test.title}: given up: {error}")

    def _step(self, step: Step) -> None:
        self.interrupt.check()
        if isinstance(step, RoundsOf):
            self._rounds(step)
        elif isinstance(step, Run):
            self._run(step)
        else:
            self.preparing.enqueue(step)

    def _do(self, step: Prepare | Idle) -> None:
        """What comes before a run."""
        self._begin(step)
        if isinstance(step, Idle):
            self._rest(step.pause_ns)
        else:
            self._prepare(step)
        self._end(step)

    def _begin(self, step: SingleStep) -> None:
        self.interrupt.check()
        self.number += 1
        self.observer.step(step, self.number)

    def _end(self, step: Step) -> None:
        self.interrupt.check()
        self._pass(self.estimator.cost(step).run_s)

    def _pass(self, estimated_s: float) -> None:
        """Some of the plan is behind us."""
        self.left_s = max(0.0, self.left_s - estimated_s)
        self.observer.eta(self.left_s)

    # rounds

    def _rounds(self, step: RoundsOf) -> None:
        self.tracking = RoundTracker(step.rounds)
        most = step.rounds.at_most
        for number in range(1, most + 1):
            for inner in step.round(number):
                if step.test is not self.given_up:
                    self._attempt(inner)
            steady = self.tracking.assessment()
            self.observer.steady(steady, number)
            if steady.reached or step.test is self.given_up:
                again = self.estimator.total(step.round(number + 1))
                self._pass(again.run_s * (most - number))
                break
        else:
            self.observer.note(f"not steady after {most} rounds: {steady.why}")
        self.tracking = None

    # single steps

    def only(self, run: Run) -> tuple[RunRecord, RunDetail]:
        """One run by itself, stored and judged by nobody. Raises RunFailed."""
        record, done = self._measure(run)
        self._keep(record, done)
        return record, done.detail

    def _run(self, run: Run) -> None:
        if before := self.context.finished_runs.take(run):
            self._keep_from_before(run, before)
            return
        self._make_ready(run)
        self._begin(run)
        if run.writes:
            self._writing()
        try:
            self._store(run, *self._measure(run))
        except RunFailed:
            if self.tracking:
                self.tracking.add_failure(run)
            raise
        finally:
            self.preparing.completed(run)
        self._end(run)

    def _store(self, run: Run, record: RunRecord, done: RunOutcome) -> None:
        if done.status == "ok":
            record = self._judged(run, record, done.detail)
        self._keep(record, done)

    def _keep_from_before(self, run: Run, record: RunRecord) -> None:
        """A run that this session has finished earlier counts as if done now."""
        session = self.context.session.id
        known = record.verdicts
        if self.tracking or run.test.expectations:
            detail = self.context.store.detail(session, record.seq)
            record = self._judged(run, record, detail)
        if set(record.verdicts) - set(known):
            with self.interrupt.tolerating(CRITICAL):
                self.context.store.add_verdicts(session, record.seq, record.verdicts)
        self.number += 1
        self.tally.kept += 1
        self.tally.count(record.verdicts)
        self.observer.reused(record)
        self._skip(self.preparing.pending)
        self.preparing.completed(run)
        self._end(run)

    def _make_ready(self, run: Run) -> None:
        """Do what the plan has before a run, and what it relies on."""
        due = self.preparing.pending_for(run, self.ledger.state)
        doing = {id(step) for step in due}
        asked = {id(step) for step in self.preparing.pending}
        self._skip(s for s in self.preparing.pending if id(s) not in doing)
        for step in due:
            if id(step) not in asked:
                self._pass(-self.estimator.cost(step).run_s)  # it is done once more
            self._do(step)

    def _skip(self, steps: Iterable[Step]) -> None:
        for step in steps:
            self._pass(self.estimator.cost(step).run_s)

    def _writing(self) -> None:
        with self.interrupt.tolerating(CRITICAL):
            self.ledger.invalidate()

    def _measure(self, run: Run) -> tuple[RunRecord, RunOutcome]:
        job = run_job(run, self.drive.facts, read_only=not self.context.writes)
        judge = steady_watch(run.template.rule, run.every_ns, job, self.observer.steady)
        show = ProgressReporter(job, self.observer, judge)
        done = self._execute(job, show)
        record = self.recorder.record(run, run.workload, job, done)
        return self._steady(record, judge, run.test.title), done

    def _execute(self, job: Job, show: ProgressReporter) -> RunOutcome:
        limits, instruments = self.context.limits, self.instruments
        return execute(self.drive, job, self.interrupt, show, limits, instruments)

    def _judged(self, run: Run, record: RunRecord, detail: RunDetail) -> RunRecord:
        """The record with its place in the rounds and its verdicts."""
        assert self.expecting
        sample = Sample(record, detail)
        steady = self.tracking.add(run, sample) if self.tracking else record.steady
        verdicts = self.expecting.add(run, record, detail)
        return record.model_copy(update={"steady": steady, "verdicts": verdicts})

    def prepare(self, prepare: Prepare) -> None:
        """One step of a precondition. Raises RunFailed."""
        step = prepare.step
        if isinstance(step, PurgeStep):
            how = self._wait(lambda: self.drive.purge(self.observer.purged))
            self.note("purged", f"purge: {how}")
        elif isinstance(step, RestStep):
            self._rest(step.pause_ns)
        else:
            self._write(prepare, step)

    def _prepare(self, prepare: Prepare) -> None:
        """One step of a precondition, and the state that it leads to."""
        if not isinstance(prepare.step, RestStep):
            self._writing()
        try:
            self.prepare(prepare)
        except StuckRun:
            raise
        except RunFailed as error:
            raise PreparationFailed(str(error)) from error
        self.interrupt.check()
        with self.interrupt.tolerating(CRITICAL):
            path = self.preparing.state_path_to(prepare)
            self.ledger.reached(path, prepare.state.name)

    def _rest(self, pause_ns: int) -> None:
        self._wait(lambda: self.drive.idle(pause_ns))

    def _wait(self, wait: Callable[[], Waited]) -> Waited:
        """What a drive does without I/O of ours; a signal breaks it off."""
        with self.interrupt.tolerating(IDLE):
            try:
                return wait()
            except Exception as error:  # a stranger's code: anything may come
                raise RunFailed(format_error(error)) from error

    def _write(self, prepare: Prepare, step: WriteStep) -> None:
        job = write_job(step, self.drive.facts)
        judge = steady_watch(step.rule, step.every_ns, job, self.observer.steady)
        show = ProgressReporter(job, self.observer, judge)
        done = self._execute(job, show)
        record = self.recorder.record(prepare, step.workload, job, done)
        self._keep(self._steady(record, judge, prepare.state.name), done)

    def _steady(
        self, record: RunRecord, judge: SteadyWatch | None, name: str
    ) -> RunRecord:
        """The record with how steady it became, where it went on until then."""
        if judge is None:
            return record
        if record.status == "ok" and not judge.last.reached:
            self.observer.note(f"{name}: not steady: {judge.last.why}")
        return record.model_copy(update={"steady": judge.last})

    # results

    def _keep(self, record: RunRecord, done: RunOutcome) -> None:
        """Durable before anything else happens."""
        with self.interrupt.tolerating(CRITICAL):
            try:
                self.context.store.add(record, done.detail)
            except ReserveUsedError:
                self.tally.runs += 1  # this one is stored; the session ends
                raise
        self.tally.runs += 1
        self.observer.record(record)
        self._tell(record, record.verdicts)
        if record.status == "failed":
            kind = StuckRun if record.cause == STUCK else RunFailed
            raise kind(f"{record.asked.test}: {record.message}")

    def _tell(self, record: RunRecord, verdicts: tuple[Verdict, ...]) -> None:
        self.tally.count(verdicts)
        for verdict in verdicts:
            self.observer.verdict(record, verdict)
