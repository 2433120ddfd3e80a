"""Steps -> records: dispatches one step after the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ioplan.backends import BackendError
from ioplan.job import Progress
from ioplan.language.plan import PurgeStep, RestStep, WriteStep
from ioplan.planner.estimate import Estimator
from ioplan.planner.jobs import run_job, write_job
from ioplan.planner.steps import Idle, Prepare, RoundsOf, Run, Step
from ioplan.planner.unfold import unfold
from ioplan.results.record import Interval, RunRecord, Steady, Verdict
from ioplan.results.session import SessionStatus
from ioplan.runner.execute import Finished, execute, now
from ioplan.runner.expecting import Expecting
from ioplan.runner.figures import Sample, figure
from ioplan.runner.interrupt import Interrupt
from ioplan.runner.recording import Recorder
from ioplan.runner.setting import Setting
from ioplan.runner.showing import Showing
from ioplan.runner.steady import assess
from ioplan.runner.window import SteadyWatch


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
        self.tracked: list[float] = []
        self.expecting: Expecting | None = None

    def run(self) -> Tally:
        """All of the plan. What is finished is stored, however this ends."""
        setting = self.setting
        self.left_s = self.estimator.total(unfold(setting.plan)).run_s
        setting.store.begin(setting.session)
        self.watcher.begins(setting.session, self.left_s)
        try:
            with self.interrupt:
                self._tests(unfold(setting.plan))
        except KeyboardInterrupt:
            self.tally.interrupted = True
        except RunFailed as error:
            self.tally.failure = str(error)
        finally:
            self.watcher.ends(self.tally.status)
            setting.store.finish(setting.session.id, self.tally.status, now())
        return self.tally

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
            self.setting.store.add_verdicts(session, record.seq, verdicts)
            self._tell(record, verdicts)

    def _step(self, step: Step) -> None:
        if isinstance(step, RoundsOf):
            self._rounds(step)
            return
        self.number += 1
        self.watcher.step(step, self.number)
        if isinstance(step, Run):
            self._run(step)
        elif isinstance(step, Idle):
            self.drive.idle(step.pause_ns)
        else:
            self._prepare(step)
        if self.interrupt.asked:
            raise KeyboardInterrupt
        self._pass(self.estimator.cost(step).run_s)

    def _pass(self, estimated_s: float) -> None:
        """Some of the plan is behind us."""
        self.left_s = max(0.0, self.left_s - estimated_s)
        self.watcher.left(self.left_s)

    # rounds

    def _rounds(self, step: RoundsOf) -> None:
        self.tracked = []
        cost_s = self.estimator.total(step.round(1)).run_s
        most = step.rounds.at_most
        for number in range(1, most + 1):
            for inner in step.round(number):
                self._step(inner)
            steady = assess(step.rounds.rule, self.tracked)
            self.watcher.steady(steady, number)
            if steady.reached:
                self._pass(cost_s * (most - number))
                return
        self.watcher.note(f"not steady after {most} rounds: {steady.why}")

    def _track(self, run: Run, sample: Sample) -> Steady | None:
        """The assessment so far, if this is the cell that is tracked."""
        rounds = run.test.rounds
        if rounds is None or (rounds.when and not rounds.when.holds(run.cell)):
            return None
        self.tracked.append(figure(rounds.rule.metric, [sample]).value or 0.0)
        return assess(rounds.rule, self.tracked)

    # single steps

    def _run(self, run: Run) -> None:
        job = run_job(run, self.drive.facts, read_only=not self.setting.writes)
        done = execute(self.drive, job, self.interrupt, Showing(job, self.watcher))
        record = self.recorder.record(run, run.workload, job, done)
        if done.status == "ok":
            record = self._judged(run, record, done)
        self._keep(record, done)

    def _judged(self, run: Run, record: RunRecord, done: Finished) -> RunRecord:
        """The record with its place in the rounds and its verdicts."""
        assert self.expecting
        detail = done.measurement.detail
        steady = self._track(run, Sample(record, detail))
        verdicts = self.expecting.finished(run, record, detail)
        return record.model_copy(update={"steady": steady, "verdicts": verdicts})

    def _prepare(self, prepare: Prepare) -> None:
        step = prepare.step
        if isinstance(step, PurgeStep):
            self._purge()
        elif isinstance(step, RestStep):
            self.drive.idle(step.pause_ns)
        else:
            self._write(prepare, step)

    def _purge(self) -> None:
        try:
            self.watcher.note(f"purge: {self.drive.purge()}")
        except BackendError as error:
            raise RunFailed(str(error)) from error

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
        if judge and judge.last:
            record = record.model_copy(update={"steady": judge.last})
            if not judge.last.reached:
                self.watcher.note(f"{prepare.state.name}: not steady: {judge.last.why}")
        self._keep(record, done)

    # results

    def _keep(self, record: RunRecord, done: Finished) -> None:
        """Durable before anything else happens."""
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
