"""The end of a session: what is printed of it, and its exit code."""

from __future__ import annotations

from shlex import quote

from rich.console import Console

from ioplan.cli.display.output import print_message
from ioplan.cli.display.terminal import Terminal
from ioplan.cli.exit_codes import EXPECTATION_FAILED, HELD, INTERRUPTED, RUN_FAILED
from ioplan.cli.run_options import RunCall
from ioplan.core.text import counted, line
from ioplan.records.current import current_records
from ioplan.records.record import RunRecord
from ioplan.records.session import Session
from ioplan.results.report.terminal.show import show_records
from ioplan.results.store.errors import StoreError
from ioplan.results.store.sessions import SessionVerdict
from ioplan.results.store.store import default_path
from ioplan.runner.execute.outcome import SessionOutcome
from ioplan.runner.session.context import SessionContext


def concluded(context: SessionContext, tally: SessionOutcome, call: RunCall) -> int:
    """Show a session that has ended; returns the exit code."""
    session, stored = _stored(context, tally)
    records = current_records(stored)
    console = Terminal(quiet=call.quiet or call.json)
    if not call.json and not call.quiet:
        plan, store = context.plan, context.store
        show_records(console, store, session, records, plan, most_charts=0)
    _print_failures(console, tally)
    _name_session(console, tally, session, len(stored), call)
    if tally.interrupted:
        return INTERRUPTED
    if tally.failure:
        return RUN_FAILED
    verdict = context.store.verdict(session.id)
    return exit_code(verdict, call.request.baseline is not None)


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


def _print_failures(console: Console, tally: SessionOutcome) -> None:
    if tally.skipped:
        others = len(tally.skipped) - 1
        more = f" (and {others} more skipped)" if others else ""
        console.print(line(f"skipped: {tally.skipped[0]}{more}", "yellow"))
    if tally.failure:
        print_message(f"error: {tally.failure}")


def _name_session(
    console: Console, tally: SessionOutcome, session: Session, runs: int, call: RunCall
) -> None:
    """Say where all figures are, with as many runs as `ioplan ls` shows."""
    there = "" if call.store == default_path() else f" --store {quote(str(call.store))}"
    reused = f", {tally.reused} of them reused" if tally.reused else ""
    text = (
        f"{counted(runs, 'run')} kept{reused}: ioplan show {session.id} --tables{there}"
    )
    if tally.failure or tally.interrupted:
        text += f"\nto continue: ioplan resume {session.id}{there}"
    console.print(text, soft_wrap=True, highlight=False)


def exit_code(verdict: SessionVerdict, baseline: bool) -> int:
    """0 all held, 1 an expectation not shown to hold.

    Where a baseline was named, one that has not the run is not passed over.
    """
    unmet = ("failed", "undecided", *(["no baseline"] * baseline))
    return EXPECTATION_FAILED if verdict in unmet else HELD
