"""`ioplan report`."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from ioplan import __version__
from ioplan.cli.failure import UsageError
from ioplan.cli.reading import opened
from ioplan.cli.showing import plan_of
from ioplan.language.plan import CheckedPlan
from ioplan.report.compose import document
from ioplan.report.html.page import page
from ioplan.report.units import bytes_text
from ioplan.results.session import Session
from ioplan.results.store import Store

PLAN_ARGS = ("set", "scale_time", "profile")
"""Of a session's call, what its plan was checked with."""


def write_report(console: Console, store: Store, keys: list[str], output: Path) -> None:
    """Write one HTML file on all sessions. Raises UsageError, StoreError."""
    sessions = _sessions(store, keys)
    made = f"Made {datetime.now(UTC):%Y-%m-%d %H:%M} UTC by ioplan {__version__}"
    with _uncollected():
        data = page(document(store, sessions, _plans(sessions), made)).encode()
    with opened(output) as out:
        out.write(data)
    console.print(f"{output} ({bytes_text(len(data))})", soft_wrap=True)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the search for cycles: all records are kept to the end, and looking
    through them again and again takes half of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _sessions(store: Store, keys: list[str]) -> list[Session]:
    """Each session once. Raises UsageError for one without a run."""
    ids = {one.id: one for one in store.sessions()} if len(keys) > 1 else {}
    every = (ids.get(key) or store.session(key) for key in keys)
    found = {session.id: session for session in every}
    for session in found.values():
        if not store.count(session.id):
            raise UsageError(
                f"session {session.id} has no run to report: it is {session.status}"
            )
    return list(found.values())


def _plans(sessions: list[Session]) -> dict[str, CheckedPlan | None]:
    """The plan of each session; what many drives ran is checked once."""
    alike: dict[tuple[str, ...], list[Session]] = {}
    for session in sessions:
        said = (str(session.args.get(name)) for name in PLAN_ARGS)
        key = (session.plan_file, session.plan_text, *said)
        alike.setdefault(key, []).append(session)
    plans = ((plan_of(group[0]), group) for group in alike.values())
    return {session.id: plan for plan, group in plans for session in group}
