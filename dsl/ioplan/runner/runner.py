"""Steps -> records: dispatches one step after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from ioplan.job import Progress
from ioplan.language.plan import PurgeStep, RestStep, WriteStep
from ioplan.planner.estimate import Estimator
from ioplan.planner.jobs import run_job, write_job
from ioplan.planner.steps import Idle, Prepare, RoundsOf, Run, Step
from ioplan.planner.unfold import unfold
from ioplan.results.record import Interval, RunDetail, RunRecord, Verdict
from ioplan.results.session import SessionStatus
from ioplan.results.store_error import StoreError
from ioplan.runner.execute import Finished, execute, now, told
from ioplan.runner.expecting import Expecting
from ioplan.runner.figures import Sample
from ioplan.runner.interrupt import HOLDING, WAITING, Interrupt
from ioplan.runner.recording import Recorder
from ioplan.runner.setting import Setting
from ioplan.runner.showing import Showing
from ioplan.runner.tracking import Tracking
from ioplan.runner.window import SteadyWatch

Waited = TypeVar("Waited")


class RunFailed(Exception):
    """A run or a preparation failed; what there is of it is stored."""


@dataclass
class Tally:
    """How the session went."""

    runs: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    failure: str = ""
    interrupted: bool = False

    def count(self, verdicts: Iterable[Verdict]) -> None:
        """Add verdicts."""
        for verdict in verdicts:
            self.outcomes[verdict.outcome] = self.outcomes.get(verdict.outcome, 0) + 1

    @property
    def status(self) -> SessionStatus:
        """How the session ended."""
        if self.interrupted:
            return "interrupted"
        return "failed" if self.failure else "ok"


class Runner:
    """Runs a plan on an open drive."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.drive, self.watcher = setting.drive, setting.watcher
        self.recorder = Recorder(setting)
        self.estimator = Estimator(setting.drive.facts.capacity_bytes)
        self.interrupt = Interrupt()
        self.tally = Tally()
        self.number = 0
        self.left_s = 0.0
        self.tracking: Tracking | None = None
        self.expecting: Expecting | None = None

    def run(self) -> Tally:
        """All of the plan. What is finished is stored, however this ends."""
        self.left_s = self.estimator.total(unfold(self.setting.plan)).run_s
        with self.interrupt:
            self.setting.store.begin(self.setting.session)
            try:
                self.watcher.begins(self.setting.session, self.left_s)
                self._tests(unfold(self.setting.plan))
            except KeyboardInterrupt:
                self.tally.interrupted = True
            except RunFailed as error:
                self.tally.failure = str(error)
            except BaseException as error:
                self.tally.failure = f"{type(error).__name__}: {error}"
                raise
            finally:
                self._finish()
        return self.tally

    def _finish(self) -> None:
        """Write down how the session ended, even in a store that has failed."""
        with self.interrupt.patient(HOLDING):
            try:
                ended, id = now(), self.setting.session.id
                self.setting.store.finish(id, self.tally.status, ended)
            except StoreError as error:
                self.tally.failure = self.tally.failure or str(error)
            self.watcher.ends(self.tally.status)

    def _tests(self, steps: Iterable[Step]) -> None:
        for step in steps:
            if self.expecting is None or self.expecting.test is not step.test:
                self._close_test()
                self.expecting = Expecting(step.test, self.setting.baseline)
            self._step(step)
        self._close_test()

    def _close_test(self) -> None:
        """Judge what can only be judged when the test is over."""
        if self.expecting is None:
            return
        session = self.setting.session.id
        for record, verdicts in self.expecting.at_last():
            with self.interrupt.patient(HOLDING):
                self.setting.store.add_verdicts(session, record.seq, verdicts)
            self._tell(record, verdicts)

    def _step(self, step: Step) -> None:
        if isinstance(step, RoundsOf):
            self._rounds(step)
            return
        self.interrupt.check()
        self.number += 1
        self.watcher.step(step, self.number)
        if isinstance(step, Run):
            self._run(step)
        elif isinstance(step, Idle):
            self._rest(step.pause_ns)
        else:
            self.prepare(step)
        self.interrupt.check()
        self._pass(self.estimator.cost(step).run_s)

    def _pass(self, estimated_s: float) -> None:
        """Some of the plan is behind us."""
        self.left_s = max(0.0, self.left_s - estimated_s)
        self.watcher.left(self.left_s)

    # rounds

    def _rounds(self, step: RoundsOf) -> None:
        self.tracking = Tracking(step.rounds)
        most = step.rounds.at_most
        for number in range(1, most + 1):
            for inner in step.round(number):
                self._step(inner)
            steady = self.tracking.assessed()
            self.watcher.steady(steady, number)
            if steady.reached:
                again = self.estimator.total(step.round(number + 1))
                self._pass(again.run_s * (most - number))
                break
        else:
            self.watcher.note(f"not steady after {most} rounds: {steady.why}")
        self.tracking = None

    # single steps

    def only(self, run: Run) -> tuple[RunRecord, RunDetail]:
        """One run by itself, stored and judged by nobody. Raises RunFailed."""
        record, done = self._measure(run)
        self._keep(record, done)
        return record, done.measurement.detail

    def _run(self, run: Run) -> None:
        record, done = self._measure(run)
        if done.status == "ok":
            record = self._judged(run, record, done)
        self._keep(record, done)

    def _measure(self, run: Run) -> tuple[RunRecord, Finished]:
        job = run_job(run, self.drive.facts, read_only=not self.setting.writes)
        done = execute(self.drive, job, self.interrupt, Showing(job, self.watcher))
        return self.recorder.record(run, run.workload, job, done), done

    def _judged(self, run: Run, record: RunRecord, done: Finished) -> RunRecord:
        """The record with its place in the rounds and its verdicts."""
        assert self.expecting
        detail = done.measurement.detail
        sample = Sample(record, detail)
        steady = self.tracking.add(run, sample) if self.tracking else None
        verdicts = self.expecting.finished(run, record, detail)
        return record.model_copy(update={"steady": steady, "verdicts": verdicts})

    def prepare(self, prepare: Prepare) -> None:
        """One step of a precondition. Raises RunFailed."""
        step = prepare.step
        if isinstance(step, PurgeStep):
            how = self._wait(self.drive.purge)
            self.watcher.note(f"purge: {how}")
        elif isinstance(step, RestStep):
            self._rest(step.pause_ns)
        else:
            self._write(prepare, step)

    def _rest(self, pause_ns: int) -> None:
        self._wait(lambda: self.drive.idle(pause_ns))

    def _wait(self, wait: Callable[[], Waited]) -> Waited:
        """What a drive does without I/O of ours; a signal breaks it off."""
        with self.interrupt.patient(WAITING):
            try:
                return wait()
            except Exception as error:  # a stranger's code: anything may come
                raise RunFailed(told(error)) from error

    def _write(self, prepare: Prepare, step: WriteStep) -> None:
        job = write_job(step, self.drive.facts)
        show = Showing(job, self.watcher)
        judge = None
        if step.rule and step.every_ns:
            judge = SteadyWatch(step.rule, step.every_ns, self.watcher.steady)

        def watch(progress: Progress, interval: Interval | None) -> bool:
            show(progress, interval)
            return judge is not None and judge.add(progress)

        done = execute(self.drive, job, self.interrupt, watch)
        record = self.recorder.record(prepare, step.workload, job, done)
        if judge:
            record = record.model_copy(update={"steady": judge.last})
        self._keep(record, done)
        if judge and done.status == "ok" and not judge.last.reached:
            self.watcher.note(f"{prepare.state.name}: not steady: {judge.last.why}")

    # results

    def _keep(self, record: RunRecord, done: Finished) -> None:
        """Durable before anything else happens."""
        with self.interrupt.patient(HOLDING):
            self.setting.store.add(record, done.measurement.detail)
        self.tally.runs += 1
        self.watcher.record(record)
        self._tell(record, record.verdicts)
        if record.status == "failed":
            raise RunFailed(f"{record.asked.test}: {record.message}")

    def _tell(self, record: RunRecord, verdicts: tuple[Verdict, ...]) -> None:
        self.tally.count(verdicts)
        for verdict in verdicts:
            self.watcher.verdict(record, verdict)
