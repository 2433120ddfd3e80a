"""Sessions with their events, and the states of targets, as rows of the store and back.

An overview tells in few words what ran on which drive, and what came of it:

    store.overview(SessionFilter(drive="S4EV*", verdict="failed", limit=20))
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal

import msgspec
from msgspec import Struct
from pydantic_core import to_jsonable_python

from ioplan.records.drive import Drive
from ioplan.records.record import outcome_text
from ioplan.records.session import KnownState, Session, SessionEvent, SessionStatus
from ioplan.results.store.connection import Connection, Row
from ioplan.results.store.errors import validated
from ioplan.results.store.tables import SESSIONS


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
    fields = {name: row[name] for name in SessionEvent.model_fields}
    with validated(f"event of session {row['session']!r}"):
        return SessionEvent.model_validate(fields)


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


# Overviews.

SessionVerdict = Literal[
    "held", "failed", "undecided", "not measured", "no baseline", "none"
]
"""The gravest verdict on all expectations of a session."""


class SessionFilter(Struct, frozen=True):
    """Which sessions; what is empty asks for nothing.

    Texts are whole ones, without regard to case, and `*` stands for any part; `drive`
    is a serial number, a world-wide name, a name of the lab or a target. A session has
    each `tag`, and started at or after `since` (UTC, ISO 8601).
    """

    id: str = ""
    drive: str = ""
    host: str = ""
    plan: str = ""
    job: str = ""
    tag: str | tuple[str, ...] = ()
    status: str = ""
    verdict: str = ""
    since: str = ""
    limit: int | None = None


ALL = SessionFilter()


class SessionOverview(
    Struct, frozen=True, rename={"id": "session", "host_name": "host"}
):
    """A session without what is large; times are UTC, ISO 8601."""

    id: str
    plan: str
    plan_file: str
    status: SessionStatus
    verdict: SessionVerdict
    started_at: str
    ended_at: str | None
    runs: int
    backend: str
    target: str
    host_name: str
    person: str
    job: str | None
    drive: Drive | None
    tags: tuple[str, ...]
    note: str
    ioplan: str
    held: int
    expected: int

    @property
    def verdict_text(self) -> str:
        """`passed 1 of 4` where not all was measured; empty without expectations."""
        if self.verdict == "not measured":
            return f"passed {self.held} of {self.expected}"
        return "" if self.verdict == "none" else outcome_text(self.verdict)

    @property
    def drive_name(self) -> str:
        """What people call the drive; of a file, its path."""
        return self.drive.name if self.drive else self.target

    @property
    def is_imported(self) -> bool:
        """Whether another program measured it, and a file of that was imported."""
        return self.backend.endswith(", imported")

    @property
    def duration_s(self) -> float | None:
        """From its start to its end; None before that, and where a clock was set back
        between it and a resume."""
        try:
            ended = datetime.fromisoformat(self.ended_at or "")
            took_s = (ended - datetime.fromisoformat(self.started_at)).total_seconds()
        except (ValueError, TypeError):
            return None
        return took_s if took_s >= 0 else None


PLACES = {
    **{name: (name,) for name in ("host", "plan", "job", "status", "verdict")},
    "drive": ("serial", "wwid", "lab_name", "target"),
}
"""The columns that each text of a filter may stand in."""


def read_overviews(
    connection: Connection, which: SessionFilter
) -> list[SessionOverview]:
    """Raises StoreError for what is not as it was written."""
    values: dict[str, Any] = {"limit": which.limit}
    conditions = " AND ".join(["TRUE", *_conditions(which, values)])
    rows = connection.rows(
        f"""
        SELECT * FROM ({SESSIONS}) AS s WHERE {conditions}
        ORDER BY s.session DESC {"" if which.limit is None else "LIMIT :limit"}""",
        **values,
    )
    return list(map(_overview, rows))


def _conditions(which: SessionFilter, values: dict[str, Any]) -> Iterator[str]:
    for name, columns in PLACES.items():
        if word := getattr(which, name):
            values[name] = _pattern(word)
            tests = (f"lower(s.{column}) LIKE :{name} ESCAPE '!'" for column in columns)
            yield f"({' OR '.join(tests)})"
    tags = (which.tag,) if isinstance(which.tag, str) else which.tag
    for number, tag in enumerate(filter(None, tags)):
        values[f"tag{number}"] = f'%"{_pattern(tag)}"%'
        yield f"lower(s.tags) LIKE :tag{number} ESCAPE '!'"
    if which.since:
        values["since"] = which.since
        yield "s.started_at >= :since"
    if which.id:
        values["id"] = which.id
        yield "s.session = :id"


def _pattern(word: str) -> str:
    """For LIKE: only `*` stands for something else."""
    escaped = "".join(f"!{c}" if c in "!%_" else c for c in word.lower())
    return escaped.replace("*", "%")


def _overview(row: Row) -> SessionOverview:
    with validated(f"session {row['session']!r}"):
        drive = _drive(*map(row.get, Drive.model_fields))
        fields = row | {"drive": drive, "tags": msgspec.json.decode(row["tags"])}
        return msgspec.convert(fields, SessionOverview)


@lru_cache(4096)
def _drive(*values: Any) -> Drive | None:
    drive = Drive(**dict(zip(Drive.model_fields, values, strict=True)))
    return drive if drive.name else None
