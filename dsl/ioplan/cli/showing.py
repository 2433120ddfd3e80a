"""`ioplan show`."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from ioplan.cli.failure import UsageError
from ioplan.language.checker import check
from ioplan.language.diagnostic import PlanError
from ioplan.language.module import library_roots
from ioplan.language.plan import CheckedPlan
from ioplan.language.source import Source
from ioplan.report.show import show_records
from ioplan.report.units import time_text
from ioplan.results.session import Session
from ioplan.results.store import Store
from ioplan.suggest import did_you_mean


def show_session(console: Console, store: Store, key: str, test: str | None) -> None:
    """Print a session: what ran on what, then each test."""
    session = store.session(key)
    records = list(store.records(session.id, test))
    if test and not records:
        titles = {record.asked.test for record in store.records(session.id)}
        raise UsageError(
            f"session {session.id} has no test {test!r}{did_you_mean(test, titles)}"
        )
    spent_s = sum(record.run_s for record in records)
    console.print(
        f"{session.plan} on {session.target}, {session.backend}, {session.status}; "
        f"{len(records)} runs, {time_text(spent_s)} measured; session {session.id}",
        markup=False,
        soft_wrap=True,
    )
    show_records(console, store, records, plan_of(session))


def plan_of(session: Session) -> CheckedPlan | None:
    """The plan as it was run, for its charts; None if it is no plan any more."""
    path = Path(session.plan_file)
    settings = {k: v for k, v in session.args.get("set", {}).items() if v}
    scale = float(session.args.get("scale_time", 1.0))
    source = Source(session.plan_file, session.plan_text)
    try:
        return check(source, library_roots(path), settings, scale)
    except PlanError:
        return None
