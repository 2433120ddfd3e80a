"""The status that a session has now: of one that was killed the store knows no end."""

from __future__ import annotations

import platform
from pathlib import Path

from ioplan.records.session import Session, SessionStatus
from ioplan.results.store.errors import StoreError
from ioplan.results.store.session_folder import is_held, session_folder
from ioplan.results.store.store import Store


def session_now(store: Store, key: str) -> Session:
    """As `Store.session`, with the status that it has now. Raises StoreError."""
    found = store.session(key)
    status = status_now(found.status, found.host_name, found.id, Path(store.where))
    return found.model_copy(update={"status": status})


def status_now(
    status: SessionStatus, host_name: str, session: str, store: Path
) -> SessionStatus:
    """`interrupted` where a session of this host was left behind by its process."""
    if status != "running" or host_name != platform.node():
        return status
    return status if _is_running(session, store) else "interrupted"


def _is_running(session: str, store: Path) -> bool:
    folder = session_folder(store, session)
    try:
        return not folder.exists() or is_held(folder)
    except StoreError:  # a folder of somebody else's: not for us to say
        return True
