"""`ioplan crosscheck`: the same cells on two backends, interleaved."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from time import monotonic
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from rich import box
from rich.console import Console
from rich.table import Table

from ioplan.backends.backend import Drive, TargetRequest
from ioplan.cli.commands.run import new_session
from ioplan.cli.display.lines import left_text
from ioplan.cli.display.plain import line_output
from ioplan.cli.display.terminal import Terminal
from ioplan.cli.errors import UsageError
from ioplan.cli.exit_codes import EXPECTATION_FAILED, HELD
from ioplan.cli.inputs import checked_plan, size
from ioplan.cli.targets.choose import (
    Choice,
    make_target,
    open_drive,
    resolved_request,
    usable_backend,
)
from ioplan.cli.targets.fitting import accepted, check_fit
from ioplan.cli.targets.host_settings import prepared_for, with_prepared
from ioplan.cli.targets.power import nothing_in_the_midst
from ioplan.core.text import line
from ioplan.core.units import metric_text
from ioplan.language.plan import FULL, CheckedPlan
from ioplan.planner.steps import Prepare, RoundsOf, Run, SeekOf, SingleStep
from ioplan.planner.summary import PlanSummary, summary_of
from ioplan.planner.unfolding import unfold
from ioplan.records.record import RunDetail, RunRecord
from ioplan.records.run_request import Resolved, RunRequest
from ioplan.records.session import SessionStatus
from ioplan.records.session_id import new_session_id
from ioplan.results.store.session_folder import session_folder
from ioplan.results.store.store import Store, default_path
from ioplan.runner.execute.execute import now
from ioplan.runner.execute.outcome import RunFailed
from ioplan.runner.lab.lab_file import read_lab
from ioplan.runner.prepare.placement import placement_of
from ioplan.runner.session.context import SessionContext
from ioplan.runner.session.crosscheck import (
    AGREEMENT_PERCENT,
    MetricRatio,
    Pairs,
    RunOne,
    judged,
    remarks,
    run_interleaved,
)
from ioplan.runner.session.step_runner import StepRunner

REPEATED = (
    "{} pairs of runs were measured again: the hypervisor took more from one run than "
    "from the other"
)
INCONCLUSIVE = (
    f"inconclusive: the interval includes 1, but exceeds {AGREEMENT_PERCENT:g} %; use "
    "more --rounds or longer runs"
)


class Options(Struct, frozen=True):
    """What `crosscheck` was called with."""

    plan: Path
    store: Path
    backends: str
    target: str | None
    create: str | None
    rounds: int = 5
    lab: Path | None = None
    settings: list[str] = []
    profile: str = FULL
    scale_time: float = 1.0
    overwrite: list[str] = []
    overwrite_data: list[str] = []
    cannot_see_users: bool = False
    allow: list[str] = []
    allow_approximate: bool = False


class Side:
    """One of the two backends. It holds the target only while it does I/O."""

    def __init__(
        self,
        plan: CheckedPlan,
        summary: PlanSummary,
        choice: Choice,
        store: Store,
        options: Options,
    ) -> None:
        session = new_session_id()
        self.plan, self.summary = plan, summary
        self.choice, self.options = choice, options
        request = TargetRequest(
            path=options.target,
            create_bytes=size(options.create, "--create"),
            overwrite=tuple(options.overwrite),
            overwrite_data=tuple(options.overwrite_data),
            cannot_see_users=options.cannot_see_users,
            writes=self.summary.writes,
            options=choice.options,
            folder=str(session_folder(options.store, session)),
        )
        self.request = resolved_request(request, choice, options.lab)
        self.store, self.session = store, session

    def begin(self, console: Console, stack: ExitStack) -> None:
        """Check that the plan fits, and prepare the host, before anything runs."""
        drive, self.request = open_drive(self.choice.backend, self.request)
        with closing(drive):
            allowed = accepted(self.options.allow, self.options.allow_approximate)
            check_fit(self.summary, self.choice, drive.facts, allowed)
            meter = self.choice.lab.meter_of(self.request.entry)
            asked = RunRequest(
                profile=self.options.profile, scale_time=self.options.scale_time
            )
            resolved = Resolved(parameters=self.plan.parameters, files=self.plan.files)
            named = self.choice, drive.facts, self.session
            prepared = stack.enter_context(prepared_for(*named, console.print))
            session = new_session(
                self.session,
                self.plan,
                self.choice,
                drive.facts,
                asked,
                resolved,
                meter,
            )
            session = with_prepared(session, prepared)
            self.store.begin(session)
            self.runner = StepRunner(
                SessionContext(
                    plan=self.plan,
                    summary=self.summary,
                    backend=self.choice.backend,
                    drive=drive,
                    store=self.store,
                    session=session,
                    options=self.choice.options,
                    meter=meter,
                    placement=placement_of(
                        self.choice.backend,
                        drive.facts,
                        self.choice.lab.cpus_of(self.request.entry),
                    ),
                )
            )

    def only(self, run: Run) -> tuple[RunRecord, RunDetail]:
        """One run."""
        with self._open():
            return self.runner.run(run)

    def prepare(self, prepare: Prepare) -> None:
        """One step of a precondition."""
        with self._open():
            self.runner.prepare(prepare)

    def _open(self) -> closing[Drive]:
        self.runner.drive = self.choice.backend.open(self.request)
        return closing(self.runner.drive)

    def end(self, status: SessionStatus) -> None:
        """The session is over."""
        self.store.finish(self.session, status, now())


def crosscheck_command(*, store: Path | None, **others: Any) -> int:
    """Compare two backends; returns the exit code."""
    return crosscheck(Options(store=store or default_path(), **others), Terminal())


def crosscheck(options: Options, console: Console) -> int:
    """Compare two backends; 1 unless all metrics of all cells agree."""
    if options.rounds < 2:
        raise UsageError("--rounds must be at least 2")
    asked = options.settings, options.scale_time, options.profile
    plan = checked_plan(options.plan, *asked, lab=options.lab)
    choices = _choices(options)
    with Store.open(options.store) as store:
        summary = summary_of(plan)
        nothing_in_the_midst(summary, "crosscheck")
        sides = [Side(plan, summary, choice, store, options) for choice in choices]
        make_target(choices[0].backend, sides[0].request, line_output(quiet=False))
        with ExitStack() as stack:
            for side in sides:
                side.begin(console, stack)
            _hold_cpus(plan, sides, stack)
            cells = _measured(plan, sides, options.rounds, console)
    found = judged(cells)
    console.print(_table(found, [choice.backend.name for choice in choices]))
    for number, side in enumerate(sides):
        console.print(f"session {side.session}: {side.choice.backend.name}")
        for text in remarks(cells, number):
            console.print(line(f"  warning: {text}", "yellow"), soft_wrap=True)
    for reason in dict.fromkeys(one.widened for one in found if one.widened):
        console.print(line(f"intervals widened {reason}", "yellow"), soft_wrap=True)
    if repeated := sum(pairs.repeated for pairs in cells):
        console.print(line(REPEATED.format(repeated), "dim"), soft_wrap=True)
    verdicts = {one.verdict for one in found}
    if "inconclusive" in verdicts:
        console.print(line(INCONCLUSIVE, "dim"))
    return HELD if verdicts == {"agree"} else EXPECTATION_FAILED


def _hold_cpus(plan: CheckedPlan, sides: list[Side], stack: ExitStack) -> None:
    """Hold the same CPUs for all runs of both sides, against other sessions."""
    runs = [step for step in _single(plan) if isinstance(step, Run)]
    threads = [sum(one.threads for one in run.workload.streams) for run in runs]
    contexts = [side.runner.context for side in sides]
    placements = [one.placement for one in contexts if one.placement.cpus]
    if placements:
        held = stack.enter_context(placements[0].held(max(threads, default=1)))
        for side, context in zip(sides, contexts, strict=True):
            if context.placement.cpus:
                side.runner.context = replace(context, placement=held)


def _choices(options: Options) -> list[Choice]:
    names = [name.strip() for name in options.backends.split(",")]
    if len(names) != 2 or names[0] == names[1]:
        raise UsageError("--backends takes two names, for example io_uring,fio")
    lab = read_lab(options.lab)
    return [usable_backend(name, lab, []) for name in names]


def _measured(
    plan: CheckedPlan, sides: list[Side], rounds: int, console: Console
) -> list[Pairs]:
    status: SessionStatus = "failed"
    try:
        found = list(_compared(plan, sides, rounds, console))
        status = "ok"
    except RunFailed as error:
        raise UsageError(str(error)) from error
    except KeyboardInterrupt:
        status = "interrupted"
        raise
    finally:
        for side in sides:
            side.end(status)
    return found


def _compared(
    plan: CheckedPlan, sides: list[Side], rounds: int, console: Console
) -> Iterator[Pairs]:
    """Each run of the plan on both; the first prepares for both."""
    count, done = sum(isinstance(step, Run) for step in _single(plan)), 0
    began = monotonic()
    for step in _single(plan):
        if isinstance(step, Prepare):
            sides[0].prepare(step)
        elif isinstance(step, Run):
            spent_s = monotonic() - began
            left = left_text(spent_s / done * (count - done)) if done else ""
            done += 1
            text = f"{done} of {count}  {step.test.title}: {step}"
            text = ", ".join(filter(None, (text, left)))
            console.print(line(text, "dim"))
            pairs = Pairs(step.test.title, step.cell_text)
            run_interleaved(_on(sides, step), pairs, rounds)
            yield pairs


def _on(sides: list[Side], step: Run) -> RunOne:
    """Runs the step on one side or the other, each time as a repeat of its own."""
    turns = [0, 0]

    def run(which: int) -> tuple[RunRecord, RunDetail]:
        turns[which] += 1
        return sides[which].only(replace(step, iteration=turns[which]))

    return run


def _single(plan: CheckedPlan) -> Iterator[SingleStep]:
    """All steps; of rounds, one, since the comparison repeats by itself.

    What a seek runs depends on what it finds: there is nothing to compare.
    """
    for step in unfold(plan):
        if isinstance(step, RoundsOf):
            yield from step.round(1)
        elif not isinstance(step, SeekOf):
            yield step


def _table(found: list[MetricRatio], names: list[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("cell", overflow="fold")
    for heading in ("metric", *names, "ratio", "interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    for one in found:
        cell = " ".join(f"{axis}={value}" for axis, value in one.cell.items())
        ratio = one.interval
        table.add_row(
            line(cell or one.test),
            str(one.metric),
            metric_text(one.first, one.metric.unit),
            metric_text(one.second, one.metric.unit),
            f"{ratio.ratio:.3f}",
            f"{ratio.low:.3f} … {ratio.high:.3f}",
            one.verdict,
        )
    return table
