"""`ioplan ls`: sessions, and whether those that should be running still do."""

from __future__ import annotations

import platform
from pathlib import Path

from ioplan.cli.running import session_folder
from ioplan.cli.terminal import Terminal
from ioplan.report.tables import session_table
from ioplan.results.session import Session
from ioplan.results.store import Store
from ioplan.results.store_error import StoreError
from ioplan.runner.session_lock import is_held


def list_sessions(store: Store, path: Path) -> None:
    """Print them, the newest first."""
    rows = [(_as_it_is(one, path), store.count(one.id)) for one in store.sessions()]
    Terminal().print(session_table(rows))


def _as_it_is(session: Session, store: Path) -> Session:
    """One that a process left behind without a word was interrupted."""
    here = session.host.get("hostname") == platform.node()
    if session.status != "running" or not here or _goes_on(session, store):
        return session
    return session.model_copy(update={"status": "interrupted"})


def _goes_on(session: Session, store: Path) -> bool:
    folder = session_folder(store, session.id)
    try:
        return not folder.exists() or is_held(folder)
    except StoreError:  # a folder of somebody else's: not for us to say
        return True
