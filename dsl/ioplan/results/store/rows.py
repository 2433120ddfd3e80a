"""Models as rows of the store, and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from pydantic_core import to_jsonable_python

from ioplan.core.error_kinds import StoreFault
from ioplan.core.model import slimmed
from ioplan.records.drive import Drive
from ioplan.records.outline import Outline
from ioplan.records.record import SCHEMA_VERSION, RunRecord
from ioplan.records.session import KnownState, Session, SessionEvent
from ioplan.results.store.briefs import brief_row, host_of
from ioplan.results.store.connection import Row
from ioplan.results.store.errors import StoreError

# The schema version of a record's JSON, which must be the one of this ioplan.

Raw = dict[str, Any]


def checked_schema(raw: Raw) -> Raw:
    """A record's JSON, if it has this ioplan's schema. Raises StoreError."""
    version = raw.get("schema_version")
    if not isinstance(version, int):
        raise StoreError(
            "a stored record has no schema version: it is damaged",
            StoreFault.RECORD_DAMAGED,
        )
    if version != SCHEMA_VERSION:
        raise StoreError(
            f"a record has schema {version}, and this ioplan reads schema "
            f"{SCHEMA_VERSION} only: read it with the ioplan that wrote it",
            StoreFault.STORE_VERSION,
        )
    return raw


TODAYS = f'{{"schema_version":{SCHEMA_VERSION},'
SEPARATE_FIELDS = {"host", "verdicts"}
"""What a run's JSON does not hold: it has tables of its own."""


def env_row(host: dict[str, Any]) -> dict[str, str]:
    """A host's facts under their digest."""
    facts = _canonical(host)
    return {"digest": _digest(facts), "facts": facts}


def drive_row(drive: Drive) -> Row:
    """A drive's columns; one that differs in any of them is another row."""
    facts = drive.model_dump(mode="json")
    return {"digest": _digest(_canonical(facts)), **facts}


def _canonical(facts: Any) -> str:
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), default=_jsonable)


def _jsonable(value: object) -> Any:
    """What a lab or a backend may have that JSON has not, such as a date."""
    return to_jsonable_python(value)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def session_row(session: Session) -> Row:
    """A session's columns."""
    row: Row = session.model_dump(mode="json")
    del row["host"]
    row["request"] = json.dumps(row["request"])
    row["resolved"] = json.dumps(row["resolved"])
    row["tags"] = tags_text(session.tags)
    row["env"] = env_row(session.host)["digest"]
    row["drive"] = drive_row(session.drive)["digest"] if session.drive else None
    return row


def tags_text(tags: Iterable[str]) -> str:
    """JSON, in which a tag can be looked for with its quotes."""
    return json.dumps(sorted(set(tags)), ensure_ascii=False)


def session_of(row: Row) -> Session:
    """A session from its columns, its `facts` and its drive. Raises StoreError."""
    fields = dict(row)
    fields.pop("env")
    with validated(f"session {fields['id']!r}"):
        fields["host"] = json.loads(fields.pop("facts"))
        for name in ("request", "resolved", "tags"):
            fields[name] = json.loads(fields[name])
        known = {name: fields.pop(name) for name in Drive.model_fields}
        fields["drive"] = known if fields["drive"] else None
        return Session.model_validate(fields)


def run_row(record: RunRecord, env: str) -> Row:
    """A run's columns."""
    latency = record.total.latency
    return {
        "session": record.session,
        "seq": record.seq,
        "run_id": record.run_id,
        "status": record.status,
        "env": env,
        "iops": record.total.iops,
        "bandwidth_bytes_per_s": record.total.bandwidth_bytes_per_s,
        "mean_ns": latency.mean_ns if latency else None,
        **run_place(record),
    }


def run_place(record: RunRecord) -> Row:
    """The columns that say where in its plan a run is."""
    return {
        "test": record.asked.test,
        **brief_row(record),
        "record": record.model_dump_json(exclude=SEPARATE_FIELDS),
    }


def record_of(row: Row, verdicts: list[str]) -> RunRecord:
    """A record from `record`, `facts` and the verdicts' JSON.

    Raises StoreError, also for new versions.
    """
    with validated(f"run {row['seq']} of session {row['session']!r}"):
        apart = f'"host":{{}},"verdicts":[{",".join(verdicts)}]'
        found = RunRecord.model_validate_json(_todays(row["record"], apart))
        return found.model_copy(update={"host": host_of(row["facts"])})


def outline_of(row: Row) -> Outline:
    """The small part of a record, from `record`. Raises StoreError."""
    with validated(f"run {row['seq']} of session {row['session']!r}"):
        return slimmed(Outline.model_validate_json(_todays(row["record"])))


def _todays(record: str, apart: str = "") -> str:
    """The JSON of a record in this schema, and what is kept apart from it.

    One that has it is not taken apart first, which would take twice as long.
    """
    if not (record.startswith(TODAYS) and record.endswith("}")):
        record = json.dumps(checked_schema(dict(json.loads(record))))
    return f"{record[:-1]},{apart}}}" if apart else record


def event_of(row: Row, session: str) -> SessionEvent:
    """An event from its columns. Raises StoreError."""
    with validated(f"event of session {session!r}"):
        return SessionEvent.model_validate(row)


ACCOUNT = "account"


def state_row(state: KnownState) -> Row:
    """A state's columns; the account is beside the evidence that it still holds."""
    row: Row = state.model_dump(mode="json")
    row["evidence"] |= {ACCOUNT: row.pop("account")}
    return row | {name: json.dumps(row[name]) for name in ("path", "evidence")}


def state_of(row: Row) -> KnownState:
    """A state from its columns. Raises StoreError."""
    with validated(f"state of {row['target']!r}"):
        loaded = {name: json.loads(row[name]) for name in ("path", "evidence")}
        loaded["account"] = loaded["evidence"].pop(ACCOUNT, "")
        return KnownState.model_validate(row | loaded)


@contextmanager
def validated(what: str) -> Iterator[None]:
    """Stores are passed on, and anything may be in one."""
    try:
        yield
    except (ValueError, TypeError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        raise StoreError(
            f"the store's {what} is not as ioplan writes it ({reason}): it is damaged "
            f"or made by another program; use another store",
            StoreFault.RECORD_DAMAGED,
        ) from error


def same_run(one: RunRecord, other: RunRecord) -> bool:
    """Whether two records are of the same run, however it was judged."""
    jsons = (record.model_dump_json(exclude=SEPARATE_FIELDS) for record in (one, other))
    return next(jsons) == next(jsons) and env_row(one.host) == env_row(other.host)
