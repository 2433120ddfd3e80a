"""`ioplan run`: parse, check, plan, run, report."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, field

from ioplan.backends.backend import Drive, TargetFacts, TargetRequest
from ioplan.cli.display.plain import LineOutput, line_output
from ioplan.cli.errors import UsageError
from ioplan.cli.events import check_events, event_commands
from ioplan.cli.exit_codes import HELD
from ioplan.cli.inputs import SIM, plan_path, simulated, size
from ioplan.cli.lab_plugin import needed_lab_plugin
from ioplan.cli.run_options import RunCall, read_request, requested, requested_plan
from ioplan.cli.sessions.joined import open_together, opening_of
from ioplan.cli.sessions.selection import print_tests
from ioplan.cli.targets.choose import (
    Choice,
    chosen_backend,
    make_target,
)
from ioplan.cli.targets.consents import with_listed
from ioplan.cli.targets.fitting import accepted, check_fit, only_fitting
from ioplan.cli.targets.host_settings import prepared_for, with_prepared
from ioplan.cli.targets.power import check_power, power_supply
from ioplan.cli.watchers import lane_of, watcher_of
from ioplan.core.error_kinds import StoreFault, TargetFault
from ioplan.language.checker.modules import read_text
from ioplan.language.lints.lints import LEFT_OUT
from ioplan.language.plan import CheckedPlan
from ioplan.planner.budget import Share, shares_within
from ioplan.planner.places import expected_count
from ioplan.planner.summary import PlanSummary, summary_of
from ioplan.records.drive import drive_of
from ioplan.records.host_clock import HostClock
from ioplan.records.run_request import Resolved, RunRequest
from ioplan.records.session import Session
from ioplan.records.session_id import new_session_id
from ioplan.results.store.database import BUSY_S, LANE_BUSY_S
from ioplan.results.store.delivery import Outbox
from ioplan.results.store.errors import StoreError
from ioplan.results.store.session_folder import (
    remove_unused,
    session_folder,
    session_lock,
)
from ioplan.results.store.store import Store, default_path
from ioplan.runner.devices.file_id import is_there
from ioplan.runner.execute.execute import begin_clock, now
from ioplan.runner.execute.watchdog import Limits
from ioplan.runner.guard.data_check import changed_by_others
from ioplan.runner.guard.target import TargetError
from ioplan.runner.host.prepared import OnNote
from ioplan.runner.lab.cross_references import expanded, is_fleet, is_shared
from ioplan.runner.lab.lab_file import read_lab
from ioplan.runner.prepare.fit_report import Fit
from ioplan.runner.prepare.host_facts import host_facts
from ioplan.runner.prepare.placement import placement_of
from ioplan.runner.session.baseline import find_baseline
from ioplan.runner.session.context import FinishedRuns, SessionContext, no_clock
from ioplan.runner.session.recorder import lints_on
from ioplan.runner.session.session import SessionRunner
from ioplan.runner.session.signature import login_name, signed
from ioplan.runner.state.state_ledger import (
    UNKNOWN,
    forget_state,
    is_session_target,
    known_account,
    proven,
    target_key,
)

BUNDLE = ".ioplan-bundle"


def run_command(
    *,
    plan: Path,
    store: Path | None,
    request: Path | None,
    sim: Path | None,
    on: str | None,
    detach: bool,
    **others: Any,
) -> int:
    """Run a plan here, or on the targets and hosts of a lab; returns the exit code."""
    said = simulated(sim, others["backend"], others["options"])
    others["backend"], others["options"] = said
    call = RunCall(
        request=read_request(request) if request else requested(others),
        plan=plan_path(plan),
        store=store or default_path(),
        **{name: others[name] for name in RunCall.__struct_fields__ if name in others},
    )
    if call.quiet and call.json:
        raise UsageError("use --quiet or --json, not both")
    if on:
        return needed_lab_plugin().run_on(call, on, detach)
    if not call.lane and not call.listed and _has_lanes(call.request, detach):
        if call.plan.suffix == BUNDLE:
            raise UsageError(
                "a bundle can only be repeated on one target; for a group, extract "
                f"its plan with ioplan unbundle {call.plan} -o FOLDER, and run it"
            )
        if not _is_joined(call, detach):
            return needed_lab_plugin().run_on_targets(call, detach)
    if detach:
        raise UsageError("--detach is for targets and groups of the lab")
    if call.plan.suffix == BUNDLE:
        from ioplan.cli.commands.share.unbundle import run_bundle  # noqa: PLC0415  rare

        return run_bundle(call, run)
    return run(call)


def _has_lanes(request: RunRequest, detach: bool) -> bool:
    """A single target of this host gets a lane where nobody is to wait for it."""
    lab = read_lab(request.lab)
    return is_fleet(lab, request.targets) or (detach and request.target in lab.here)


def _is_joined(call: RunCall, in_lanes: bool) -> bool:
    """Whether the plan has its targets in one run. Raises UsageError, PlanError."""
    if len(expanded(read_lab(call.request.lab), call.request.targets)) < 2:
        return False
    joins = summary_of(requested_plan(call.plan, call.request)).joins_targets
    if joins and in_lanes:
        raise UsageError(
            "--detach is for targets with a drive job each; this plan has them in one "
            "run (over all, on targets)"
        )
    return joins


def run(call: RunCall, id: str = "") -> int:
    """Run a plan; returns the exit code. Raises ExplainedError and PlanError."""
    plan = requested_plan(call.plan, call.request)
    if call.listed:
        print_tests(plan)
        return HELD
    busy_s = LANE_BUSY_S if call.lane else BUSY_S
    with Store.open(call.store, busy_s) as store:
        return run_session(plan, call, store, SessionStart(id or _id(call)))


def _id(call: RunCall) -> str:
    """A lane has its session's id from the start, so that it is found again."""
    lane = lane_of(call)
    return lane.session if lane else new_session_id()


class SessionStart(Struct, frozen=True):
    """A session by its id, and what it has done in an earlier life.

    `on_opened` is called when its target was accepted: a refused one leaves no event.
    """

    id: str
    before: Session | None = None
    done: FinishedRuns = field(default_factory=FinishedRuns)
    on_opened: Callable[[], None] = staticmethod(lambda: None)


def run_session(
    plan: CheckedPlan, call: RunCall, store: Store, start: SessionStart
) -> int:
    """Open the target, see that the plan fits, and run what is not done yet.

    Who resumes a session holds its lock already.
    """
    begin_clock()
    summary = summary_of(plan)
    asked = with_listed(call, plan)
    allowed = accepted(asked.allow, asked.allow_approximate)
    choice = _chosen(summary, asked, start.id)
    folder = session_folder(call.store, start.id)
    request = TargetRequest(
        path=asked.target,
        create_bytes=size(asked.create, "--create"),
        overwrite=asked.overwrite,
        overwrite_data=asked.overwrite_data,
        cannot_see_users=asked.cannot_see_users,
        writes=summary.writes,
        options=choice.options,
        folder=str(folder),
    )
    requests = opening_of(summary, asked, choice, request)
    request = next(iter(requests.values())) if len(requests) == 1 else request
    out = line_output(call.quiet or call.json)
    check_power(summary, choice, request)
    check_events(summary, choice)
    with ExitStack() as stack:
        if not start.before:
            for one in requests.values():
                make_target(choice.backend, one, out)
            stack.enter_context(session_lock(folder))
            stack.callback(_remove_unused, store, folder)
        drive, request = open_together(choice.backend, requests, request)
        stack.enter_context(closing(drive))
        words = {*request.overwrite, *request.overwrite_data}
        asked = asked.model_copy(update={"overwrite": tuple(sorted(words))})
        left_out: list[Fit] = []
        if asked.only_exact or LEFT_OUT in plan.accepted:
            plan, summary, left_out = only_fitting(plan, choice, drive.facts, allowed)
        check_fit(summary, choice, drive.facts, allowed)
        check_same_target(start.before, drive.facts)
        state, why = proven(store, drive.facts)
        is_doubted = state == UNKNOWN and why  # which is told
        if asked.fresh or (not is_doubted and changed_by_others(drive.facts.evidence)):
            forget_state(store, drive.facts, start.id)
        shares = _shares(plan, asked, store, drive.facts)
        start.on_opened()
        meter = choice.lab.meter_of(request.entry)
        power = power_supply(summary, choice, request, stack)
        prepared = stack.enter_context(
            prepared_for(choice, drive.facts, start.id, _note_on(out))
        )
        session = start.before or _session(
            start.id, drive, plan, choice, call, asked, meter
        )
        watched = session, drive.facts, choice.lab
        watcher = watcher_of(call, out, *watched, stack)
        context = SessionContext(
            plan=plan,
            summary=summary,
            backend=choice.backend,
            drive=drive,
            store=store,
            session=with_prepared(session, prepared),
            options=choice.options,
            observer=watcher,
            baseline=find_baseline(store, asked.baseline, session)
            if asked.baseline
            else None,
            finished_runs=start.done,
            on_failure=_policy(plan, choice),
            limits=_limits(choice),
            meter=meter,
            placement=placement_of(
                choice.backend, drive.facts, choice.lab.cpus_of(request.entry)
            ),
            lints=lints_on(
                plan,
                drive.facts,
                known_account(store, drive.facts),
            ),
            left_out=tuple(fit.summary for fit in left_out),
            clock=_clock(call),
            power=power,
            events=event_commands(summary, choice.lab),
            within_s=asked.within_s,
            shares=shares,
        )
        if choice.lab.results:
            Outbox(call.store).add(start.id, choice.lab.results)
        code = _run_in(context, call)
    if choice.lab.results and not call.lane:
        from ioplan.cli.commands.push import delivered  # noqa: PLC0415  PostgreSQL's

        return delivered(call.store, choice.lab, start.id, code)
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


def _chosen(plan: PlanSummary, asked: RunRequest, session: str) -> Choice:
    if plan.hosts or is_shared(read_lab(asked.lab), asked.target):
        return needed_lab_plugin().backend_on_hosts(plan, asked, session)
    named = asked.backend, asked.lab, asked.options
    return chosen_backend(*named, target=asked.target)


def check_same_target(before: Session | None, facts: TargetFacts) -> None:
    """A session goes on only on the target that it began on. Raises TargetError."""
    if before is None or is_session_target(before, facts):
        return
    raise TargetError(
        f"{facts.path} is not the target that session {before.id} began on; that was: "
        f"{before.resolved.target_key}; start a new session with `ioplan run`",
        TargetFault.IDENTITY_MISMATCH,
    )


def _shares(
    plan: CheckedPlan, asked: RunRequest, store: Store, facts: TargetFacts
) -> tuple[Share, ...]:
    """What each test gets of the time of --within. Raises BudgetError."""
    state = UNKNOWN if asked.fresh else proven(store, facts)[0]
    return shares_within(asked.within_s, plan, facts.capacity_bytes, state)


def _limits(choice: Choice) -> Limits:
    """How long a run may do nothing; the lab knows how slow its targets are."""
    silence_s = choice.lab.silence_s
    return Limits() if silence_s is None else Limits(silence_s=silence_s)


def _policy(plan: CheckedPlan, choice: Choice) -> Literal["stop", "continue"]:
    """The plan's word, else the lab's, else to stop."""
    return plan.on_failure or choice.lab.on_failure or "stop"


def _run_in(context: SessionContext, call: RunCall) -> int:
    tally = SessionRunner(context).run()
    from ioplan.cli.conclusion import concluded  # noqa: PLC0415  no run waits for it

    return concluded(context, tally, call)


def _session(
    id: str,
    drive: Drive,
    plan: CheckedPlan,
    choice: Choice,
    call: RunCall,
    asked: RunRequest,
    meter: tuple[str, ...],
) -> Session:
    resolved = Resolved(
        plan=str(call.plan.resolve()),
        target_key=target_key(drive.facts),
        parameters=plan.parameters,
        files=plan.files,
        options=choice.options,
        drive_file=_drive_file(choice),
    )
    asked = _lasting(asked, choice)
    session = new_session(id, plan, choice, drive.facts, asked, resolved, meter)
    lane = lane_of(call)
    words = {
        "expected": expected_count(plan),
        "job": lane.job if lane else None,
        "person": asked.person or session.person,
        "tags": asked.tags,
        "note": asked.note,
    }
    return _signed(session.model_copy(update=words))


def _lasting(asked: RunRequest, choice: Choice) -> RunRequest:
    """As it can be repeated from every folder; what a person has to permit each time
    is not kept."""
    change = {
        "targets": tuple(_named(one, choice) for one in asked.targets),
        "lab": asked.lab and asked.lab.resolve(),
        "overwrite": tuple(map(_absolute, asked.overwrite)),
        "overwrite_data": (),
    }
    return asked.model_copy(update=change)


def _drive_file(choice: Choice) -> str:
    """The text of the simulated drive, as its file may be another one tomorrow."""
    named = choice.options.get("drive")
    if choice.backend.name == SIM and isinstance(named, str):
        with suppress(OSError, ValueError):
            return read_text(Path(named))
    return ""


def _signed(session: Session) -> Session:
    """Without a place for a key a plan runs all the same; only to resume needs it."""
    try:
        return signed(session)
    except StoreError:
        return session


def _named(target: str, choice: Choice) -> str:
    """A name of the lab stays one, whatever file is called so."""
    return target if target in choice.lab.targets else _absolute(target)


def _absolute(name: str) -> str:
    """A path that holds from every folder; other names stay as they are."""
    path = Path(name)
    return str(path.absolute()) if is_there(path) else name


def new_session(
    id: str,
    plan: CheckedPlan,
    choice: Choice,
    facts: TargetFacts,
    request: RunRequest,
    resolved: Resolved,
    meter: tuple[str, ...],
) -> Session:
    """A session that begins now, on this host; `meter` prints watts."""
    host, word = _host(choice, facts, meter), request.target or ""
    lab_name = word if word in choice.lab.targets else ""
    return Session.model_construct(
        id=id,
        plan=plan.title,
        plan_file=plan.file,
        plan_text=plan.text,
        started_at=now(),
        backend=choice.backend.name,
        target=facts.path,
        request=request,
        resolved=resolved,
        host=host,
        host_name=host["hostname"],
        person=login_name(),
        drive=drive_of(facts.model_dump(mode="json"), lab_name),
    )


def _host(choice: Choice, facts: TargetFacts, meter: tuple[str, ...]) -> dict[str, Any]:
    """A target in virtual time is on no host."""
    return host_facts() if choice.backend.virtual_time else host_facts(facts, meter)


def _clock(call: RunCall) -> Callable[[], HostClock | None]:
    lane = lane_of(call)
    return lane.clock if lane else no_clock
