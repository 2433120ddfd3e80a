"""What is in a bundle: sessions with all that was run, and the members that hold it.

report.html                  the report, for people without ioplan
1/session.json, 1/plan.ioplan, 1/use/1.ioplan …
1/trace/1.iotrace            a trace, of which use/1 has the facts; or 1/model/1.ioplan
1/runs.jsonl, 1/events.jsonl, 1/details/1.histograms, .series, .telemetry, .intervals …
1/drive.toml, 1/lab.json     the simulated drive, or what the lab says of the target
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Annotated, Any

import msgspec
from msgspec import Meta, MsgspecError, Struct, defstruct
from pydantic import BaseModel

from ioplan.records.record import RunDetail, RunRecord
from ioplan.records.run_request import RunRequest
from ioplan.records.session import Session, SessionEvent
from ioplan.results.measure.consistency import consistent
from ioplan.results.measure.histogram import Histogram
from ioplan.results.measure.interval_counts import IntervalCounts
from ioplan.results.share.archive import BundleError, plain_json
from ioplan.results.store import codec
from ioplan.results.store.errors import StoreError
from ioplan.results.store.runs import checked_schema
from ioplan.results.store.store import Store
from ioplan.trace.known import recorded_trace

REPORT = "report.html"
MOST_SERIES_BYTES = 96 << 20
"""The most bytes of one series, unpacked; a week of 1 s intervals takes 77 MB."""
MOST_DETAILS_BYTES = 1 << 30
"""The most bytes of all series together, as many small ones make a bomb, too."""
MOST_BITS = 16
LOCAL = (
    *("lab", "overwrite", "overwrite_data", "cannot_see_users"),
    *("options", "tags", "note", "person"),
)
"""What of a request is for its own host (programs, permissions, where things are), or
stands in the session as it is by now."""


class Bundled(Struct, frozen=True):
    """A session and its runs; `lab` is a text, empty where there is none.

    By their names in the plan, `traces` are files that it replays, `models` plans
    that stand for such.
    """

    session: Session
    events: tuple[SessionEvent, ...]
    runs: tuple[tuple[RunRecord, RunDetail], ...]
    lab: str = ""
    traces: dict[str, bytes] = {}
    models: dict[str, str] = {}


def bundled(store: Store, session: Session, lab: str = "") -> Bundled:
    """A session of a store, without what is only for its own host."""
    runs = tuple(
        (record, store.whole_detail(record.session, record.seq))
        for record in store.records(session.id)
    )
    return Bundled(_portable(session), tuple(store.events(session.id)), runs, lab)


def _portable(session: Session) -> Session:
    defaults = RunRequest().model_dump(include={*LOCAL})
    resolved = {"options": {}, "signature": ""}
    return session.model_copy(
        update={
            "request": session.request.model_copy(update=defaults),
            "resolved": session.resolved.model_copy(update=resolved),
        }
    )


def restore(sessions: Iterable[Bundled], store: Store) -> None:
    for bundled in sessions:
        store.begin(bundled.session)
        for record, detail in bundled.runs:
            store.add(record, detail)
        for event in bundled.events:
            store.add_event(bundled.session.id, event)


# ---- as members


def members_of(sessions: Iterable[Bundled]) -> dict[str, bytes]:
    return {
        f"{number}/{name}": content
        for number, bundled in enumerate(sessions, 1)
        for name, content in _contents(bundled)
    }


def _contents(bundled: Bundled) -> Iterator[tuple[str, bytes]]:
    raw = bundled.session.model_dump(mode="json")
    plan, drive = raw.pop("plan_text"), raw["resolved"].pop("drive_file")
    files = raw["resolved"]["files"]
    raw["resolved"]["files"] = list(files)
    yield "session.json", json.dumps(raw, indent=1).encode()
    yield "plan.ioplan", plan.encode()
    for number, (name, text) in enumerate(files.items(), 1):
        yield f"use/{number}.ioplan", text.encode()
        if name in bundled.traces:
            yield f"trace/{number}.iotrace", bundled.traces[name]
        if name in bundled.models:
            yield f"model/{number}.ioplan", bundled.models[name].encode()
    yield "runs.jsonl", _lines(record for record, _ in bundled.runs)
    yield "events.jsonl", _lines(bundled.events)
    for record, detail in bundled.runs:
        for kind, content in codec.encode_detail(detail).items():
            yield f"details/{record.seq}.{kind}", content
    if drive:
        yield "drive.toml", drive.encode()
    if bundled.lab:
        yield "lab.json", bundled.lab.encode()


def _lines(models: Iterable[BaseModel]) -> bytes:
    return "".join(f"{model.model_dump_json()}\n" for model in models).encode()


# ---- out of members that a stranger wrote


def sessions_of(contents: Mapping[str, bytes]) -> tuple[Bundled, ...]:
    """The sessions of a bundle; its report is not read.

    Raises BundleError, and one of INVALID.
    """
    parts: dict[str, dict[str, bytes]] = {}
    for name, content in contents.items():
        number, _, own_name = name.partition("/")
        if name != REPORT:
            parts.setdefault(number, {})[own_name] = content
    if not parts or [*parts] != [str(number) for number in range(1, len(parts) + 1)]:
        raise BundleError("it has no session, or members that belong to none")
    _check_details(contents)
    sessions = tuple(map(_bundled, parts.values()))
    if len({bundled.session.id for bundled in sessions}) < len(sessions):
        raise BundleError("two of its sessions have one id")
    return sessions


INVALID = (
    *(ValueError, TypeError, KeyError, AttributeError),
    *(MsgspecError, StoreError, zlib.error),
)
"""What is raised where a value is not of the kind that it should be."""


def _bundled(part: dict[str, bytes]) -> Bundled:
    """Takes out of the part what it reads, which has to be all."""
    raw = plain_json(part.pop("session.json"))
    names = raw["resolved"]["files"]
    files = {n: part.pop(f"use/{at}.ioplan").decode() for at, n in enumerate(names, 1)}
    if len(files) < len(names):
        raise ValueError("two files have one name")
    raw["plan_text"] = part.pop("plan.ioplan").decode()
    drive = part.pop("drive.toml", b"").decode()
    raw["resolved"] |= {"files": files, "drive_file": drive}
    session = _portable(Session.model_validate(raw))
    msgspec.convert(session.host, HostFacts)
    records = [_record(line, session) for line in part.pop("runs.jsonl").splitlines()]
    events = map(plain_json, part.pop("events.jsonl").splitlines())
    models = _of_files(part, files, "model/{}.ioplan")
    bundled = Bundled(
        session,
        tuple(map(SessionEvent.model_validate, events)),
        tuple(_run(record, part) for record in records),
        part.pop("lab.json", b"").decode(),
        _of_files(part, files, "trace/{}.iotrace"),
        {name: text.decode() for name, text in models.items()},
    )
    for name, trace in bundled.traces.items():
        if recorded_trace(files[name]).facts.digest != sha256(trace).hexdigest():
            raise ValueError(f"the trace {name} is not the one that was replayed")
    if part:
        raise ValueError(f"{min(part)!a} belongs to nothing")
    return bundled


def _of_files(
    part: dict[str, bytes], files: Iterable[str], member: str
) -> dict[str, bytes]:
    """Those members that stand for a file of the plan, by its name."""
    numbers = {name: member.format(number) for number, name in enumerate(files, 1)}
    return {name: part.pop(at) for name, at in numbers.items() if at in part}


def _record(line: bytes, session: Session) -> RunRecord:
    raw = plain_json(line)
    record = RunRecord.model_validate(checked_schema(raw))
    if record.session != session.id:
        raise ValueError(f"run {record.seq} is of another session")
    if min(_numbers([raw.get(name) for name in COUNTED]), default=0) < 0:
        raise ValueError(f"run {record.seq} has a figure below 0")
    msgspec.convert(record.target, TargetFacts)
    msgspec.convert(record.host, HostFacts)
    return record


def _run(record: RunRecord, part: dict[str, bytes]) -> tuple[RunRecord, RunDetail]:
    """A run whose figures may be true. Raises ValueError."""
    at = f"details/{record.seq}"
    packed = {kind: part.pop(f"{at}.{kind}", None) for kind in codec.PARTS}
    detail = codec.decode_detail(packed)
    for histogram in detail.histograms:
        if not 0 < histogram.bits <= MOST_BITS:
            raise ValueError(f"a histogram of {histogram.bits} bits")
        Histogram.of(histogram.bins, histogram.bits)
    for _ in IntervalCounts(detail.intervals):
        pass  # each can be read
    checked = consistent(record, detail)
    if checked.status != record.status:
        raise ValueError(f"run {record.seq}: {checked.message}")
    return record, detail


def _check_details(contents: Mapping[str, bytes]) -> None:
    """Before any is decoded, whether series become too large. Raises BundleError."""
    total = 0
    for name, content in contents.items():
        for size in _series_sizes(name, content) if "/details/" in name else ():
            total += size
            if size > MOST_SERIES_BYTES or total > MOST_DETAILS_BYTES:
                raise BundleError(
                    f"its series are larger than {MOST_SERIES_BYTES} B, or "
                    f"than {MOST_DETAILS_BYTES} B together"
                )


def _series_sizes(name: str, content: bytes) -> Iterable[int]:
    if name.endswith(".intervals"):
        return IntervalCounts(content).sizes()
    series = zlib.decompressobj().decompress(content[1:], MOST_SERIES_BYTES + 1)
    return (len(series),)


# Facts are what a backend, a host or a call had to say, and reports rely on the names
# that ioplan itself gives: these are of the kinds that stand here.

Plain = str | int | float | bool | None
Count = Annotated[int, Meta(ge=0)]
Items = list[Plain | dict[str, Plain]]
Table = dict[str, Plain | dict[str, Plain]]
TEXTS = ("hostname", "kernel", "machine", "os", "cpu", "python")
TargetFacts = defstruct(
    "TargetFacts",
    [
        *((name, str, "") for name in ("path", "kind")),
        *((name, Count, 0) for name in ("capacity_bytes", "block_bytes")),
        ("identity", Table, {}),
    ],
)
HostFacts = defstruct(
    "HostFacts",
    [
        *((name, str, "") for name in TEXTS),
        *((name, str | None, "") for name in ("cpu_driver", "governor")),
        *((name, Count | None, 0) for name in ("cpus", "memory_bytes")),
        *((name, Items, []) for name in ("warnings", "not_measured", "cpus_allowed")),
        *((name, Table, {}) for name in ("target", "mitigations", "numa_nodes")),
    ],
)
COUNTED = (
    *("seq", "run_s", "streams", "directions", "total"),
    *("cpu", "cpu_percent", "asked"),
)
"""The parts of a record in which no number is below 0, which no model says."""


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, int | float):
        yield value
