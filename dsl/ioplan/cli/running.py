"""`ioplan run`: parse, check, plan, run, report."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from ioplan.backends import Drive, TargetFacts, TargetRequest
from ioplan.cli.choosing import Choice, chosen, make_target
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
from ioplan.language.diagnostic import PlanError
from ioplan.language.plan import CheckedPlan
from ioplan.planner.jobs import misfits, writes
from ioplan.planner.unfold import unfold
from ioplan.report.show import show_records
from ioplan.results.session import Session, new_session_id
from ioplan.results.store import Store
from ioplan.runner.baseline import BaselineSession
from ioplan.runner.execute import now
from ioplan.runner.fitting import shortfalls
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
    backend: str | None = None
    lab: Path | None = None
    options: list[str] = field(default_factory=list)
    settings: list[str] = field(default_factory=list)
    scale_time: float = 1.0
    overwrite: list[str] = field(default_factory=list)
    allow_approximate: bool = False
    baseline: str | None = None
    quiet: bool = False
    json: bool = False


def run(options: Options) -> int:
    """Run a plan; returns the exit code. Raises what `failure.reported` knows."""
    plan = checked(options.plan, options.settings, options.scale_time)
    choice = chosen(options.backend, options.lab, options.options)
    session = new_session_id()
    request = TargetRequest(
        path=options.target,
        create_bytes=size(options.create, "--create"),
        overwrite=tuple(options.overwrite),
        writes=writes(unfold(plan)),
        options=choice.options,
        folder=str(session_folder(options.store, session)),
    )
    console = Console(quiet=options.quiet or options.json)
    make_target(choice.backend, request, console)
    with (
        Store.open(options.store) as store,
        closing(choice.backend.open(request)) as drive,
    ):
        check_fit(plan, choice, drive.facts, request.writes, options.allow_approximate)
        setting = Setting(
            plan=plan,
            backend=choice.backend,
            drive=drive,
            store=store,
            session=_session(session, drive, plan, choice, options),
            writes=request.writes,
            options=choice.options,
            watcher=_watcher(options, console),
            baseline=_baseline(store, options.baseline),
        )
        return _run_in(setting, options, console)


def session_folder(store: Path, session: str) -> Path:
    """Where a session keeps what does not belong into the store."""
    return store.absolute().parent / "sessions" / session


def check_fit(
    plan: CheckedPlan,
    choice: Choice,
    facts: TargetFacts,
    writing: bool,
    allow_approximate: bool,
) -> None:
    """Refuse before anything is touched. Raises UsageError, PlanError."""
    found = misfits(unfold(plan), facts)
    short = shortfalls(plan, choice.backend, facts, choice.options, writing)
    if allow_approximate:
        short = [one for one in short if not one.gap.instead]
    found += [one.text for one in short if one.span is None]
    placed = [
        one.diagnostic(choice.backend.name, one.span) for one in short if one.span
    ]
    if placed:
        raise PlanError(placed)
    if found:
        shown = "\n  ".join(found[:MOST_MISFITS])
        more = f"\n  and {len(found) - MOST_MISFITS} more" * (len(found) > MOST_MISFITS)
        raise UsageError(f"the plan does not fit {facts.path}:\n  {shown}{more}")


def _baseline(store: Store, key: str | None) -> BaselineSession | None:
    return BaselineSession(store, store.session(key).id) if key else None


def _run_in(setting: Setting, options: Options, console: Console) -> int:
    tally = Runner(setting).run()
    if not options.json and not options.quiet:
        console.print()
        records = list(setting.store.records(setting.session.id))
        show_records(console, setting.store, records, setting.plan)
    _conclude(console, tally, setting.session, options)
    return exit_code(tally)


def _session(
    id: str, drive: Drive, plan: CheckedPlan, choice: Choice, options: Options
) -> Session:
    args: dict[str, Any] = {
        "set": plan.parameters,
        "scale_time": options.scale_time,
        "create": options.create,
        "overwrite": options.overwrite,
        "baseline": options.baseline,
        "options": choice.options,
        "allow_approximate": options.allow_approximate,
    }
    return new_session(id, plan, choice, drive.facts, args)


def new_session(
    id: str,
    plan: CheckedPlan,
    choice: Choice,
    facts: TargetFacts,
    args: dict[str, Any],
) -> Session:
    """A session that begins now, on this host."""
    return Session(
        id=id,
        plan=plan.title,
        plan_file=plan.file,
        plan_text=plan.text,
        started_at=now(),
        backend=choice.backend.name,
        target=facts.path,
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
