"""The end of a session: what is printed of it, and its exit code."""

from __future__ import annotations

from typing import NamedTuple

from rich.console import Console

from ioplan.cli.display.output import print_message
from ioplan.cli.display.terminal import Terminal
from ioplan.cli.exit_codes import EXPECTATION_FAILED, HELD, INTERRUPTED, RUN_FAILED
from ioplan.cli.run_options import RunCall
from ioplan.core.text import counted, line
from ioplan.language.plan import CheckedPlan
from ioplan.planner.places import places_of
from ioplan.records.assessed import unsteady, without_value
from ioplan.records.outline import current_records
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
from ioplan.runner.execute.outcome import SessionOutcome
from ioplan.runner.session.context import SessionContext


def concluded(context: SessionContext, tally: SessionOutcome, call: RunCall) -> int:
    """Show a session that has ended; returns the exit code."""
    session, records = _stored(context, tally)
    console = Terminal(quiet=call.quiet or call.json)
    if not call.json and not call.quiet:
        console.print()
        show_records(console, context.store, session, records, context.plan)
    missed = _missed(context.plan, records)
    places = {} if tally.status == "ok" else places_of(context.plan)
    _conclude(console, tally, judgements(records, places), missed, session, call)
    unmet = sum(one.counts for one in missed)
    return exit_code(tally, unmet, call.request.baseline is not None)


def _stored(
    context: SessionContext, tally: SessionOutcome
) -> tuple[Session, list[RunRecord]]:
    """What the store has of the session; maybe nothing where that failed."""
    store, id = context.store, context.session.id
    try:
        return store.session(id), current_records(list(store.records(id)))
    except StoreError:
        if not tally.failure:
            raise
        return context.session, []


class Missed(NamedTuple):
    """What was asked for and not reached; it `counts` unless the plan goes on."""

    text: str
    counts: bool


def _missed(plan: CheckedPlan, records: list[RunRecord]) -> list[Missed]:
    """Steady states and values of seeks; tests that the plan no longer has are out."""
    titles = {test.title for test in plan.tests}
    records = [one for one in records if one.asked.test in titles]
    counts = plan.on_unsteady == "fail"
    missed = [
        Missed(f"not steady: {unsteady_text(one)}", counts) for one in unsteady(records)
    ]
    counts = plan.on_nothing_found == "fail"
    return missed + [
        Missed(f"nothing found: {one.asked.test}: {found_at(one)}", counts)
        for one in without_value(records)
    ]


def _conclude(
    console: Console,
    tally: SessionOutcome,
    found: list[Judgement],
    missed: list[Missed],
    session: Session,
    call: RunCall,
) -> None:
    judged = outcomes_text(outcomes_of(found))
    console.print(f"expectations: {judged}" if judged else "no expectations")
    for one in missed:
        console.print(line(one.text, "yellow"))
    if tally.skipped:
        others = len(tally.skipped) - 1
        rest = f" (and {others} more skipped)" if others else ""
        console.print(line(f"skipped: {tally.skipped[0]}{rest}", "yellow"))
    if tally.failure:
        print_message(f"error: {tally.failure}")
    ended = not (tally.failure or tally.interrupted)
    more = "" if ended else f"\nto continue: ioplan resume {session.id}"
    kept = f" and {tally.reused} from before" if tally.reused else ""
    console.print(
        f"{counted(tally.runs, 'run')}{kept} kept in {call.store}\n"
        f"session {session.id}: ioplan show {session.id}{more}",
        soft_wrap=True,
        highlight=False,
    )


def exit_code(tally: SessionOutcome, missed: int, baseline: bool) -> int:
    """0 all held, 1 an expectation not shown to hold, 3 a failed run, 130 stopped.

    Where a baseline was named, one that has not the run is not passed over. A steady
    state that was missed, or a seek without a value, is like an expectation that did
    not hold.
    """
    if tally.interrupted:
        return INTERRUPTED
    if tally.failure:
        return RUN_FAILED
    unmet = tally.verdicts.get("failed", 0) + tally.verdicts.get("undecided", 0)
    if baseline:
        unmet += tally.verdicts.get("no baseline", 0)
    return EXPECTATION_FAILED if unmet or missed else HELD
