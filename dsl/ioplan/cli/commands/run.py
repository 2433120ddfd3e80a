"""`ioplan run`: parse, check, plan, run, report."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from ioplan.backends import Drive, TargetFacts, TargetRequest
from ioplan.cli.choose import (
    Choice,
    chosen_backend,
    make_target,
    open_drive,
    resolved_request,
)
from ioplan.cli.consents import with_listed
from ioplan.cli.display.lines import Lines
from ioplan.cli.display.plain import LineOutput, line_output
from ioplan.cli.errors import UsageError
from ioplan.cli.exit_codes import HELD
from ioplan.cli.fitting import accepted, check_fit, only_fitting
from ioplan.cli.host_settings import prepared_for, with_prepared
from ioplan.cli.inputs import SIM, checked_plan, plan_path, simulated, size
from ioplan.cli.lab_plugin import Lane, needed_lab_plugin
from ioplan.cli.run_options import Options
from ioplan.cli.selection import only_tests, print_tests
from ioplan.cli.words import checked_note, checked_tags
from ioplan.core.error_kinds import StoreFault, TargetFault
from ioplan.guard.target import TargetError
from ioplan.host.prepared import OnNote
from ioplan.lab.cross_references import is_fleet, is_shared
from ioplan.lab.lab_file import read_lab
from ioplan.language.check.modules import read_text
from ioplan.language.plan import CheckedPlan
from ioplan.planner.summary import PlanSummary, summary_of
from ioplan.records.drive import drive_of
from ioplan.records.host_clock import HostClock
from ioplan.records.session import Session
from ioplan.records.session_id import new_session_id
from ioplan.runner.context import SessionContext, no_clock
from ioplan.runner.execute.execute import now
from ioplan.runner.execute.watchdog import Limits
from ioplan.runner.expectations import BaselineSession
from ioplan.runner.finished_runs import FinishedRuns
from ioplan.runner.fit_report import Fit
from ioplan.runner.host_facts import host_facts
from ioplan.runner.mistakes import mistakes_on
from ioplan.runner.observer import SessionObserver
from ioplan.runner.person import login_name
from ioplan.runner.placement import placement_of
from ioplan.runner.seal import sign
from ioplan.runner.session import SessionRunner
from ioplan.runner.state_ledger import forget_state, is_session_target, target_key
from ioplan.store.database import BUSY_S, LANE_BUSY_S
from ioplan.store.errors import StoreError
from ioplan.store.session_folder import (
    remove_unused,
    session_folder,
    session_lock,
)
from ioplan.store.store import Store, default_path

BUNDLE = ".ioplan-bundle"


def run_command(
    *,
    plan: Path,
    store: Path | None,
    sim: Path | None,
    backend: str | None,
    options: list[str],
    detach: bool,
    skip_missing: bool,
    **others: Any,
) -> int:
    """Run a plan here, or on the targets and hosts of a lab; returns the exit code."""
    backend, options = simulated(sim, backend, options)
    asked = Options(
        plan=plan_path(plan),
        store=store or default_path(),
        backend=backend,
        options=options,
        **others,
    )
    checked_tags(asked.tags)
    checked_note(asked.note)
    if asked.quiet and asked.json:
        raise UsageError("use --quiet or --json, not both")
    if not asked.lane and not asked.listed and _has_lanes(asked, detach):
        if asked.plan.suffix == BUNDLE:
            raise UsageError(
                "a bundle can only be repeated on one target; for a group, extract "
                f"its plan with ioplan unbundle {asked.plan} -o FOLDER, and run it"
            )
        return needed_lab_plugin().run_on_targets(asked, detach, skip_missing)
    if detach or skip_missing:
        word = "--detach" if detach else "--skip-missing"
        raise UsageError(f"{word} is for targets and groups of the lab")
    if asked.plan.suffix == BUNDLE:
        from ioplan.cli.commands.share.run_bundle import run_bundle  # noqa: PLC0415

        return run_bundle(asked, run)
    return run(asked)


def _has_lanes(options: Options, detach: bool) -> bool:
    """A single target of this host gets a lane where nobody is to wait for it."""
    lab = read_lab(options.lab)
    return is_fleet(lab, options.target) or (detach and options.target in lab.here)


def run(options: Options, id: str = "") -> int:
    """Run a plan; returns the exit code. Raises ExplainedError and PlanError."""
    asked = options.settings, options.scale_time, options.profile
    plan = checked_plan(options.plan, *asked, lab=options.lab)
    plan = only_tests(plan, options.tests)
    if options.listed:
        print_tests(plan)
        return HELD
    busy_s = LANE_BUSY_S if options.lane else BUSY_S
    with Store.open(options.store, busy_s) as store:
        return run_session(plan, options, store, SessionStart(id or _id(options)))


def _id(options: Options) -> str:
    """A lane has its session's id from the start, so that it is found again."""
    lane = _lane(options)
    return lane.session if lane else new_session_id()


def _lane(options: Options) -> Lane | None:
    return needed_lab_plugin().lane(options.lane) if options.lane else None


class SessionStart(Struct, frozen=True):
    """A session by its id, and what it has done in an earlier life."""

    id: str
    before: Session | None = None
    done: FinishedRuns = field(default_factory=FinishedRuns)


def run_session(
    plan: CheckedPlan, options: Options, store: Store, start: SessionStart
) -> int:
    """Open the target, see that the plan fits, and run what is not done yet.

    Who resumes a session holds its lock already.
    """
    summary = summary_of(plan)
    options = with_listed(options, plan)
    allowed = accepted(options.allow, options.allow_approximate)
    choice = _chosen(summary, options, start.id)
    folder = session_folder(options.store, start.id)
    request = TargetRequest(
        path=options.target,
        create_bytes=size(options.create, "--create"),
        overwrite=tuple(options.overwrite),
        overwrite_data=tuple(options.overwrite_data),
        writes=summary.writes,
        options=choice.options,
        folder=str(folder),
    )
    request = resolved_request(request, choice, options.lab)
    out = line_output(options.quiet or options.json)
    with ExitStack() as stack:
        if not start.before:
            make_target(choice.backend, request, out)
            stack.enter_context(session_lock(folder))
            stack.callback(_remove_unused, store, folder)
        drive, request = open_drive(choice.backend, request)
        stack.enter_context(closing(drive))
        words = {*request.overwrite, *request.overwrite_data}
        options = replace(options, overwrite=sorted(words))
        left_out: list[Fit] = []
        if options.only_exact:
            plan, summary, left_out = only_fitting(plan, choice, drive.facts, allowed)
        check_fit(summary, choice, drive.facts, allowed)
        check_same_target(start.before, drive.facts)
        if options.fresh:
            forget_state(store, drive.facts, start.id)
        meter = choice.lab.meter_of(request.entry)
        prepared = stack.enter_context(
            prepared_for(choice, drive.facts, start.id, _note_on(out))
        )
        session = start.before or _session(
            start.id, drive, plan, choice, options, meter
        )
        context = SessionContext(
            plan=plan,
            summary=summary,
            backend=choice.backend,
            drive=drive,
            store=store,
            session=with_prepared(session, prepared),
            options=choice.options,
            observer=_observer(options, out),
            baseline=_baseline(store, options.baseline),
            finished_runs=start.done,
            on_failure=_policy(plan, choice),
            limits=_limits(choice),
            meter=meter,
            placement=placement_of(
                choice.backend, drive.facts, choice.lab.cpus_of(request.entry)
            ),
            mistakes=mistakes_on(plan, drive.facts, choice.backend.virtual_time),
            left_out=tuple(fit.summary for fit in left_out),
            clock=_clock(options),
        )
        if choice.lab.results:
            from ioplan.store.delivery.outbox import Outbox  # noqa: PLC0415

            Outbox(options.store).add(start.id, choice.lab.results)
        code = _run_in(context, options)
    if choice.lab.results and not options.lane:
        from ioplan.cli.commands.push import delivered  # noqa: PLC0415  PostgreSQL's

        return delivered(options.store, choice.lab, start.id, code)
    return code


def _note_on(out: LineOutput) -> OnNote:
    return lambda text: out.say(text, "dim")


def _remove_unused(store: Store, folder: Path) -> None:
    """The folder of a session that was refused, or has ended without any run.

    While the store says that it runs, its lock tells whether that is true.
    """
    try:
        session = store.session(folder.name)
        if session.status == "running" or any(store.records(session.id)):
            return
    except StoreError as error:
        if error.kind != StoreFault.NO_SESSION:
            return
    remove_unused(folder)


def _chosen(plan: PlanSummary, options: Options, session: str) -> Choice:
    if plan.hosts or is_shared(read_lab(options.lab), options.target):
        return needed_lab_plugin().backend_on_hosts(plan, options, session)
    named = options.backend, options.lab, options.options
    return chosen_backend(*named, target=options.target)


def check_same_target(before: Session | None, facts: TargetFacts) -> None:
    """A session goes on only on the target that it began on. Raises TargetError."""
    if before is None or is_session_target(before, facts):
        return
    raise TargetError(
        f"{facts.path} is not the target that session {before.id} began on; that was: "
        f"{before.args.get('target_key')}; start a new session with `ioplan run`",
        TargetFault.IDENTITY_MISMATCH,
    )


def _limits(choice: Choice) -> Limits:
    """How long a run may do nothing; the lab knows how slow its targets are."""
    silence_s = choice.lab.silence_s
    return Limits() if silence_s is None else Limits(silence_s=silence_s)


def _policy(plan: CheckedPlan, choice: Choice) -> Literal["stop", "continue"]:
    """The plan's word, else the lab's, else to stop."""
    return plan.on_failure or choice.lab.on_failure or "stop"


def _baseline(store: Store, key: str | None) -> BaselineSession | None:
    return BaselineSession(store, store.session(key).id) if key else None


def _run_in(context: SessionContext, options: Options) -> int:
    tally = SessionRunner(context).run()
    from ioplan.cli.conclusion import concluded  # noqa: PLC0415  no run waits for it

    return concluded(context, tally, options)


def _session(
    id: str,
    drive: Drive,
    plan: CheckedPlan,
    choice: Choice,
    options: Options,
    meter: tuple[str, ...],
) -> Session:
    args: dict[str, Any] = {
        "plan": str(options.plan.resolve()),
        "settings": options.settings,
        "target": options.target and _named(options.target, choice),
        "target_key": target_key(drive.facts),
        "lab": options.lab and str(options.lab.resolve()),
        "backend_options": options.options,
        "set": plan.parameters,
        "profile": options.profile,
        "scale_time": options.scale_time,
        "create": options.create,
        "overwrite": [_absolute(name) for name in options.overwrite],
        "baseline": options.baseline,
        "options": choice.options,
        "allow_approximate": options.allow_approximate,
        "allow": options.allow,
        "only_exact": options.only_exact,
        "files": plan.files,
        "tests": options.tests,
        **_drive_file(choice),
    }
    args["seal"] = _signature(id, choice, args)
    session = new_session(id, plan, choice, drive.facts, args, meter)
    lane = _lane(options)
    words = {
        "job": lane.job if lane else None,
        "person": options.person or session.person,
        "tags": tuple(sorted({*options.tags})),
        "note": options.note,
    }
    return session.model_copy(update=words)


def _drive_file(choice: Choice) -> dict[str, str]:
    """The text of the simulated drive, as its file may be another one tomorrow."""
    named = choice.options.get("drive")
    if choice.backend.name != SIM or not isinstance(named, str):
        return {}
    with suppress(OSError, ValueError):
        return {"drive_file": read_text(Path(named))}
    return {}


def _signature(id: str, choice: Choice, args: dict[str, Any]) -> str:
    """Without a place for a key a plan runs all the same; only to resume needs it."""
    try:
        return sign(id, choice.backend.name, args)
    except StoreError:
        return ""


def _named(target: str, choice: Choice) -> str:
    """A name of the lab stays one, whatever file is called so."""
    return target if target in choice.lab.targets else _absolute(target)


def _absolute(name: str) -> str:
    """A path that holds from every folder; other names stay as they are."""
    path = Path(name)
    return str(path.absolute()) if path.exists() else name


def new_session(
    id: str,
    plan: CheckedPlan,
    choice: Choice,
    facts: TargetFacts,
    args: dict[str, Any],
    meter: tuple[str, ...],
) -> Session:
    """A session that begins now, on this host; `meter` prints watts."""
    host, word = _host(choice, facts, meter), args.get("target")
    lab_name = word if word in choice.lab.targets else ""
    return Session.model_construct(
        id=id,
        plan=plan.title,
        plan_file=plan.file,
        plan_text=plan.text,
        started_at=now(),
        backend=choice.backend.name,
        target=facts.path,
        args=args,
        host=host,
        host_name=host["hostname"],
        person=login_name(),
        drive=drive_of(facts.model_dump(mode="json"), lab_name),
    )


def _host(choice: Choice, facts: TargetFacts, meter: tuple[str, ...]) -> dict[str, Any]:
    """A target in virtual time is on no host."""
    return host_facts() if choice.backend.virtual_time else host_facts(facts, meter)


def _clock(options: Options) -> Callable[[], HostClock | None]:
    lane = _lane(options)
    return lane.clock if lane else no_clock


def _observer(options: Options, out: LineOutput) -> SessionObserver:
    if lane := _lane(options):
        return lane.observer
    if options.json:
        from ioplan.cli.display.json_lines import JsonLines  # noqa: PLC0415

        return JsonLines()
    if options.quiet:
        return SessionObserver()
    if out.is_terminal:
        from ioplan.cli.display.live_lines import LiveLines  # noqa: PLC0415
        from ioplan.cli.display.terminal import Terminal  # noqa: PLC0415

        if isinstance(out, Terminal):
            return LiveLines(out)
    return Lines(out)
