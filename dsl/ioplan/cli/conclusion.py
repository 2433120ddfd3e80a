"""The end of a session: what is printed of it, and its exit code."""

from __future__ import annotations

from shlex import quote

from rich.console import Console

from ioplan.cli.display.output import print_message
from ioplan.cli.display.terminal import Terminal
from ioplan.cli.exit_codes import EXPECTATION_FAILED, HELD, INTERRUPTED, RUN_FAILED
from ioplan.cli.run_options import RunCall
from ioplan.core.text import counted, line
from ioplan.planner.places import places_of
from ioplan.records.current import current_records
from ioplan.records.record import RunRecord
from ioplan.records.session import Session
from ioplan.results.report.judgements import (
    Judgement,
    judgements,
    outcomes_of,
    outcomes_text,
)
from ioplan.results.report.sentences import found_at
from ioplan.results.report.terminal.show import show_records
from ioplan.results.report.verdicts import unsteady_text
from ioplan.results.store.errors import StoreError
from ioplan.results.store.overview import SessionVerdict
from ioplan.results.store.store import default_path
from ioplan.runner.execute.outcome import SessionOutcome
from ioplan.runner.session.context import SessionContext
from ioplan.runner.session.missed import Missed, missed


def concluded(context: SessionContext, tally: SessionOutcome, call: RunCall) -> int:
    """Show a session that has ended; returns the exit code."""
    session, stored = _stored(context, tally)
    records = current_records(stored)
    console = Terminal(quiet=call.quiet or call.json)
    if not call.json and not call.quiet:
        console.print()
        show_records(console, context.store, session, records, context.plan)
    places = {} if tally.status == "ok" else places_of(context.plan)
    lines = [_missed_text(one) for one in missed(context.plan, records)]
    _conclude(console, tally, judgements(records, places), lines, session, call)
    _name_session(console, tally, session, len(stored), call)
    if tally.interrupted:
        return INTERRUPTED
    if tally.failure:
        return RUN_FAILED
    verdict = context.store.verdict(session.id)
    return exit_code(verdict, call.request.baseline is not None)


def _missed_text(one: Missed) -> str:
    if one.is_unsteady:
        return f"not steady: {unsteady_text(one.record)}"
    return f"nothing found: {one.record.asked.test}: {found_at(one.record)}"


def _stored(
    context: SessionContext, tally: SessionOutcome
) -> tuple[Session, list[RunRecord]]:
    """All records that the store has; maybe none where the session failed."""
    store, id = context.store, context.session.id
    try:
        return store.session(id), list(store.records(id))
    except StoreError:
        if not tally.failure:
            raise
        return context.session, []


def _conclude(
    console: Console,
    tally: SessionOutcome,
    found: list[Judgement],
    missed: list[str],
    session: Session,
    call: RunCall,
) -> None:
    judged = outcomes_text(outcomes_of(found))
    console.print(f"expectations: {judged}" if judged else "no expectations")
    for text in missed:
        console.print(line(text, "yellow"))
    if tally.skipped:
        others = len(tally.skipped) - 1
        rest = f" (and {others} more skipped)" if others else ""
        console.print(line(f"skipped: {tally.skipped[0]}{rest}", "yellow"))
    if tally.failure:
        print_message(f"error: {tally.failure}")


def _name_session(
    console: Console, tally: SessionOutcome, session: Session, runs: int, call: RunCall
) -> None:
    """Say where the session is, with as many runs as `ioplan ls` shows."""
    ended = not (tally.failure or tally.interrupted)
    there = "" if call.store == default_path() else f" --store {quote(str(call.store))}"
    more = "" if ended else f"\nto continue: ioplan resume {session.id}{there}"
    reused = f", {tally.reused} of them not repeated" if tally.reused else ""
    console.print(
        f"{counted(runs, 'run')} kept in {call.store}{reused}\n"
        f"session {session.id}: ioplan show {session.id}{there}{more}",
        soft_wrap=True,
        highlight=False,
    )


def exit_code(verdict: SessionVerdict, baseline: bool) -> int:
    """0 all held, 1 an expectation not shown to hold.

    Where a baseline was named, one that has not the run is not passed over.
    """
    unmet = ("failed", "undecided", *(["no baseline"] * baseline))
    return EXPECTATION_FAILED if verdict in unmet else HELD
