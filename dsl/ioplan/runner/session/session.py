"""A session: the steps of a plan in order, what is judged of them, and how it ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property

from ioplan.core.text import counted
from ioplan.language.plan import RestStep, Test
from ioplan.planner.budget import share_lines
from ioplan.planner.estimate import Estimator
from ioplan.planner.steps import (
    Idle,
    Prepare,
    RoundsOf,
    Run,
    SeekOf,
    SingleStep,
    Step,
)
from ioplan.planner.unfolding import unfold
from ioplan.records.record import RunDetail, RunRecord
from ioplan.records.seek import Probed
from ioplan.records.session import SessionEvent
from ioplan.records.setup import prepared_texts
from ioplan.results.store.errors import StoreError
from ioplan.results.store.sessions import SessionVerdict
from ioplan.runner.execute.execute import RunOutcome, now
from ioplan.runner.execute.interrupt import CRITICAL, Interrupt
from ioplan.runner.execute.outcome import (
    NothingFound,
    PreparationFailed,
    RunFailed,
    SessionOutcome,
    TargetUnusable,
)
from ioplan.runner.prepare.preparation import PreparationQueue
from ioplan.runner.seek import cell_seek
from ioplan.runner.seek.cell_seek import FoundValues
from ioplan.runner.session import rounds
from ioplan.runner.session.budget import TIME_IS_UP, Budget
from ioplan.runner.session.context import SessionContext
from ioplan.runner.session.expectations import ExpectationTracker
from ioplan.runner.session.missed import missed
from ioplan.runner.session.step_runner import StepRunner
from ioplan.runner.state.state_ledger import StateLedger


class SessionRunner:
    """Runs a plan on an open drive, except for what is finished already."""

    def __init__(self, context: SessionContext) -> None:
        self.context, self.observer = context, context.observer
        self.interrupt, self.outcome = Interrupt(), SessionOutcome()
        self.step_runner = StepRunner(context, self.interrupt, self.outcome)
        self.estimator = Estimator(context.drive.facts.capacity_bytes)
        self.budget = self.step_runner.budget = self._budget()
        self.step_number = 0
        self.left_s = 0.0
        self.rounds: rounds.RoundTracker | None = None
        self.expectations: ExpectationTracker | None = None
        self.preparation = PreparationQueue(whole=context.backend.virtual_time)
        self.abandoned: Test | None = None
        self.neighbours: cell_seek.Neighbours | None = None
        self.found = FoundValues()

    def _budget(self) -> Budget | None:
        context = self.context
        if context.within_s is None:
            return None
        of_session = self.interrupt, self.estimator, context.backend.virtual_time
        return Budget(context.within_s, context.shares, *of_session)

    @cached_property
    def ledger(self) -> StateLedger:
        """What is known of the target's state; the session is in the store by then."""
        context = self.context
        return StateLedger(context.store, context.drive.facts, context.session.id)

    def run(self) -> SessionOutcome:
        """All of the plan. What is finished is stored, however this ends."""
        self.left_s = self.estimator.total_of(self.context.summary.steps).run_s
        with self.interrupt:
            self.context.store.begin(self.context.session)
            try:
                total_s = min(self.left_s, self.context.within_s or self.left_s)
                self.observer.session_started(self.context.session, total_s)
                self._report_host()
                self._report_mistakes()
                for text in self.context.left_out:
                    self.step_runner.note("left-out", f"skipped: {text}")
                if self.ledger.why:
                    self.step_runner.note("state", self.ledger.why)
                if within_s := self.context.within_s:
                    for text in share_lines(self.context.shares, within_s):
                        self.step_runner.note("within", text)
                self._run_tests(unfold(self.context.plan))
            except KeyboardInterrupt:
                self.outcome.interrupted = True
                self._note_time()
            except (RunFailed, StoreError) as error:
                self.outcome.fail(error)
            except BaseException as error:
                self.outcome.fail(error)
                raise
            finally:
                self._finish()
        return self.outcome

    def _note_time(self) -> None:
        """Say it where not the user has ended the session, but its time."""
        if self.interrupt.why == TIME_IS_UP:
            self.step_runner.note("within", TIME_IS_UP)

    def _report_host(self) -> None:
        """Once a session, what distorts figures and what nothing here can measure."""
        host = self.context.session.host
        for text in prepared_texts(host):
            self.observer.note(f"prepared: {text}")
        for text in host.get("warnings", ()):
            self.observer.note(f"warning: {text}")
        if unavailable := host.get("not_measured"):
            self.observer.note(f"not measured: {', '.join(unavailable)}")

    def _report_mistakes(self) -> None:
        """Each once, however many runs it is of."""
        found = {one.text: one for one in self.context.lints}
        for one in found.values():
            self.observer.warned(one.kind, one.text, one.help)

    def _finish(self) -> None:
        """Store how the session ended, if the store still works, and report it."""
        verdict = "none"
        with self.interrupt.tolerating(CRITICAL):
            try:
                if self.ledger.cleared:
                    self.ledger.keep(self.step_runner.keeper.account)
                verdict = self._store_end()
            except StoreError as error:
                if not self.outcome.failures:
                    self.outcome.fail(error)
            for failure in self.outcome.failures:
                self.observer.failed(failure.kind, failure.text)
            self.observer.session_finished(self.outcome.status, verdict)

    def _store_end(self) -> SessionVerdict:
        store, id, ended_at = self.context.store, self.context.session.id, now()
        unmet = sum(one.counts for one in missed(self.context.plan, store.records(id)))
        store.finish(id, self.outcome.status, ended_at, unmet)
        for failure in self.outcome.failures:
            event = SessionEvent(at=ended_at, kind="failed", text=failure.text)
            store.add_event(id, event)
        return store.verdict(id)

    # tests

    def _run_tests(self, steps: Iterable[Step]) -> None:
        for step in steps:
            if self.expectations is None or self.expectations.test is not step.test:
                self._finish_test()
                self.expectations = ExpectationTracker(step.test, self.context.baseline)
                if self.budget:
                    self.budget.begin(step.test)
            if step.test is not self.abandoned:
                self._try_step(step)
        self._finish_test()
        for rest in self.preparation.rests():
            self._run_before(rest)

    def _finish_test(self) -> None:
        """Judge what can only be judged when the test is over."""
        if self.expectations is None:
            return
        session = self.context.session.id
        for record, verdicts in self.expectations.final_verdicts():
            with self.interrupt.tolerating(CRITICAL):
                self.context.store.add_verdicts(session, record.seq, verdicts)
            self.step_runner.report(record, verdicts)

    def _try_step(self, step: Step) -> None:
        """A step; where the plan goes on after failures, it may fail."""
        try:
            self._run_step(step)
        except TargetUnusable:
            raise
        except NothingFound as error:  # nothing was done to the target
            self.outcome.skip(error)
            self.observer.note(f"skipped: {error}")
        except RunFailed as error:
            if self.context.on_failure == "stop":
                raise
            self.outcome.fail(error)
            if isinstance(error, PreparationFailed):
                self.abandoned = step.test
                self.observer.note(f"{step.test.title}: abandoned: {error}")

    def _run_step(self, step: Step) -> None:
        self.interrupt.check()
        if isinstance(step, RoundsOf):
            self._run_rounds(step)
        elif isinstance(step, SeekOf):
            self._run_seek(step)
        elif isinstance(step, Run):
            self._run(step)
        else:
            self.preparation.enqueue(step)

    def _run_rounds(self, step: RoundsOf) -> None:
        self.rounds = rounds.RoundTracker(step.rounds)
        at_most = step.rounds.at_most
        for number in range(1, at_most + 1):
            self._run_round(step, number, self.rounds)
            if not self.rounds.why() or step.test is self.abandoned:
                round_s = self.estimator.total(step.round(number + 1)).run_s
                self._reduce_eta(round_s * (at_most - number))
                break
            if number < at_most and not self._allows_round(number + 1):
                why = self.rounds.why()
                text = f"{step.test.title}: {number} of at most {at_most} rounds: {why}"
                self.step_runner.note("within", text)
                break
        else:
            why = self.rounds.why()
            self.observer.note(f"not steady after {at_most} rounds: {why}")
        self.rounds = None

    def _allows_round(self, number: int) -> bool:
        return self.budget is None or self.budget.allows_round(number)

    def _run_round(
        self, step: RoundsOf, number: int, tracker: rounds.RoundTracker
    ) -> None:
        """One round, without the cells that are decided."""
        without = tracker.left_out()
        for inner in step.round(number, without):
            if step.test is not self.abandoned:
                self._try_step(inner)
        if without:
            whole, done = step.round(number), step.round(number, without)
            total = self.estimator.total
            self._reduce_eta(total(whole).run_s - total(done).run_s)
        if steady := tracker.steady():
            self.observer.steady(steady, number)
        elif step.rounds.within:
            self.observer.note(
                f"round {number}: {tracker.why() or 'all cells decided'}"
            )

    def _run_seek(self, step: SeekOf) -> None:
        if self.neighbours is None or self.neighbours.test is not step.test:
            self.neighbours = cell_seek.Neighbours(step.test)
        seek = cell_seek.CellSeek(step, self.neighbours.start(step))
        left_s = self.left_s - self.estimator.cost(step).run_s
        while probe := seek.next_probe():
            for inner in step.probe(probe):
                if isinstance(inner, Run):
                    seek.add(self._probe(inner, cell_seek.probed(step, probe)))
                else:
                    self.preparation.enqueue(inner)
        self.neighbours.add(step, seek.value)
        self._store_found(step, seek)
        self._reduce_eta(self.left_s - left_s)

    # runs

    def _probe(self, run: Run, asked: Probed) -> RunRecord:
        """The record of a probe, done now or in an earlier part of the session."""
        record = self.context.finished_runs.take(run)
        if record:
            self._count_reused(run, record)
            return record
        run = self.found.bound(run)
        with self._at_work(run):
            record, outcome = self.step_runner.probe(run, asked)
            self.step_runner.store(record, outcome.detail)
        return record

    def _store_found(self, step: SeekOf, seek: cell_seek.CellSeek) -> None:
        """What the probes of a cell tell, judged, as a record of its own."""
        run = step.finding
        if record := self.context.finished_runs.take(run):
            self._reuse(run, record)
            return
        record, detail = (
            seek.record(self.step_runner.recorder.next_seq()),
            cell_seek.NO_DETAIL,
        )
        if confirming := seek.confirming:
            session = self.context.session.id
            detail = self.context.store.whole_detail(session, confirming.seq)
        self.step_runner.store(self._judged(run, record, detail), detail)
        self.found.add(record)

    def _run(self, run: Run) -> None:
        if record := self.context.finished_runs.take(run):
            self._reuse(run, record)
            return
        run = self.found.bound(run)
        with self._at_work(run):
            try:
                self._store_judged(run, *self.step_runner.measure(run))
            except RunFailed:
                if self.rounds:
                    self.rounds.add_failure(run)
                if self.expectations:
                    self.expectations.add_failure(run)
                raise

    @contextmanager
    def _at_work(self, run: Run) -> Iterator[None]:
        """What comes before a run and after it."""
        self._prepare_for(run)
        if self.budget:
            self.budget.allow(run)
        self._start(run)
        if run.writes:
            self._invalidate_state()
        try:
            yield
        except BaseException:
            self.preparation.lost(writes=run.writes)
            raise
        self._completed(run)
        self._end(run)

    def _completed(self, run: Run) -> None:
        """The state that a run has left is known, if that before it was."""
        if run.cut_ns:
            self.preparation.lost(writes=run.writes)
            return
        self.preparation.completed(run)
        if self.preparation.is_on_path(run):
            self._reached(run)

    def _reached(self, step: SingleStep, name: str = "") -> None:
        with self.interrupt.tolerating(CRITICAL):
            account = self.step_runner.keeper.account
            self.ledger.reached(self.preparation.path_to(step), name, account)

    def _store_judged(self, run: Run, record: RunRecord, outcome: RunOutcome) -> None:
        if record.status == "ok":
            record = self._judged(run, record, outcome.detail)
            self.found.add(record)
        self.step_runner.store(record, outcome.detail)

    def _reuse(self, run: Run, record: RunRecord) -> None:
        """A run that this session has finished earlier counts as if done now."""
        self.found.add(record)
        session = self.context.session.id
        known = record.verdicts
        if self.rounds or run.test.expectations:
            store = self.context.store
            detail = store.whole_detail(session, record.seq)
            record = self._judged(run, record, detail)
        if set(record.verdicts) - set(known):
            with self.interrupt.tolerating(CRITICAL):
                self.context.store.add_verdicts(session, record.seq, record.verdicts)
        self._count_reused(run, record)

    def _count_reused(self, run: Run, record: RunRecord) -> None:
        self.step_number += 1
        self.outcome.reused += 1
        self.observer.reused(record)
        self.step_runner.report(record, record.verdicts)
        self._skip(self.preparation.pending)
        if record.found:
            self.preparation.left_out()
        elif run.cut_ns:
            self.preparation.lost(writes=run.writes)
        else:
            self.preparation.completed(run)
        self._end(run)

    def _judged(self, run: Run, record: RunRecord, detail: RunDetail) -> RunRecord:
        """The record with its place in the rounds and its verdicts."""
        assert self.expectations
        if self.rounds:
            record = self.rounds.judged(run, record, detail)
        verdicts = self.expectations.add(run, record, detail)
        return record.model_copy(update={"verdicts": verdicts})

    # what comes before a run

    def _prepare_for(self, run: Run) -> None:
        """Do what the plan has before a run, and restore the state that it needs."""
        needed = self.preparation.pending_for(run, self.ledger.state)
        needed_ids = {id(step) for step in needed}
        pending_ids = {id(step) for step in self.preparation.pending}
        self._skip(s for s in self.preparation.pending if id(s) not in needed_ids)
        if runs := sum(isinstance(step, Run) for step in needed):
            text = (
                f"{run.test.title}: {run} needs the state that {counted(runs, 'run')}"
            )
            text += " before it left: repeated first, and not recorded"
            self.step_runner.note("state", text)
        for step in needed:
            if id(step) not in pending_ids:
                self._reduce_eta(-self.estimator.cost(step).run_s)  # done once more
            self._repeat(step) if isinstance(step, Run) else self._run_before(step)

    def _repeat(self, run: Run) -> None:
        """A finished run once more, for the state that it leaves."""
        self._start(run)
        if run.writes:
            self._invalidate_state()
        self.step_runner.repeat(self.found.bound(run))
        self.interrupt.check()
        self._reached(run)
        self._end(run)

    def _run_before(self, step: Prepare | Idle) -> None:
        if self.budget:
            self.budget.allow(step)
        self._start(step)
        if isinstance(step, Idle):
            self.step_runner.rest(step.pause_ns)
            if self.preparation.whole:
                self._reached(step)
        else:
            self._prepare(step)
        self._end(step)

    def _prepare(self, prepare: Prepare) -> None:
        """One step of a precondition, and the state that it leads to."""
        if not isinstance(prepare.step, RestStep):
            self._invalidate_state()
        try:
            self.step_runner.prepare(prepare)
        except TargetUnusable:
            raise
        except RunFailed as error:
            self.preparation.lost(writes=True)
            raise PreparationFailed(str(error), error.kind) from error
        self.interrupt.check()
        self._reached(prepare, prepare.state.name)

    def _invalidate_state(self) -> None:
        with self.interrupt.tolerating(CRITICAL):
            self.ledger.invalidate()

    # progress

    def _start(self, step: SingleStep) -> None:
        self.interrupt.check()
        self.step_number += 1
        self.observer.step(step, self.step_number)

    def _end(self, step: SingleStep) -> None:
        self.interrupt.check()
        self._skip([step])

    def _skip(self, steps: Iterable[SingleStep]) -> None:
        for step in steps:
            if self.budget:
                self.budget.done(step)
            self._reduce_eta(self.estimator.cost(step).run_s)

    def _reduce_eta(self, estimated_s: float) -> None:
        self.left_s = max(0.0, self.left_s - estimated_s)
        most_s = max(0.0, self.budget.left_s) if self.budget else self.left_s
        self.observer.eta(min(self.left_s, most_s))
