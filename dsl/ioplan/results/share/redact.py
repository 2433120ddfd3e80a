"""What of a session may be shared: figures, the plan, and what a machine is, not whose.

Only the fields that stand here are kept. Drives and hosts have pseudonyms, the same in
all bundles of one user: an HMAC of the name by a key that only the user has, so that
nobody can try names against it. The plan is kept as it was written, but for its
comments.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from ioplan.core.model import Model
from ioplan.language.syntax.source import without_comments
from ioplan.records.record import RunRecord
from ioplan.records.session import Session, SessionEvent
from ioplan.results.share.archive import BundleError
from ioplan.results.share.bundle import Bundled
from ioplan.results.share.recorded_plan import run_ids

REDACTED, PLAN_FILE = "redacted", "plan.ioplan"
SESSION = (
    *("id", "plan", "started_at", "ended_at", "status", "backend", "ioplan"),
    *("expected", "unmet"),
)
REQUEST = (
    *("tests", "create", "backend", "settings", "profile", "scale_time"),
    "interval",
)
RECORD = (
    *("session", "seq", "run_id", "status", "cause", "ioplan", "started_at"),
    *("ended_at", "run_s", "lasted_s", "streams", "directions", "total", "phases"),
    *("cpu", "cpu_percent", "steady", "decided", "found", "power_cut", "verdicts"),
    *("telemetry", "clock", "wear", "state", "substitutions"),
)
EVENT = ("name", "start_s", "end_s", "exit_code")
HOST = (
    *("kernel", "machine", "os", "cpu", "cpus", "memory_bytes", "governor"),
    *("cpu_driver", "python", "mitigations", "numa_nodes", "not_measured"),
)
TARGET = ("kind", "capacity_bytes", "block_bytes")
IDENTITY = ("model", "firmware")
BACKEND, FACTS = ("name", "version", "mode"), ("verify", "lateness")

Pseudonym = Callable[[str, Any], str]
"""Of a kind of name, and a name."""
M = TypeVar("M", bound=Model)


def redacted(sessions: Iterable[Bundled], key: bytes) -> tuple[Bundled, ...]:
    """The sessions with nothing but what may be shared.

    Raises BundleError where a plan does not do the same without its comments.
    """

    def pseudonym(kind: str, name: Any) -> str:
        digest = hmac.new(key, str(name).lower().encode(), "sha256").hexdigest()[:8]
        return f"{kind}_{digest}" if name else ""

    return tuple(_redacted(bundled, pseudonym) for bundled in sessions)


def _redacted(bundled: Bundled, pseudonym: Pseudonym) -> Bundled:
    session = _session(bundled.session, pseudonym)
    if run_ids(session) != run_ids(bundled.session):
        text = f"the plan of session {session.id} does not do the same"
        raise BundleError(f"{text} without its comments")
    runs = ((_record(record, pseudonym), detail) for record, detail in bundled.runs)
    events = tuple(map(_event, bundled.events))
    return Bundled(session, events, tuple(runs), models=bundled.models)


def _session(session: Session, pseudonym: Pseudonym) -> Session:
    drive, resolved = session.drive, session.resolved
    serial = pseudonym("drive", drive and (drive.serial or drive.wwid))
    return _only(
        session,
        SESSION,
        plan_file=PLAN_FILE,
        plan_text=_uncommented(session.plan_text),
        target=REDACTED,
        request=_only(session.request, REQUEST),
        resolved=_only(
            resolved,
            ("parameters",),
            plan=PLAN_FILE if resolved.plan else "",
            files={name: _uncommented(text) for name, text in resolved.files.items()},
            drive_file=_uncommented(resolved.drive_file),
        ),
        host=_host(session.host, pseudonym),
        host_name=pseudonym("host", session.host_name),
        drive=drive and _only(drive, (*IDENTITY, "capacity_bytes"), serial=serial),
    )


def _uncommented(text: str) -> str:
    lines = without_comments(text).splitlines(keepends=True)
    return "".join(line.rstrip() + "\n" * line.endswith("\n") for line in lines)


def _event(event: SessionEvent) -> SessionEvent:
    """Of an edit the plan as it was before; what others say for a person goes."""
    text = _uncommented(event.text) if event.kind == "edited" else ""
    return _only(event, ("at", "kind"), text=text)


def _record(record: RunRecord, pseudonym: Pseudonym) -> RunRecord:
    names, job, backend = _target_names(record), record.asked.job, record.backend
    targets = tuple(
        target.model_copy(update={"name": names[target.name], "path": REDACTED})
        for target in job.targets
    )
    job = job.model_copy(update={"target": REDACTED, "targets": targets})
    change = {"plan_file": PLAN_FILE, "job": job}
    return _only(
        record,
        RECORD,
        asked=record.asked.model_copy(update=change),
        backend=_only(backend, BACKEND, facts=_picked(backend.facts, FACTS)),
        target=_target(record.target, pseudonym),
        host=_host(record.host, pseudonym),
        targets={names[name]: result for name, result in record.targets.items()},
        events=tuple(
            _only(event, EVENT, host="", output="") for event in record.events
        ),
    )


def _target_names(record: RunRecord) -> dict[str, str]:
    """Those of the plan are kept; others, such as a lab's or paths, are numbered."""
    planned = {name for s in record.asked.workload.streams for name in s.targets}
    names = [*(target.name for target in record.asked.job.targets), *record.targets]
    return {
        name: name if name in planned else f"target-{number}"
        for number, name in enumerate(dict.fromkeys(names), 1)
    }


def _host(facts: Mapping[str, Any], pseudonym: Pseudonym) -> dict[str, Any]:
    name = pseudonym("host", facts.get("hostname"))
    return _picked(facts, HOST) | ({"hostname": name} if name else {})


def _target(facts: Mapping[str, Any], pseudonym: Pseudonym) -> dict[str, Any]:
    identity = facts.get("identity")
    if not isinstance(identity, Mapping):
        identity = {}
    serial = pseudonym("drive", identity.get("serial") or identity.get("wwid"))
    identity = _picked(identity, IDENTITY) | ({"serial": serial} if serial else {})
    return {**_picked(facts, TARGET), "path": REDACTED, "identity": identity}


def _picked(facts: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: facts[name] for name in names if name in facts}


def _only(model: M, names: Iterable[str], **more: Any) -> M:
    """A model of that kind with these of its fields, and others as they stand here."""
    return type(model)(**{name: getattr(model, name) for name in names}, **more)
