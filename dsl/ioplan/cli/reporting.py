"""`ioplan report`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from ioplan import __version__
from ioplan.cli.failure import UsageError
from ioplan.cli.reading import opened
from ioplan.cli.showing import plan_of
from ioplan.report.compose import document
from ioplan.report.html.page import page
from ioplan.report.units import bytes_text
from ioplan.results.session import Session
from ioplan.results.store import Store


def write_report(console: Console, store: Store, keys: list[str], output: Path) -> None:
    """Write one HTML file on all sessions. Raises UsageError, StoreError."""
    sessions = _sessions(store, keys)
    plans = {session.id: plan_of(session) for session in sessions}
    made = f"Made {datetime.now(UTC):%Y-%m-%d %H:%M} UTC by ioplan {__version__}"
    data = page(document(store, sessions, plans, made)).encode()
    with opened(output) as out:
        out.write(data)
    console.print(f"{output} ({bytes_text(len(data))})", soft_wrap=True)


def _sessions(store: Store, keys: list[str]) -> list[Session]:
    """Each session once. Raises UsageError for one without a run."""
    found = {session.id: session for session in map(store.session, keys)}
    for session in found.values():
        if not store.count(session.id):
            raise UsageError(
                f"session {session.id} has no run to report: it is {session.status}"
            )
    return list(found.values())
