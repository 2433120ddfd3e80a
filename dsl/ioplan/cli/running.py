"""`ioplan run`: parse, check, plan, run, report."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from ioplan.backends import Backend, BackendError, Drive, Gap, TargetRequest, find
from ioplan.cli.failure import (
    EXPECTATION_FAILED,
    HELD,
    INTERRUPTED,
    RUN_FAILED,
    UsageError,
)
from ioplan.cli.jsonlines import JsonLines
from ioplan.cli.lines import Lines
from ioplan.cli.live import LiveLines
from ioplan.cli.reading import checked, size
from ioplan.lab.target import make_scratch
from ioplan.language.plan import CheckedPlan
from ioplan.language.quantity import size_text
from ioplan.planner.jobs import all_jobs, misfits, writes
from ioplan.planner.unfold import unfold
from ioplan.report.show import show_records
from ioplan.results.session import Session
from ioplan.results.store import Store
from ioplan.runner.baseline import BaselineSession
from ioplan.runner.execute import now
from ioplan.runner.host import host_facts
from ioplan.runner.runner import Runner, Tally
from ioplan.runner.setting import Setting
from ioplan.runner.watcher import Watcher

MOST_MISFITS = 8


@dataclass(frozen=True)
class Options:
    """What `run` was called with."""

    plan: Path
    store: Path
    target: str | None = None
    create: str | None = None
    backend: str = "io_uring"
    settings: list[str] = field(default_factory=list)
    scale_time: float = 1.0
    overwrite: list[str] = field(default_factory=list)
    baseline: str | None = None
    quiet: bool = False
    json: bool = False


def run(options: Options) -> int:
    """Run a plan; returns the exit code. Raises what `failure.reported` knows."""
    plan = checked(options.plan, options.settings, options.scale_time)
    backend = usable(options.backend)
    request = TargetRequest(
        path=options.target,
        create_bytes=size(options.create, "--create"),
        overwrite=tuple(options.overwrite),
        writes=writes(unfold(plan)),
    )
    console = Console(quiet=options.quiet or options.json)
    if request.path and request.create_bytes and not backend.virtual_time:
        _make_scratch(Path(request.path), request.create_bytes, console)
    with Store.open(options.store) as store:
        drive = backend.open(request)
        try:
            check_fit(plan, drive, request.writes)
            return _run_on(drive, plan, backend, store, options, console)
        finally:
            drive.close()


def _make_scratch(path: Path, size_bytes: int, console: Console) -> None:
    """Make the target if it is missing, with a bar, since a large one takes long."""
    if path.exists():
        return
    with Progress(
        console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task("making the scratch file", total=size_bytes)
        make_scratch(
            path, size_bytes, lambda done: progress.update(task, completed=done)
        )
    text = f"made the scratch file {path}, {size_text(size_bytes)} of random data"
    console.print(text, soft_wrap=True, highlight=False, markup=False)


def usable(name: str) -> Backend:
    """The backend, if it can run here. Raises BackendError."""
    backend = find(name)
    found = backend.availability()
    if not found.usable:
        raise BackendError(f"the backend {name!r} cannot run here: {found.reason}")
    return backend


def check_fit(plan: CheckedPlan, drive: Drive, writing: bool) -> None:
    """Refuse before anything is touched. Raises UsageError."""
    found = misfits(unfold(plan), drive.facts)
    found += list(gap_texts(plan, drive, writing))
    if found:
        shown = "\n  ".join(found[:MOST_MISFITS])
        more = f"\n  and {len(found) - MOST_MISFITS} more" * (len(found) > MOST_MISFITS)
        raise UsageError(f"the plan does not fit {drive.facts.path}:\n  {shown}{more}")


def gap_texts(plan: CheckedPlan, drive: Drive, writing: bool) -> list[str]:
    """What the backend cannot express exactly, each once."""
    found: dict[str, None] = {}
    for step, job in all_jobs(unfold(plan), drive.facts, not writing):
        for gap in drive.gaps(job):
            found.setdefault(f"{step.test.title}: {_gap_text(gap)}")
    return list(found)


def _gap_text(gap: Gap) -> str:
    return f"{gap.field} of stream {gap.stream}: {gap.reason}"


def _run_on(
    drive: Drive,
    plan: CheckedPlan,
    backend: Backend,
    store: Store,
    options: Options,
    console: Console,
) -> int:
    baseline = None
    if options.baseline:
        baseline = BaselineSession(store, store.session(options.baseline).id)
    session = _session(drive, plan, backend, options)
    setting = Setting(
        plan=plan,
        backend=backend,
        drive=drive,
        store=store,
        session=session,
        writes=writes(unfold(plan)),
        watcher=_watcher(options, console),
        baseline=baseline,
    )
    tally = Runner(setting).run()
    records = list(store.records(session.id))
    if not options.json and not options.quiet:
        console.print()
        show_records(console, store, records, plan)
    _conclude(console, tally, session, options)
    return exit_code(tally)


def _session(
    drive: Drive, plan: CheckedPlan, backend: Backend, options: Options
) -> Session:
    args: dict[str, Any] = {
        "set": plan.parameters,
        "scale_time": options.scale_time,
        "create": options.create,
        "overwrite": options.overwrite,
        "baseline": options.baseline,
    }
    return Session(
        plan=plan.title,
        plan_file=str(options.plan),
        plan_text=plan.text,
        started_at=now(),
        backend=backend.name,
        target=drive.facts.path,
        args=args,
        host=host_facts(),
    )


def _watcher(options: Options, console: Console) -> Watcher:
    if options.json:
        return JsonLines()
    if options.quiet:
        return Watcher()
    return LiveLines(console) if console.is_terminal else Lines(console)


def _conclude(
    console: Console, tally: Tally, session: Session, options: Options
) -> None:
    judged = ", ".join(f"{n} {outcome}" for outcome, n in tally.outcomes.items())
    console.print(f"expectations: {judged}" if judged else "no expectations")
    if tally.failure:
        print(f"error: {tally.failure}", file=sys.stderr)
    console.print(
        f"{tally.runs} runs kept in {options.store}\n"
        f"session {session.id}: ioplan show {session.id}",
        soft_wrap=True,
        highlight=False,
    )


def exit_code(tally: Tally) -> int:
    """0 all held, 1 an expectation not shown to hold, 3 a failed run, 130 stopped."""
    if tally.interrupted:
        return INTERRUPTED
    if tally.failure:
        return RUN_FAILED
    unmet = tally.outcomes.get("failed", 0) + tally.outcomes.get("undecided", 0)
    return EXPECTATION_FAILED if unmet else HELD
