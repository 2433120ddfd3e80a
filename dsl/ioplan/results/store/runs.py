"""Runs as rows, and back: as much of a record as its columns were asked for.

    records = read_runs(connection, Fields.FIGURES, "run.session = :id", id=session)

Three queries of one condition read any number of runs: columns, figures and verdicts.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Flag, auto
from functools import cache, lru_cache
from math import isfinite
from operator import itemgetter
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct
from pydantic import BaseModel, TypeAdapter, create_model
from pydantic_core import to_json

from ioplan.core.error_kinds import StoreFault
from ioplan.core.model import Model, defaults_of
from ioplan.records.record import (
    SCHEMA_VERSION,
    Asked,
    BackendFacts,
    Decided,
    Preparation,
    RunRecord,
    Status,
    Steady,
    Verdict,
)
from ioplan.records.seek import Found
from ioplan.results.store.connection import Connection, Row
from ioplan.results.store.errors import StoreError
from ioplan.results.store.figures import (
    TOTAL,
    VALUES,
    Results,
    Stored,
    figure_rows,
    results_by_part,
    results_of,
    selection,
    some_results,
    stored,
)
from ioplan.results.store.layout.tables import COLUMNS
from ioplan.results.store.rows import env_row, validated


class Fields(Flag):
    """Which fields of their records are read of runs; others are empty."""

    PLACE = 0
    """Where in its plan it is, and whether it ended well: read of each."""
    FIGURES = auto()
    """Those of all targets and streams over the whole run."""
    SETUP = auto()
    """The backend, the target, the host and the time."""
    WORKLOAD = auto()
    EXTRAS = auto()
    ALL = FIGURES | SETUP | WORKLOAD | EXTRAS


PLACE = {
    "session": str,
    "seq": int,
    "run_id": str,
    "status": Status,
    "run_s": float,
    "cpu_percent": float | None,
    "steady": str | None,
    "decided": str | None,
    "found": str | None,
}
"""Columns that are fields of a record, with their types: SQLite takes any."""
IN_PLAN = {
    "test": str,
    "kind": Literal["run", "prepare", "probe"],
    "step": int,
    "name": str,
    "round": int,
    "iteration": int,
}
"""Columns that are fields of `Asked`."""
STATE = {"after_name": str, "after_digest": str, "removed": int, "cell": str}
JSON_MODELS: dict[str, type[Model]] = {
    "steady": Steady,
    "decided": Decided,
    "found": Found,
}
ENDED = ("cause", "message", "started_at", "ended_at", "ioplan")
SETUP = dict.fromkeys((*ENDED, "backend", "target"), str)
"""Columns of what it ran on, and how."""
SLOT = (
    *("run_id", "status", *IN_PLAN, "cell"),
    *("after_name", "after_digest", "removed", "steady", "decided"),
)
"""What decides which runs of a session count."""
WHERE = (*IN_PLAN, "cell", "after_name", "after_digest", "removed", "asked")
"""What says where in its plan a run is; an edited plan changes it."""
FIGURES = {"directions", "total"}
APART = {*PLACE, *SETUP, *FIGURES, "asked", "host", "verdicts"} - {"schema_version"}
"""Fields of a record that `extras` does not have."""
IN_PARTS = {"streams": {"__all__": FIGURES}}
EXTRAS: Any = {
    **dict.fromkeys(APART, True),
    **IN_PARTS,
    "targets": {"__all__": IN_PARTS | dict.fromkeys(FIGURES, True)},
    "phases": {"__all__": IN_PARTS | dict.fromkeys(FIGURES, True)},
}
ASKED_APART = {*IN_PLAN, "cell", "after", "removed"}


# Writing.


def run_row(record: RunRecord, env: str) -> Row:
    """The columns of a run; `env` is the digest of its host's facts."""
    row = {name: getattr(record, name) for name in (*PLACE, *ENDED)}
    for name in JSON_MODELS:
        row[name] = row[name] and row[name].model_dump_json()
    return row | {
        **place_row(record),
        "env": env,
        "backend": record.backend.model_dump_json(),
        "target": to_json(record.target, inf_nan_mode="null").decode(),
        "extras": record.model_dump_json(exclude=EXTRAS),
    }


def place_row(record: RunRecord) -> Row:
    """The columns that say where in its plan a run is."""
    asked, after = record.asked, record.asked.after
    return {
        **{name: getattr(asked, name) for name in IN_PLAN},
        "session": record.session,
        "seq": record.seq,
        "cell": json.dumps(asked.cell, ensure_ascii=False),
        "after_name": after.name if after else "",
        "after_digest": after.digest if after else "",
        "removed": int(asked.removed),
        "asked": asked.model_dump_json(exclude=ASKED_APART),
    }


# Reading.


def read_runs(
    connection: Connection, fields: Fields, condition: str, **values: Any
) -> list[RunRecord]:
    """The runs of a condition, by session and number. Raises StoreError."""
    rows = connection.rows(_query(fields, condition), **values)
    query = _figure_query(fields, condition)
    figures = _grouped(connection, query, values)
    verdicts = _grouped(connection, _verdict_query(fields, condition), values)
    return [
        record_of(
            row,
            figures.get(_key(row), ()) if query else None,
            verdicts.get(_key(row), ()),
        )
        for row in rows
    ]


_key = itemgetter("session", "seq")


def _grouped(
    connection: Connection, query: str, values: Row
) -> dict[tuple[str, int], list[Row]]:
    by_run: dict[tuple[str, int], list[Row]] = {}
    for row in connection.rows(query, **values) if query else ():
        by_run.setdefault(_key(row), []).append(row)
    return by_run


def _query(fields: Fields, condition: str) -> str:
    names = [*PLACE, *IN_PLAN, *STATE]
    names += SETUP if Fields.SETUP in fields else ()
    names += ("asked",) if Fields.WORKLOAD in fields else ()
    names += ("extras",) if Fields.EXTRAS in fields else ()
    host = ", env.facts AS host" if Fields.SETUP in fields else ""
    return f"""
        SELECT {", ".join(f"run.{name}" for name in names)}{host}
        FROM run {"JOIN env ON run.env = env.digest" if host else ""}
        WHERE {condition} ORDER BY run.session, run.seq"""


def _figure_query(fields: Fields, condition: str) -> str:
    names, where = COLUMNS["figure"], ""
    if Fields.EXTRAS not in fields:
        names = ("session", "seq", "direction", *VALUES)
        where = "AND f.target = '' AND f.phase = '' AND f.stream = ''"
    return f"""
        SELECT {", ".join(f"f.{name}" for name in names)} FROM figure AS f
        WHERE {_of_runs("f", condition)} {where}
        """ * (Fields.FIGURES in fields)


def _verdict_query(fields: Fields, condition: str) -> str:
    return f"""
        SELECT v.session, v.seq, v.verdict FROM verdict AS v
        WHERE {_of_runs("v", condition)}
          AND v.plan_digest =
            (SELECT plan_digest FROM session WHERE session.id = v.session)
        ORDER BY v.session, v.seq, v.position
        """ * (Fields.EXTRAS in fields)


def _of_runs(table: str, condition: str) -> str:
    """Not by a join: SQLite would then look for the numbers of all runs for each."""
    runs = f"SELECT run.session, run.seq FROM run WHERE {condition}"
    return f"({table}.session, {table}.seq) IN ({runs})"


_Place = msgspec.defstruct(
    "_Place", [*(PLACE | IN_PLAN | STATE).items()], array_like=True
)
_Setup = msgspec.defstruct("_Setup", [*SETUP.items()], array_like=True)
_place = itemgetter(*PLACE, *IN_PLAN, *STATE)
_in_plan, _of_run = itemgetter(*IN_PLAN), itemgetter(*PLACE)
_setup, _ended = itemgetter(*SETUP), itemgetter(*ENDED)
ORDER = tuple(RunRecord.model_fields)
ASKED_ORDER = tuple(Asked.model_fields)
NOTHING = defaults_of(RunRecord) | {
    "directions": {},
    "total": None,
    "streams": (),
    "host": {},
    "target": {},
    "backend": None,
    "cpu": None,
}
"""Of a run that is not read whole."""
NOT_ASKED = defaults_of(Asked)


def record_of(
    row: Row, figures: Sequence[Row] | None, verdicts: Iterable[Row]
) -> RunRecord:
    """A record of as much as the row has. Raises StoreError for a damaged one."""
    with validated(f"run {row['seq']} of session {row['session']!r}"):
        _check(row)
        values = NOTHING | dict(zip(PLACE, _of_run(row), strict=True))
        for name, model in JSON_MODELS.items():
            if row[name] is not None:
                values[name] = model.model_validate_json(row[name])
        values["asked"] = _asked(row)
        if "backend" in row:
            msgspec.convert(_setup(row), _Setup)
            values |= zip(ENDED, _ended(row), strict=True)
            values["backend"] = _backend(row["backend"])
            values["target"] = _facts(row["target"])
            values["host"] = _facts(row["host"])
        if "extras" in row:
            results = results_by_part(figures or ())
            values |= _extras(row["extras"], results)
            texts = ",".join(one["verdict"] for one in verdicts)
            values["verdicts"] = _verdicts().validate_json(f"[{texts}]")
            values |= _fields(results["", "", ""])
        elif figures is not None:
            values |= _fields(results_of(figures, stored))
    if "extras" in row:  # is written as JSON, in the order of the fields
        values = {name: values[name] for name in ORDER}
    return RunRecord.complete(values)


def _check(row: Row) -> None:
    """Raises ValueError, TypeError, MsgspecError."""
    msgspec.convert(_place(row), _Place)
    if not isfinite(row["run_s"] + (row["cpu_percent"] or 0)):
        raise ValueError("a time is infinite")


def _asked(row: Row) -> Asked:
    given = _asked_in_full(row["asked"]).__dict__ if "asked" in row else NOT_ASKED
    place = dict(zip(IN_PLAN, _in_plan(row), strict=True))
    after = row["after_name"], row["after_digest"]
    values = {**given, **place}
    values["cell"] = _cell(row["cell"])
    values["after"] = _preparation(*after) if any(after) else None
    values["removed"] = bool(row["removed"])
    return Asked.complete(
        {name: values[name] for name in ASKED_ORDER if name in values}
    )


@lru_cache(65_536)
def _cell(text: str) -> dict[str, str]:
    return msgspec.json.decode(text, type=dict[str, str])


@lru_cache(256)
def _preparation(name: str, digest: str) -> Preparation:
    return Preparation(name=name, digest=digest)


@lru_cache(4096)
def _asked_in_full(text: str) -> Asked:
    """With a place that is not its own."""
    fields = msgspec.json.decode(text)
    return Asked.model_validate(
        fields | {"test": "", "cell": {}, "kind": "run", "step": 0}
    )


@lru_cache(256)
def _backend(text: str) -> BackendFacts:
    return BackendFacts.model_validate_json(text)


@lru_cache(256)
def _facts(text: str) -> dict[str, Any]:
    """Of a host or a target, the same for many runs. Raises ValueError."""
    facts = msgspec.json.decode(text)
    if not isinstance(facts, dict):
        raise ValueError("no facts of a host or a target")
    return facts


@cache
def _verdicts() -> TypeAdapter[tuple[Verdict, ...]]:
    return TypeAdapter(tuple[Verdict, ...])


Extras: type[BaseModel] = create_model(
    "Extras",
    __base__=Model,
    **{  # type: ignore[call-overload]
        name: (field.annotation, field)
        for name, field in RunRecord.model_fields.items()
        if name not in APART
    },
)


def _extras(text: str, results: dict[tuple[str, str, str], Results]) -> dict[str, Any]:
    """The fields of `extras`, with the figures of their parts."""
    fields = checked_schema(msgspec.json.decode(text))
    _join(fields, "", "", results, has_own=False)
    for name, part in fields["targets"].items():
        _join(part, name, "", results)
    for name, part in fields["phases"].items():
        _join(part, "", name, results)
    return Extras.model_validate(fields).__dict__


def _join(
    part: dict[str, Any],
    target: str,
    phase: str,
    results: dict[tuple[str, str, str], Results],
    has_own: bool = True,
) -> None:
    over_all = results[target, phase, ""]
    if has_own:
        part |= _fields(over_all)
    streams = part["streams"]
    for stream in streams:
        own = results.get((target, phase, stream["name"]))
        if own is None and len(streams) > 1:
            raise ValueError(f"no figures of the stream {stream['name']!r}")
        stream.update(_fields(own or over_all))


def _fields(results: Results) -> dict[str, Any]:
    return {"directions": results.directions, "total": results.total}


class Outline(Struct, frozen=True, array_like=True):
    """A run without its place and its figures."""

    session: str
    seq: int
    run_s: float
    cpu_percent: float | None


class Outlines(NamedTuple):
    """Runs by session and number, with some of their figures, by direction.

    `slots` has of each run the columns `SLOT`, as the database has them.
    """

    runs: list[Outline]
    slots: list[tuple[object, ...]]
    results: dict[str, list[Stored | None]]


_OUTLINE = Outline.__struct_fields__


def read_outlines(
    connection: Connection,
    columns: Mapping[str, Collection[str]],
    condition: str,
    **values: Any,
) -> Outlines:
    """The runs of a condition, with these columns of these directions.

    A tenth of the time that records take. Raises ValueError, MsgspecError.
    """
    rows = connection.tuples(_outline_query(columns, condition), **values)
    runs = msgspec.convert([row[: len(_OUTLINE)] for row in rows], list[Outline])
    if not isfinite(sum([run.run_s for run in runs])):
        raise ValueError("a time is infinite")
    first = len(_OUTLINE) + len(SLOT)
    slots = [row[len(_OUTLINE) : first] for row in rows]
    results = {}
    for direction in columns:
        last = first + len(VALUES)
        results[direction] = some_results(row[first:last] for row in rows)
        first = last
    if None in results.get(TOTAL, ()):
        raise ValueError("a run has no total")
    return Outlines(runs, slots, results)


def _outline_query(columns: Mapping[str, Collection[str]], condition: str) -> str:
    selected = [f"run.{name}" for name in (*_OUTLINE, *SLOT)]
    selected += [selection(f"f_{name}", some) for name, some in columns.items()]
    joins = (
        f"""LEFT JOIN figure AS f_{name}
          ON f_{name}.session = run.session AND f_{name}.seq = run.seq
          AND f_{name}.target = '' AND f_{name}.phase = '' AND f_{name}.stream = ''
          AND f_{name}.direction = '{name}'"""
        for name in columns
    )
    return f"""
        SELECT {", ".join(selected)} FROM run {" ".join(joins)}
        WHERE {condition} ORDER BY run.session, run.seq"""


def checked_schema(fields: Any) -> dict[str, Any]:
    """A record's JSON, if it has this ioplan's schema. Raises StoreError."""
    if not isinstance(fields, dict):
        raise TypeError("a record is no object")
    version = fields.get("schema_version")
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
    return fields


def same_run(record: RunRecord, other: RunRecord) -> bool:
    """Whether two records are of the same run, however it was judged."""
    rows = (
        (run_row(one, ""), env_row(one.host), list(figure_rows(one)))
        for one in (record, other)
    )
    return next(rows) == next(rows)
