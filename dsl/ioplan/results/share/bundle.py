"""A bundle: results in one file, for others to read, compare with and repeat.

manifest.json                the digest of each other member as it is packed
manifest.sig                 a signature of the manifest, and so of all
report.html                  the report, for people without ioplan
1/session.json, 1/plan.ioplan, 1/use/1.ioplan …
1/trace/1.iotrace            a trace, of which use/1 has the facts; or 1/model/1.ioplan
1/runs.jsonl, 1/events.jsonl, 1/details/1.histograms, .series, .telemetry, .intervals …
1/drive.toml, 1/lab.json     the simulated drive, or what the lab says of the target
"""

from __future__ import annotations

import json
import platform
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, MsgspecError, Struct, defstruct
from pydantic import BaseModel, Field, ValidationError

from ioplan.core.model import Model
from ioplan.core.version import __version__
from ioplan.records.record import RunDetail, RunRecord
from ioplan.records.run_request import RunRequest
from ioplan.records.session import Session, SessionEvent
from ioplan.results.measure.consistency import consistent
from ioplan.results.measure.interval_counts import IntervalCounts
from ioplan.results.share import archive
from ioplan.results.share.archive import BundleError, Member, plain_json
from ioplan.results.share.signature import Signer, signer_of
from ioplan.results.store import codec
from ioplan.results.store.errors import StoreError
from ioplan.results.store.runs import checked_schema
from ioplan.results.store.store import Store
from ioplan.trace.known import recorded_trace

SUFFIX = ".ioplan-bundle"
FORMAT = "ioplan bundle 1"
REPORT = "report.html"
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
        store.add_events([(bundled.session.id, event) for event in bundled.events])


# Writing.

WORD = "[A-Za-z0-9_.+!-]{1,60}"


class Manifest(Model):
    """It has no other words, as who has signed is told in the same line as `made_at`
    and `made_by`."""

    format: str
    made_at: str = Field(pattern=r"^[0-9]{4}(-[0-9]{2}){2}T[0-9]{2}(:[0-9]{2}){2}Z$")
    made_by: str = Field(pattern=f"^ioplan {WORD}, Python {WORD}$")
    sessions: tuple[str, ...]
    members: dict[str, tuple[str, int]] = Field(
        description="the SHA-256 of each member as it is packed, and its size unpacked"
    )


def bundle_bytes(
    sessions: tuple[Bundled, ...],
    report: bytes,
    sign: Callable[[bytes], bytes] | None = None,
) -> bytes:
    """The file; `sign` makes a signature of the manifest. Raises BundleError."""
    members = [archive.member_of(REPORT, report)]
    for number, bundled in enumerate(sessions, 1):
        for name, content in _contents(bundled):
            members.append(archive.member_of(f"{number}/{name}", content))
    manifest = Manifest(
        format=FORMAT,
        made_at=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        made_by=f"ioplan {__version__}, Python {platform.python_version()}",
        sessions=tuple(bundled.session.id for bundled in sessions),
        members={member.name: _digest(member) for member in members},
    )
    text = json.dumps(manifest.model_dump(), indent=1).encode()
    signature = [archive.member_of(archive.SIGNATURE, sign(text))] if sign else []
    return archive.written(
        [archive.member_of(archive.MANIFEST, text), *signature, *members]
    )


def _digest(member: Member) -> tuple[str, int]:
    return sha256(member.data).hexdigest(), member.size


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


# Reading what a stranger wrote.

MOST_SERIES_BYTES = 96 << 20
"""The most bytes of one series, unpacked; a week of 1 s intervals takes 77 MB."""
MOST_DETAILS_BYTES = 1 << 30
"""The most bytes of all series together, as many small ones make a bomb, too."""
INVALID = (
    *(ValueError, TypeError, KeyError, AttributeError),
    *(MsgspecError, StoreError, zlib.error),
)
"""What is raised where a value is not of the kind that it should be."""


class Bundle(Struct, frozen=True):
    """What was read: who signed it is None where nobody did."""

    sessions: tuple[Bundled, ...]
    signer: Signer | None
    made_at: str
    made_by: str


def is_bundle(path: str | Path) -> bool:
    """Whether it is called as a bundle is, or is a file that begins as one does."""
    if str(path).endswith(SUFFIX):
        return True
    try:
        with Path(path).open("rb") as file:
            return file.read(len(archive.MAGIC)) == archive.MAGIC
    except (OSError, ValueError):
        return False


def read_bundle(path: str | Path, signers: Path | None = None) -> Bundle:
    """A bundle, all of it checked. Raises BundleError.

    With a file of allowed signers, one of them must have signed it.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(archive.MOST_FILE_BYTES + 1)
    except OSError as error:
        raise BundleError(f"cannot read {str(path)!r}: {error.strerror}") from error
    try:
        return _bundle(archive.members_in(data), signers)
    except BundleError as error:
        raise BundleError(f"{path}: {error}") from error
    except INVALID as error:
        why = str(error)
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            place = ".".join(map(str, (error.title, *first["loc"])))
            why = f"{place}: {first['msg']}"
        text = f"{path}: the bundle cannot be read: {why[:200]}"
        raise BundleError(text) from error


def _bundle(members: dict[str, Member], signers: Path | None) -> Bundle:
    """Raises BundleError, and one of INVALID; so does all that reads below."""
    if next(iter(members)) != archive.MANIFEST:
        raise BundleError(f"it does not begin with {archive.MANIFEST}")
    text = members.pop(archive.MANIFEST).content()
    raw = plain_json(text)
    if raw["format"] != FORMAT:
        format = str(raw["format"])[:40]
        why = f"the format of its manifest is {format!r}, not {FORMAT!r}"
        raise BundleError(why)
    manifest = Manifest.model_validate(raw)
    signature = members.pop(archive.SIGNATURE, None)
    if [*members] != [*manifest.members]:
        raise BundleError("its members are not those of its manifest")
    for name, member in members.items():
        if manifest.members[name] != _digest(member):
            raise BundleError(f"its {name} was changed")
    signer = signer_of(text, signature.content() if signature else b"", signers)
    sessions = _sessions({name: m.content() for name, m in members.items()})
    if manifest.sessions != tuple(bundled.session.id for bundled in sessions):
        raise BundleError("its sessions are not those of its manifest")
    return Bundle(sessions, signer, manifest.made_at, manifest.made_by)


def _sessions(contents: Mapping[str, bytes]) -> tuple[Bundled, ...]:
    """The report is not read."""
    parts: dict[str, dict[str, bytes]] = {}
    for name, content in contents.items():
        number, _, own_name = name.partition("/")
        if name != REPORT:
            parts.setdefault(number, {})[own_name] = content
    if not parts or [*parts] != [str(number) for number in range(1, len(parts) + 1)]:
        raise BundleError("it has no session, or members that belong to none")
    _check_sizes(contents)
    sessions = tuple(map(_session, parts.values()))
    if len({bundled.session.id for bundled in sessions}) < len(sessions):
        raise BundleError("two of its sessions have one id")
    return sessions


def _check_sizes(contents: Mapping[str, bytes]) -> None:
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


def _session(part: dict[str, bytes]) -> Bundled:
    """Takes out of the part what it reads, which has to be all."""
    raw = plain_json(part.pop("session.json"))
    files, traces, models = dict[str, str](), dict[str, bytes](), dict[str, str]()
    for number, name in enumerate(raw["resolved"]["files"], 1):
        if name in files:
            raise ValueError("two files have one name")
        files[name] = part.pop(f"use/{number}.ioplan").decode()
        if (model := part.pop(f"model/{number}.ioplan", None)) is not None:
            models[name] = model.decode()
        if (trace := part.pop(f"trace/{number}.iotrace", None)) is not None:
            traces[name] = trace
            if recorded_trace(files[name]).facts.digest != sha256(trace).hexdigest():
                raise ValueError(f"the trace {name} is not the one that was replayed")
    raw["plan_text"] = part.pop("plan.ioplan").decode()
    drive = part.pop("drive.toml", b"").decode()
    raw["resolved"] |= {"files": files, "drive_file": drive}
    session = _portable(Session.model_validate(raw))
    msgspec.convert(session.host, HostFacts)
    records = [_record(line, session) for line in part.pop("runs.jsonl").splitlines()]
    events = map(plain_json, part.pop("events.jsonl").splitlines())
    bundled = Bundled(
        session,
        tuple(map(SessionEvent.model_validate, events)),
        tuple((record, _detail(record, part)) for record in records),
        part.pop("lab.json", b"").decode(),
        traces,
        models,
    )
    if part:
        raise ValueError(f"{min(part)!a} belongs to nothing")
    return bundled


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


def _detail(record: RunRecord, part: dict[str, bytes]) -> RunDetail:
    """What a run has beside its record, if its figures may be true."""
    at = f"details/{record.seq}"
    packed = {kind: part.pop(f"{at}.{kind}", None) for kind in codec.PARTS}
    detail = codec.decode_detail(packed)
    for _ in IntervalCounts(detail.intervals):
        pass  # each can be read
    checked = consistent(record, detail)
    if checked.status != record.status:
        raise ValueError(f"run {record.seq}: {checked.message}")
    return detail


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
