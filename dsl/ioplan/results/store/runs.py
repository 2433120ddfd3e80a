"""Runs as rows, and back: as much of a record as its columns were asked for.

    records = read_runs(connection, Fields.FIGURES, "run.session = :id", id=session)

Three queries of one condition read any number of runs: columns, figures and verdicts.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from enum import Flag, auto
from functools import lru_cache
from math import isfinite
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
from pydantic import BaseModel, ConfigDict, TypeAdapter, create_model
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
    Steady,
    Verdict,
)
from ioplan.records.seek import Found
from ioplan.results.store.connection import Connection, Row
from ioplan.results.store.errors import StoreError, validated
from ioplan.results.store.figures import (
    COUNTS,
    TOTAL,
    VALUES,
    WHOLE_RUN,
    Part,
    Results,
    Stored,
    parts_of,
    picked,
    results_by_part,
)
from ioplan.results.store.tables import KEYS, RunColumns, by_key

OF_RUN = by_key("run")


class Fields(Flag):
    """Which fields of their records are read of runs; others are empty."""

    PLACE = 0
    """Where in its plan it is, and whether it ended well: read of each."""
    FIGURES = auto()
    """Those of all targets and streams over the whole run."""
    SETUP = auto()
    """The backend, the target, the host and the time."""
    WORKLOAD = auto()
    CIRCUMSTANCES = auto()
    """The state of the drive, and what was warned of: the part of the extras that tells
    what figures are worth, read in a tenth of their time."""
    EXTRAS = auto()
    ALL = FIGURES | SETUP | WORKLOAD | EXTRAS


PLAIN = ("session", "seq", "run_id", "status", "run_s", "cpu_percent")
ENDED = ("cause", "message", "started_at", "ended_at", "ioplan")
"""Columns that are fields of a record."""
IN_PLAN = ("test", "kind", "step", "name", "round", "iteration")
"""Columns that are fields of `Asked`."""
JSON_MODELS: dict[str, type[Model]] = {
    "steady": Steady,
    "decided": Decided,
    "found": Found,
}
OPTIONAL = {
    **dict.fromkeys((*ENDED, "env", "backend", "target"), Fields.SETUP),
    "asked": Fields.WORKLOAD,
    "extras": Fields.EXTRAS,
}
"""Columns that are read for these fields only."""
AFTER = ("after_name", "after_digest", "removed")
SLOT = ("run_id", "status", *IN_PLAN, "cell", *AFTER, "steady", "decided")
"""What decides which runs of a session count."""
WHERE = (*IN_PLAN, "cell", *AFTER, "asked")
"""What says where in its plan a run is; an edited plan changes it."""
FIGURES = {"directions", "total"}
APART = {*PLAIN, *ENDED, *JSON_MODELS, "backend", "target", *FIGURES}
APART |= {"asked", "host", "verdicts"}
"""Fields of a record that `extras` does not have."""
IN_PARTS = {"streams": {"__all__": FIGURES}}
IN_ALL_PARTS = {"__all__": IN_PARTS | dict.fromkeys(FIGURES, True)}
EXTRAS: Any = dict.fromkeys(APART, True) | IN_PARTS
EXTRAS |= {"targets": IN_ALL_PARTS, "phases": IN_ALL_PARTS}
ASKED_APART = {*IN_PLAN, "cell", "after", "removed"}


# Writing.


def run_row(record: RunRecord, env: str) -> Row:
    """The columns of a run; `env` is the digest of its host's facts."""
    models = picked(record, JSON_MODELS)
    return {
        **picked(record, (*PLAIN, *ENDED)),
        **{name: model and model.model_dump_json() for name, model in models.items()},
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
        **picked(asked, IN_PLAN),
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
    rows = connection.tuples(_run_query(fields, condition), **values)
    figures, verdicts = ByRun(list), ByRun(list)
    if Fields.FIGURES in fields:
        for row in connection.tuples(_figure_query(fields, condition), **values):
            figures[row[:2]].append(row[2:])
    if Fields.EXTRAS in fields:
        for row in connection.tuples(_verdict_query(condition), **values):
            verdicts[row[:2]].append(row[2])
    return [_record(row, fields, figures[row[:2]], verdicts[row[:2]]) for row in rows]


Values = Sequence[tuple[Any, ...]]
"""Rows of which nothing is checked yet."""
ByRun = defaultdict[tuple[Any, ...], list[Any]]


def _run_query(fields: Fields, condition: str) -> str:
    if Fields.CIRCUMSTANCES in fields:
        fields |= Fields.EXTRAS
    columns = ", ".join(
        ("env.facts" if name == "env" else f"run.{name}")
        if OPTIONAL.get(name, Fields.PLACE) in fields
        else "''"
        for name in RunColumns.__struct_fields__
    )
    env = "JOIN env ON run.env = env.digest" if Fields.SETUP in fields else ""
    return f"""
        SELECT {columns} FROM run {env}
        WHERE {condition} ORDER BY run.session, run.seq"""


def _figure_query(fields: Fields, condition: str) -> str:
    where = _of_runs("f", condition)
    if Fields.EXTRAS not in fields:
        where += " AND f.target = '' AND f.phase = '' AND f.stream = ''"
    columns = ", ".join(f"f.{name}" for name in (*KEYS["figure"], *VALUES))
    return f"SELECT {columns} FROM figure AS f WHERE {where}"


def _verdict_query(condition: str) -> str:
    return f"""
        SELECT v.session, v.seq, v.verdict FROM verdict AS v
        WHERE {_of_runs("v", condition)} AND v.plan_digest =
          (SELECT plan_digest FROM session WHERE session.id = v.session)
        ORDER BY v.session, v.seq, v.position"""


def _of_runs(table: str, condition: str) -> str:
    """Not by a join: SQLite would then look for the numbers of all runs for each."""
    runs = f"SELECT run.session, run.seq FROM run WHERE {condition}"
    return f"({table}.session, {table}.seq) IN ({runs})"


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
"""Of a run of which not all is read."""
NOT_ASKED = defaults_of(Asked)
VERDICTS = TypeAdapter(tuple[Verdict, ...], config=ConfigDict(defer_build=True))


def _record(
    row: tuple[Any, ...], fields: Fields, figures: Values, verdicts: Sequence[str]
) -> RunRecord:
    """A record of as much as was read. Raises StoreError for a damaged one."""
    with validated(f"run {row[1]} of session {row[0]!r}"):
        run = msgspec.convert(row, RunColumns)
        if not isfinite(run.run_s + (run.cpu_percent or 0)):
            raise ValueError("a time is infinite")
        values = NOTHING | picked(run, PLAIN)
        for name, model in JSON_MODELS.items():
            if (text := getattr(run, name)) is not None:
                values[name] = model.model_validate_json(text)
        values["asked"] = _asked(run, Fields.WORKLOAD in fields)
        if Fields.SETUP in fields:
            values |= picked(run, ENDED)
            values["backend"] = _backend(run.backend)
            values["target"], values["host"] = _facts(run.target), _facts(run.env)
        if Fields.EXTRAS in fields:
            results = results_by_part(figures, Stored.result)
            values |= _extras(run.extras, results) | results[WHOLE_RUN]
            values["verdicts"] = VERDICTS.validate_json(f"[{','.join(verdicts)}]")
            values = {name: values[name] for name in ORDER}  # that of its JSON
        elif Fields.FIGURES in fields:
            values |= results_by_part(figures, lambda stored: stored)[WHOLE_RUN]
        if Fields.CIRCUMSTANCES in fields:
            values |= Circumstances.model_validate_json(run.extras).__dict__
    return RunRecord.complete(values)


def _asked(run: RunColumns, in_full: bool) -> Asked:
    fields = _asked_in_full(run.asked).__dict__ if in_full else NOT_ASKED
    values = fields | picked(run, IN_PLAN)
    values["cell"] = _cell(run.cell)
    values["after"] = _preparation(run.after_name, run.after_digest)
    values["removed"] = bool(run.removed)
    return Asked.complete(
        {name: values[name] for name in ASKED_ORDER if name in values}
    )


@lru_cache(65_536)
def _cell(text: str) -> dict[str, str]:
    return msgspec.json.decode(text, type=dict[str, str])


@lru_cache(256)
def _preparation(name: str, digest: str) -> Preparation | None:
    return Preparation(name=name, digest=digest) if name or digest else None


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
    """Of a host or a target, the same for many runs."""
    return msgspec.json.decode(text, type=dict[str, Any])


class _Part(Model):
    """Of more fields than it has."""

    model_config = ConfigDict(extra="ignore")


def _part_of_record(
    name: str, base: type[Model], names: Collection[str]
) -> type[BaseModel]:
    fields = {n: (f.annotation, f) for n, f in RunRecord.model_fields.items()}
    own = {n: field for n, field in fields.items() if n in names}
    made: type[BaseModel] = create_model(name, __base__=base, **own)  # type: ignore[call-overload]
    return made


Extras = _part_of_record("Extras", Model, RunRecord.model_fields.keys() - APART)
Circumstances = _part_of_record(
    "Circumstances", _Part, ("state", "warnings", "substitutions", "telemetry")
)


def _extras(text: str, results: Mapping[Part, Results]) -> dict[str, Any]:
    """The fields of `extras`, with the figures of their parts."""
    fields = checked_schema(msgspec.json.decode(text))
    for target, phase, part in parts_of(fields, fields["targets"], fields["phases"]):
        common, streams = results[target, phase, ""], part["streams"]
        if part is not fields:
            part.update(common)
        for stream in streams:
            own = results.get((target, phase, stream["name"]))
            if own is None and len(streams) > 1:
                raise ValueError(f"no figures of the stream {stream['name']!r}")
            stream.update(own or common)  # those of a single one are not repeated
    return Extras.model_validate(fields).__dict__


def checked_schema(fields: Any) -> dict[str, Any]:
    """A record's JSON, if it has this ioplan's schema. Raises StoreError."""
    if not isinstance(fields, dict):
        raise TypeError("a record is no object")
    version = fields.get("schema_version")
    if not isinstance(version, int):
        text = "a stored record has no schema version: it is damaged"
        raise StoreError(text, StoreFault.RECORD_DAMAGED)
    if version != SCHEMA_VERSION:
        raise StoreError(
            f"a record has schema {version}, and this ioplan reads schema "
            f"{SCHEMA_VERSION} only: read it with the ioplan that wrote it",
            StoreFault.STORE_VERSION,
        )
    return fields


# Reading for one figure of each run.


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
    slot = len(Outline.__struct_fields__)
    runs = msgspec.convert([row[:slot] for row in rows], list[Outline])
    if not isfinite(sum([run.run_s for run in runs])):
        raise ValueError("a time is infinite")
    first = slot + len(SLOT)
    slots = [row[slot:first] for row in rows]
    results = {}
    for direction in columns:
        last = first + len(VALUES)
        figures = (row[first:last] if row[first] is not None else None for row in rows)
        results[direction] = msgspec.convert([*figures], list[Stored | None])
        first = last
    if None in results.get(TOTAL, ()):
        raise ValueError("a run has no total")
    return Outlines(runs, slots, results)


def _outline_query(columns: Mapping[str, Collection[str]], condition: str) -> str:
    """Figures that are not in the columns are 0 or NULL."""
    selected = [f"run.{name}" for name in (*Outline.__struct_fields__, *SLOT)]
    selected += (
        f"f_{direction}.{name}" if name in some else "0" if name in COUNTS else "NULL"
        for direction, some in columns.items()
        for name in VALUES
    )
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
