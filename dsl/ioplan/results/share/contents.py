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
from contextlib import contextmanager
from hashlib import sha256
from math import inf

from msgspec import Struct

from ioplan.records.record import RunDetail, RunRecord
from ioplan.records.run_request import RunRequest
from ioplan.records.session import Session, SessionEvent
from ioplan.results.measure.consistency import consistent
from ioplan.results.measure.histogram import Histogram
from ioplan.results.measure.interval_counts import IntervalCounts
from ioplan.results.share.container import BundleError, loaded
from ioplan.results.share.shapes import HOST, TARGET, check_counts, check_shape
from ioplan.results.store.codec import (
    decode_histograms,
    decode_series,
    decode_telemetry,
    encode_histograms,
    encode_series,
    encode_telemetry,
)
from ioplan.results.store.errors import StoreError
from ioplan.results.store.rows import checked_schema
from ioplan.results.store.store import Store
from ioplan.trace.known import recorded_trace

REPORT = "report.html"
TOML = "drive.toml"
"""The simulated drive."""
MOST_SESSIONS = 1000
MOST_DETAIL_BYTES = 96 << 20
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

    @property
    def drive(self) -> str:
        """The text of the simulated drive; empty for ioplan's own, and real ones."""
        return self.session.resolved.drive_file

    @property
    def files(self) -> dict[str, str]:
        """The texts of the files that its plan uses, by the names in `use`."""
        return self.session.resolved.files


def bundled(store: Store, session: Session, lab: str = "") -> Bundled:
    """A session of a store, without what is only for its own host."""
    runs = [
        (one, store.whole_detail(one.session, one.seq))
        for one in store.records(session.id)
    ]
    events = tuple(store.events(session.id))
    return Bundled(_portable(session), events, tuple(runs), lab)


def _portable(session: Session) -> Session:
    """Without what only its own host may say."""
    nothing = RunRequest()
    unsaid = {name: getattr(nothing, name) for name in LOCAL}
    change = {
        "request": session.request.model_copy(update=unsaid),
        "resolved": session.resolved.model_copy(
            update={"options": {}, "signature": ""}
        ),
    }
    return session.model_copy(update=change)


def restore(sessions: tuple[Bundled, ...], store: Store) -> None:
    """Put sessions into a store. Raises StoreError."""
    for one in sessions:
        store.begin(one.session)
        for record, detail in one.runs:
            store.add(record, detail)
        for event in one.events:
            store.add_event(one.session.id, event)


# ---- as members


def members_of(sessions: tuple[Bundled, ...]) -> dict[str, bytes]:
    """The members, by name."""
    found: dict[str, bytes] = {}
    for number, one in enumerate(sessions, 1):
        found |= {f"{number}/{name}": data for name, data in _members(one)}
    return found


def _members(one: Bundled) -> Iterator[tuple[str, bytes]]:
    session = one.session.model_dump(mode="json", exclude={"plan_text"})
    session["resolved"]["files"] = list(one.files)
    del session["resolved"]["drive_file"]
    yield "session.json", json.dumps(session, indent=1).encode()
    yield "plan.ioplan", one.session.plan_text.encode()
    for number, (name, text) in enumerate(one.files.items(), 1):
        yield f"use/{number}.ioplan", text.encode()
        if name in one.traces:
            yield f"trace/{number}.iotrace", one.traces[name]
        if name in one.models:
            yield f"model/{number}.ioplan", one.models[name].encode()
    yield "runs.jsonl", _lines(record.model_dump_json() for record, _ in one.runs)
    yield "events.jsonl", _lines(event.model_dump_json() for event in one.events)
    for record, detail in one.runs:
        at = f"details/{record.seq}"
        yield f"{at}.histograms", encode_histograms(detail.histograms)
        yield f"{at}.series", encode_series(detail.series)
        if detail.telemetry:
            yield f"{at}.telemetry", encode_telemetry(detail.telemetry)
        if detail.intervals:
            yield f"{at}.intervals", detail.intervals
    for name, text in ((TOML, one.drive), ("lab.json", one.lab)):
        if text:
            yield name, text.encode()


def _lines(texts: Iterator[str]) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode()


# ---- out of members


def sessions_of(members: Mapping[str, bytes]) -> tuple[Bundled, ...]:
    """The sessions of a bundle; its report is not read. Raises BundleError."""
    left = {name: data for name, data in members.items() if name != REPORT}
    details = Details()
    found: list[Bundled] = []
    while left and len(found) < MOST_SESSIONS:
        head = f"{len(found) + 1}/"
        own = {n.removeprefix(head): left.pop(n) for n in [*left] if n.startswith(head)}
        with _validated(f"session {len(found) + 1}"):
            found.append(_bundled(own, details))
            if own:
                raise ValueError(f"{min(own)} belongs to nothing")
    if left or not found:
        raise BundleError("the bundle has no session, or members that belong to none")
    if len({one.session.id for one in found}) < len(found):
        raise BundleError("two sessions of the bundle have one id")
    return tuple(found)


@contextmanager
def _validated(what: str) -> Iterator[None]:
    """Whatever is wrong with what a stranger wrote is a BundleError."""
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError, StoreError) as error:
        why = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise BundleError(f"{what} of the bundle cannot be read: {why}") from error


class Details:
    """What the series of a bundle become, before any of them is decoded."""

    def __init__(self) -> None:
        self.size = 0

    def checked(self, blob: bytes) -> bytes:
        """The blob, once it is known that it does not become too large."""
        self._count(blob[1:])
        return blob

    def checked_intervals(self, packed: bytes) -> bytes:
        """The packed intervals, if they can be read to the last one."""
        found = IntervalCounts(packed)
        for size in found.sizes():
            self._add(size)
        for _ in found.between(-inf, inf):
            pass
        return packed

    def _count(self, packed: bytes) -> None:
        unpacker = zlib.decompressobj()
        try:
            size = len(unpacker.decompress(packed, MOST_DETAIL_BYTES + 1))
        except zlib.error as error:
            raise ValueError(f"a series is damaged: {error}") from error
        self._add(size)

    def _add(self, size: int) -> None:
        if size > MOST_DETAIL_BYTES:
            raise ValueError(f"a series is larger than {MOST_DETAIL_BYTES} B")
        self.size += size
        if self.size > MOST_DETAILS_BYTES:
            raise ValueError(f"its series are larger than {MOST_DETAILS_BYTES} B")


def _bundled(own: dict[str, bytes], details: Details) -> Bundled:
    """Takes out of `own` what it reads."""
    raw = loaded(own.pop("session.json"))
    resolved = raw["resolved"]
    names = resolved["files"]
    texts = [own.pop(f"use/{n}.ioplan").decode() for n in range(1, len(names) + 1)]
    resolved["files"] = dict(zip(names, texts, strict=True))
    resolved["drive_file"] = own.pop(TOML, b"").decode()
    if len({*names}) < len(names):
        raise ValueError("two files have one name")
    plan = own.pop("plan.ioplan").decode()
    session = _portable(Session.model_validate(raw | {"plan_text": plan}))
    check_shape(session.host, HOST, "its host")
    records = [_record(line, session) for line in own.pop("runs.jsonl").splitlines()]
    runs = tuple((record, _detail(own, record.seq, details)) for record in records)
    events = map(loaded, own.pop("events.jsonl").splitlines())
    return Bundled(
        session,
        tuple(map(SessionEvent.model_validate, events)),
        tuple(_sound(*run) for run in runs),
        own.pop("lab.json", b"").decode(),
        _traces(own, resolved["files"]),
        {
            name: text.decode()
            for name, text in _numbered(own, names, "model/{}.ioplan")
        },
    )


def _traces(own: dict[str, bytes], files: dict[str, str]) -> dict[str, bytes]:
    """Those of the facts in the session. Raises ValueError for another one."""
    found = dict(_numbered(own, files, "trace/{}.iotrace"))
    for name, data in found.items():
        if recorded_trace(files[name]).facts.digest != sha256(data).hexdigest():
            raise ValueError(f"the trace {name} is not the one that was replayed")
    return found


def _numbered(
    own: dict[str, bytes], names: Iterable[str], member: str
) -> Iterator[tuple[str, bytes]]:
    for number, name in enumerate(names, 1):
        if (data := own.pop(member.format(number), None)) is not None:
            yield name, data


def _record(line: bytes, session: Session) -> RunRecord:
    raw = loaded(line)
    record = RunRecord.model_validate(checked_schema(raw))
    check_counts(raw)
    if record.session != session.id:
        raise ValueError(f"run {record.seq} is of another session")
    check_shape(record.target, TARGET, f"the target of run {record.seq}")
    check_shape(record.host, HOST, f"the host of run {record.seq}")
    return record


def _sound(record: RunRecord, detail: RunDetail) -> tuple[RunRecord, RunDetail]:
    """A run whose figures may be true. Raises ValueError."""
    made = consistent(record, detail)
    if made.status != record.status:
        raise ValueError(f"run {record.seq}: {made.message}")
    return record, detail


def _detail(own: dict[str, bytes], seq: int, details: Details) -> RunDetail:
    at = f"details/{seq}"
    telemetry = own.pop(f"{at}.telemetry", b"")
    detail = RunDetail(
        histograms=decode_histograms(details.checked(own.pop(f"{at}.histograms"))),
        series=decode_series(details.checked(own.pop(f"{at}.series"))),
        telemetry=decode_telemetry(details.checked(telemetry)) if telemetry else (),
        intervals=details.checked_intervals(own.pop(f"{at}.intervals", b"")),
    )
    for one in detail.histograms:
        if not 0 < one.bits <= MOST_BITS:
            raise ValueError(f"a histogram of {one.bits} bits")
        Histogram.of(one.bins, one.bits)
    return detail
