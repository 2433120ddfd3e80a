"""Models as rows of the store, and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from pydantic_core import to_jsonable_python

from ioplan.records.drive import Drive
from ioplan.records.session import KnownState, Session, SessionEvent
from ioplan.results.store.connection import Row
from ioplan.results.store.errors import validated


def env_row(host: dict[str, Any]) -> dict[str, str]:
    """A host's facts under their digest."""
    facts = _canonical(host)
    return {"digest": _digest(facts), "facts": facts}


def drive_row(drive: Drive) -> Row:
    """A drive's columns; one that differs in any of them is another row."""
    facts = drive.model_dump(mode="json")
    return {"digest": _digest(_canonical(facts)), **facts}


def _canonical(facts: Any) -> str:
    """JSON, also of what JSON has not, such as a date of a backend."""
    as_json = to_jsonable_python
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), default=as_json)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def session_row(session: Session) -> Row:
    row: Row = session.model_dump(mode="json")
    del row["host"]
    row["request"] = json.dumps(row["request"])
    row["resolved"] = json.dumps(row["resolved"])
    row["tags"] = tags_text(session.tags)
    row["env"] = env_row(session.host)["digest"]
    row["plan_digest"] = plan_digest(row)
    row["drive"] = drive_row(session.drive)["digest"] if session.drive else None
    return row


def plan_digest(row: Row) -> str:
    """What the verdicts of a session are of: the plan, and the files that it uses."""
    files = json.loads(row["resolved"]).get("files", {})
    return _digest(row["plan_text"] + _canonical(files))


def tags_text(tags: Iterable[str]) -> str:
    """JSON, in which a tag can be looked for with its quotes."""
    return json.dumps(sorted(set(tags)), ensure_ascii=False)


def session_of(row: Row) -> Session:
    """A session from its columns, its `facts` and its drive. Raises StoreError."""
    with validated(f"session {row['id']!r}"):
        fields = {name: row[name] for name in Session.model_fields if name in row}
        texts = {name: row[name] for name in ("request", "resolved", "tags")}
        texts["host"] = row["facts"]
        fields |= {name: json.loads(text) for name, text in texts.items()}
        drive = {name: row[name] for name in Drive.model_fields}
        fields["drive"] = drive if row["drive"] else None
        return Session.model_validate(fields)


def event_of(row: Row) -> SessionEvent:
    """Raises StoreError."""
    with validated(f"event of session {row.pop('session')!r}"):
        return SessionEvent.model_validate(row)


ACCOUNT = "account"


def state_row(state: KnownState) -> Row:
    """A state's columns; the account is beside the evidence that it still holds."""
    row: Row = state.model_dump(mode="json")
    row["evidence"] |= {ACCOUNT: row.pop("account")}
    return row | {name: json.dumps(row[name]) for name in ("path", "evidence")}


def state_of(row: Row) -> KnownState:
    """Raises StoreError."""
    with validated(f"state of {row['target']!r}"):
        loaded = {name: json.loads(row[name]) for name in ("path", "evidence")}
        loaded["account"] = loaded["evidence"].pop(ACCOUNT, "")
        return KnownState.model_validate(row | loaded)
