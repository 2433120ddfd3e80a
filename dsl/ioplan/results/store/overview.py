"""Sessions in few words: what ran on which drive, and what came of it, in one query.

store.overview(SessionFilter(drive="S4EV*", verdict="failed", limit=20))
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from operator import attrgetter, itemgetter
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from ioplan.records.drive import Drive
from ioplan.records.session import SessionStatus
from ioplan.results.store.connection import Connection, Row
from ioplan.results.store.layout.tables import SESSION_TABLES
from ioplan.results.store.layout.views import SESSIONS
from ioplan.results.store.rows import validated

# How much there is of sessions, so that two stores can be compared.
#
# Every statement is about the sessions named, and is answered from the tables' keys.

CONSTANT_COLUMNS = ("started_at", "backend", "target", "env")
"""What a session never changes."""


class SessionExtent(NamedTuple):
    """How much there is of a session: `counts` are rows by table.

    `constants` are the values of what it never changes.
    """

    constants: tuple[str, ...]
    status: str
    ended_at: str | None
    counts: dict[str, int]

    @property
    def runs(self) -> int:
        """How many it has."""
        return self.counts.get("run", 0)

    def covers(self, other: SessionExtent) -> bool:
        """Whether nothing of the other one is missing in this."""
        return self[:-1] == other[:-1] and all(
            self.counts.get(table, 0) >= count for table, count in other.counts.items()
        )


def extents(connection: Connection, ids: Sequence[str]) -> dict[str, SessionExtent]:
    """The extents of those of these sessions that are there; a few hundred at most."""
    keys = {f"id{at}": id for at, id in enumerate(ids)}
    listed = ", ".join(f":{key}" for key in keys)
    names = ", ".join(("id", "status", "ended_at", *CONSTANT_COLUMNS))
    found = f"SELECT {names} FROM session WHERE id IN ({listed})"
    rows = connection.rows(found, **keys)
    counts: dict[str, dict[str, int]] = {}
    for row in connection.rows(_counts(listed), **keys):
        counts.setdefault(row["session"], {})[row["what"]] = row["number"]
    return {
        row["id"]: SessionExtent(
            tuple(row[name] for name in CONSTANT_COLUMNS),
            row["status"],
            row["ended_at"],
            counts.get(row["id"], {}),
        )
        for row in rows
    }


def _counts(listed: str) -> str:
    return " UNION ALL ".join(
        f"SELECT session, '{table}' AS what, count(*) AS number FROM {table} "
        f"WHERE session IN ({listed}) GROUP BY session"
        for table in SESSION_TABLES
    )


def run_identities(connection: Connection, id: str) -> dict[int, tuple[Any, ...]]:
    """The runs of a session by number: what each is, and its IOPS with every digit."""
    query = """
        SELECT run.seq, run.run_id, run.status, run.env, f.iops
        FROM run LEFT JOIN figure AS f ON f.session = run.session AND f.seq = run.seq
          AND f.target = '' AND f.phase = '' AND f.stream = '' AND f.direction = 'total'
        WHERE run.session = :session ORDER BY run.seq"""
    rows = connection.rows(query, session=id)
    return {row["seq"]: tuple(row.values()) for row in rows}


SessionVerdict = Literal[
    "held", "failed", "undecided", "not measured", "no baseline", "none"
]
"""The gravest verdict on all expectations of a session."""


class SessionFilter(Struct, frozen=True):
    """Which sessions; what is empty asks for nothing.

    Texts are whole ones, without regard to case, and `*` stands for any part; `drive`
    is a serial number, a world-wide name, a name of the lab or a target. A session has
    each `tag`, started at or after `since` (UTC, ISO 8601), and has `text` somewhere.
    With a `limit` the first `offset` are left out.
    """

    drive: str = ""
    host: str = ""
    plan: str = ""
    job: str = ""
    tag: str | tuple[str, ...] = ()
    status: str = ""
    verdict: str = ""
    since: str = ""
    limit: int | None = None
    offset: int = 0
    text: str = ""


ALL = SessionFilter()


class SessionOverview(Struct, frozen=True):
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
        """`held 1 of 4` where not all was measured; empty without expectations."""
        if self.verdict == "not measured":
            return f"held {self.held} of {self.expected}"
        return "" if self.verdict == "none" else self.verdict

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
            took = ended - datetime.fromisoformat(self.started_at)
        except (ValueError, TypeError):
            return None
        return took.total_seconds() if took.total_seconds() >= 0 else None


PLACES = {
    "drive": ("serial", "wwid", "lab_name", "target"),
    "host": ("host",),
    "plan": ("plan",),
    "job": ("job",),
    "status": ("status",),
    "verdict": ("verdict",),
}
"""The columns that each text of a filter may stand in."""
SEARCHED = (
    *("session", "plan", "plan_file", "target", "host", "person", "serial"),
    *("model", "lab_name", "tags", "note"),
)


def overview_query(
    wanted: SessionFilter, session: str = ""
) -> tuple[str, dict[str, Any]]:
    """The query and its values; of one session, if it is named."""
    values: dict[str, Any] = {}
    conditions = list(_conditions(wanted, values))
    if session:
        values["session"] = session
        conditions.append("s.session = :session")
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    limit = ""
    if wanted.limit is not None:
        values |= {"limit": wanted.limit, "offset": wanted.offset}
        limit = "LIMIT :limit OFFSET :offset"
    query = f"""
        SELECT * FROM ({SESSIONS}) AS s {where}
        ORDER BY s.session DESC {limit}"""
    return query, values


def _conditions(wanted: SessionFilter, values: dict[str, Any]) -> Iterator[str]:
    for name, columns in PLACES.items():
        if word := getattr(wanted, name):
            values[name] = _pattern(word)
            yield _any_like(columns, name)
    tags = (wanted.tag,) if isinstance(wanted.tag, str) else wanted.tag
    for number, tag in enumerate(filter(None, tags)):
        values[f"tag{number}"] = f'%"{_pattern(tag)}"%'
        yield _any_like(("tags",), f"tag{number}")
    if wanted.since:
        values["since"] = wanted.since
        yield "s.started_at >= :since"
    if wanted.text:
        values["text"] = f"%{_pattern(wanted.text)}%"
        yield _any_like(SEARCHED, "text")


def _any_like(columns: Iterable[str], value: str) -> str:
    tests = (f"lower(s.{one}) LIKE :{value} ESCAPE '!'" for one in columns)
    return f"({' OR '.join(tests)})"


def _pattern(word: str) -> str:
    """For LIKE: only `*` stands for something else."""
    escaped = "".join(f"!{c}" if c in "!%_" else c for c in word.lower())
    return escaped.replace("*", "%")


OTHERS = ("id", "host_name", "drive", "tags")
PLAIN = tuple(n for n in SessionOverview.__struct_fields__ if n not in OTHERS)
TEXT_FIELDS = [
    name
    for name, kind in SessionOverview.__annotations__.items()
    if kind in ("str", "SessionStatus", "SessionVerdict")
]
DRIVE_FIELDS = tuple(Drive.model_fields)
_plain_of, _drive_of = itemgetter(*PLAIN), itemgetter(*DRIVE_FIELDS)
_texts_of = attrgetter(*TEXT_FIELDS)


def overviews_of(rows: Iterable[Row]) -> list[SessionOverview]:
    """From the rows of a query. Raises StoreError for what is not as it was written."""
    drives: dict[tuple[Any, ...], Drive | None] = {}
    found = []
    for row in rows:
        values = _drive_of(row)
        if values not in drives:
            drives[values] = _drive(values)
        with validated(f"session {row['session']!r}"):
            found.append(_checked(_overview(row, drives[values])))
    return found


def _overview(row: Row, drive: Drive | None) -> SessionOverview:
    return SessionOverview(
        id=row["session"],
        host_name=row["host"],
        drive=drive,
        tags=tuple(json.loads(row["tags"])) if row["tags"] != "[]" else (),
        **dict(zip(PLAIN, _plain_of(row), strict=True)),
    )


def _drive(values: tuple[Any, ...]) -> Drive | None:
    found = Drive.model_construct(**dict(zip(DRIVE_FIELDS, values, strict=True)))
    known = found.serial or found.model or found.wwid or found.lab_name
    return found if known else None


def _checked(found: SessionOverview) -> SessionOverview:
    if {*map(type, _texts_of(found)), *map(type, found.tags)} <= {str}:
        return found
    known = zip(TEXT_FIELDS, _texts_of(found), strict=True)
    wrong = (name for name, value in known if not isinstance(value, str))
    raise TypeError(f"its {next(wrong, 'tag')} is no text")
