"""`ioplan resume`: go on with a session that was killed, stopped or failed."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct
from rich.console import Console

from ioplan.cli.commands.run import SessionStart, run_session
from ioplan.cli.display.output import print_message
from ioplan.cli.display.terminal import Terminal
from ioplan.cli.errors import UsageError
from ioplan.cli.exit_codes import HELD
from ioplan.cli.lab_plugin import lab_plugin
from ioplan.cli.run_options import RunCall, requested_plan
from ioplan.cli.sessions.selection import only_tests, print_tests
from ioplan.language.plan import CheckedPlan
from ioplan.planner.places import expected_count, places_of
from ioplan.planner.steps import Run
from ioplan.records.current import current_records
from ioplan.records.record import RunRecord
from ioplan.records.session import Session, SessionEvent
from ioplan.results.report.judgements import judgements
from ioplan.results.store.database import BUSY_S, LANE_BUSY_S
from ioplan.results.store.session_folder import session_folder, session_lock
from ioplan.results.store.store import Store, default_path
from ioplan.runner.execute.execute import now
from ioplan.runner.session.context import FinishedRuns, PlanChange, plan_change
from ioplan.runner.session.signature import is_signed, signed

MOST_SHOWN = 5
WORDS = ("overwrite", "overwrite_from", "overwrite_data", "cannot_see_users")
"""What permits writing to one target."""


class ResumeOptions(Struct, frozen=True):
    """What `resume` was called with."""

    session: str
    store: Path
    tests: list[str] = []
    listed: bool = False
    plan: Path | None = None
    overwrite: list[str] = []
    overwrite_from: Path | None = None
    overwrite_data: list[str] = []
    cannot_see_users: bool = False
    trust: bool = False
    quiet: bool = False
    json: bool = False
    lane: Path | None = None


def resume_command(
    *, session: str, store: Path | None, quiet: bool, detach: bool, **others: Any
) -> int:
    """Go on with a session, or with all drive jobs of a job; returns the exit code."""
    place = store or default_path()
    if (lab := lab_plugin()) and lab.has_job(place, session):
        _check_no_words(others)
        return lab.resume_job(place, session, quiet, detach)
    if detach:
        raise UsageError("--detach is only for jobs")
    return resume(ResumeOptions(session=session, store=place, quiet=quiet, **others))


def _check_no_words(others: dict[str, Any]) -> None:
    """Each drive job has a session and a target of its own."""
    if any(others[key] for key in WORDS):
        raise UsageError(
            "--overwrite and --cannot-see-users are for one session: ioplan lab status "
            "shows the drive jobs; resume the one by its ID, on its host"
        )


def resume(resumed: ResumeOptions) -> int:
    """Go on at the first run that is not finished; returns the exit code."""
    with Store.open(resumed.store, LANE_BUSY_S if resumed.lane else BUSY_S) as store:
        id = store.session(resumed.session).id
        with session_lock(session_folder(resumed.store, id)):
            # read again: another process may have had the lock until now
            return _resume(store, store.session(id), resumed)


def _resume(store: Store, session: Session, resumed: ResumeOptions) -> int:
    """Nobody else works on the session meanwhile."""
    console = Terminal(quiet=resumed.quiet or resumed.json, soft_wrap=True)
    call = _call(session, resumed)
    plan = requested_plan(call.plan, call.request, started=True)
    some = only_tests(plan, resumed.tests)
    if resumed.listed:
        print_tests(some)
        return HELD
    records = list(store.records(session.id))
    if session.status == "ok" and not _is_edited(plan, session):
        console.print(f"session {session.id} has ended; nothing to resume")
        from ioplan.cli.conclusion import exit_code  # noqa: PLC0415  no run waits

        baseline = call.request.baseline is not None
        return exit_code(store.verdict(session.id), baseline)
    change = plan_change(plan, records) if _is_edited(plan, session) else None
    if resumed.plan and change and change.removed and not change.reused:
        raise _other_plan(plan, session)
    records = change.records if change else records
    start = SessionStart(
        session.id,
        _as_running(session, plan),
        FinishedRuns(records),
        partial(_note_changes, store, session, plan, records, change, console),
    )
    code = run_session(some, call, store, start)
    if len(some.tests) < len(plan.tests) and store.session(session.id).status == "ok":
        _leave_open(plan, store, session.id, console)
    return code


def _other_plan(plan: CheckedPlan, session: Session) -> UsageError:
    """All that the session has would stand aside, and count no more."""
    return UsageError(
        f"session {session.id} is of the plan {session.plan!r}, and none of its runs "
        f"is in {plan.file} ({plan.title!r}); run that plan as a session of its own: "
        f"ioplan run {plan.file}"
    )


def _leave_open(plan: CheckedPlan, store: Store, id: str, console: Console) -> None:
    """Some tests went on; the session has not ended if others have runs left, or were
    not judged since the plan was edited."""
    records = list(store.records(id))
    if plan_change(plan, records).added or _unjudged(plan, records):
        store.finish(id, "interrupted", now())
        console.print(f"other tests are left: ioplan resume {id}", highlight=False)


def _unjudged(plan: CheckedPlan, records: list[RunRecord]) -> bool:
    found = judgements(current_records(records), places_of(plan))
    return any(one.verdict is None for one in found)


def _call(session: Session, resumed: ResumeOptions) -> RunCall:
    """The call that the session was begun with, and what is permitted now."""
    _check_signature(session, resumed)
    plan = resumed.plan or Path(session.resolved.plan)
    if not (plan.is_file() and plan.stat().st_size):
        state = "empty" if plan.is_file() else "gone"
        raise UsageError(
            f"the plan {str(plan)!r} of session {session.id} is {state}; name it with "
            f"--plan, or write it out: ioplan show {session.id} --plan > FILE"
        )
    change = {
        "backend": session.backend,
        "overwrite": (*session.request.overwrite, *resumed.overwrite),
        "overwrite_data": tuple(resumed.overwrite_data),
        "cannot_see_users": session.request.cannot_see_users
        or resumed.cannot_see_users,
        "fresh": False,  # what it has prepared since holds
        "within": "",  # to measure what there was no time for
    }
    return RunCall(
        request=session.request.model_copy(update=change),
        plan=plan,
        store=resumed.store,
        overwrite_from=resumed.overwrite_from,
        quiet=resumed.quiet,
        json=resumed.json,
        lane=resumed.lane,
    )


def _check_signature(session: Session, resumed: ResumeOptions) -> None:
    """A stranger's store must not say what is overwritten, and what programs run."""
    if not session.resolved.target_key:
        raise UsageError(f"session {session.id} was not started by `ioplan run`")
    if resumed.trust or is_signed(session):
        return
    raise UsageError(
        f"session {session.id} was not started by you on this host: its store says "
        f"what is overwritten ({', '.join(session.request.overwrite) or 'nothing'}) "
        "and which programs are run; if you trust it, add --trust"
    )


def _as_running(session: Session, plan: CheckedPlan) -> Session:
    """With the plan as it is now; what its user signed has the plan's files."""
    change = {
        "status": "running",
        "ended_at": None,
        "plan": plan.title,
        "plan_text": plan.text,
        "expected": expected_count(plan),
    }
    found = session.model_copy(update=change)
    if session.resolved.files == plan.files:
        return found
    known = session.resolved.model_copy(update={"files": plan.files})
    return signed(found.model_copy(update={"resolved": known}))


def _is_edited(plan: CheckedPlan, session: Session) -> bool:
    """Whether the plan, or a file that it uses, says something else than it did."""
    return (plan.text, plan.files) != (session.plan_text, session.resolved.files)


def _note_changes(
    store: Store,
    session: Session,
    plan: CheckedPlan,
    records: list[RunRecord],
    change: PlanChange | None,
    console: Console,
) -> None:
    """Say where the session stands, and what became of an edited plan."""
    finished = len(FinishedRuns(records))
    text = f"{finished} finished runs are kept"
    console.print(f"resuming session {session.id}: {text}", highlight=False)
    store.add_event(session.id, SessionEvent(at=now(), kind="resumed", text=text))
    if change is None:
        return
    before = SessionEvent(at=now(), kind="edited", text=session.plan_text)
    store.add_event(session.id, before)
    store.update_plan(_as_running(session, plan), records)
    for line in _lines(change, plan.file):
        print_message(line)


def _lines(found: PlanChange, file: str) -> Iterable[str]:
    """What an edited plan changes, in a few lines."""
    yield (
        f"{file} was edited since: {found.reused} finished runs are still in it, "
        f"{len(found.added)} are to be done, {len(found.removed)} are no longer in it"
    )
    yield from _first_few("  to be done", [_run(one) for one in found.added])
    yield from _first_few("  no longer in it", [_record(one) for one in found.removed])


def _first_few(title: str, names: list[str]) -> Iterable[str]:
    names = list(dict.fromkeys(names))
    yield from (f"{title}: {name}" for name in islice(names, MOST_SHOWN))
    if len(names) > MOST_SHOWN:
        yield f"{title}: and {len(names) - MOST_SHOWN} more"


def _run(run: Run) -> str:
    return f"{run.test.title}: {run}"


def _record(record: RunRecord) -> str:
    cell = " ".join(f"{n}={v}" for n, v in record.asked.cell.items())
    return f"{record.asked.test}: {cell or 'run'}"
