"""`ioplan show`."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from ioplan.cli.failure import UsageError
from ioplan.language.checker import check
from ioplan.language.diagnostic import PlanError
from ioplan.language.module import installed_plans, library_roots, read_text
from ioplan.language.plan import FULL, CheckedPlan
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
    args, source = session.args, Source(session.plan_file, session.plan_text)
    try:
        settings = {k: v for k, v in args.get("set", {}).items() if v}
        scale = float(args.get("scale_time", 1.0))
        profile = args.get("profile", FULL)
        return check(source, _roots(session), settings, scale, None, profile)
    except (PlanError, AttributeError, TypeError, ValueError):
        return None  # a store that was passed on may say anything


def _roots(session: Session) -> tuple[Path, ...]:
    """What lies beside the plan is read only if the plan itself lies there.

    A store that was passed on names any path, and its plan uses any file there.
    """
    path = Path(session.plan_file)
    try:
        same_size = path.stat().st_size == len(session.plan_text.encode())
        if same_size and read_text(path) == session.plan_text:
            return library_roots(path)
    except (OSError, ValueError):
        pass
    return (installed_plans(),)
