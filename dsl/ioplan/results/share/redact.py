"""What of a session may be shared: figures, the plan, and what a machine is, not whose.

Only the fields that stand here are kept of a session, a host, a target and a backend.
Drives and hosts have pseudonyms, the same in all bundles of one user: an HMAC of the
name by a key that only the user has, so that nobody can try names against it. The plan
is kept as it was written, but for its comments.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ioplan.language.syntax.source import without_comments
from ioplan.records.drive import Drive
from ioplan.records.record import BackendFacts, RunRecord
from ioplan.records.run_request import Resolved, RunRequest
from ioplan.records.session import Session, SessionEvent
from ioplan.results.share.container import BundleError
from ioplan.results.share.contents import Bundled
from ioplan.results.share.recorded_plan import run_ids

REDACTED = "redacted"
PLAN_FILE = "plan.ioplan"
SESSION = (
    *("id", "plan", "started_at", "ended_at", "status", "backend", "ioplan"),
    *("expected", "unmet"),
)
REQUEST = (
    "tests",
    "create",
    "backend",
    "settings",
    "profile",
    "scale_time",
    "interval",
)
HOST = (
    *("kernel", "machine", "os", "cpu", "cpus", "memory_bytes", "governor"),
    *("cpu_driver", "python", "mitigations", "numa_nodes", "not_measured"),
)
TARGET = ("kind", "capacity_bytes", "block_bytes")
IDENTITY = ("model", "firmware")
FACTS = ("verify", "lateness")

Pseudonym = Callable[[str, str], str]
"""Of a kind of name, and a name."""


def redacted(sessions: Iterable[Bundled], key: bytes) -> tuple[Bundled, ...]:
    """The sessions with nothing but what may be shared.

    Raises BundleError where a plan does not do the same without its comments.
    """

    def pseudonym(kind: str, name: str) -> str:
        digest = hmac.new(key, name.lower().encode(), "sha256").hexdigest()[:8]
        return f"{kind}_{digest}" if name else ""

    return tuple(_redacted(one, pseudonym) for one in sessions)


def _redacted(one: Bundled, pseudonym: Pseudonym) -> Bundled:
    found = Bundled(
        _session(one.session, pseudonym),
        tuple(map(_event, one.events)),
        tuple((_record(record, pseudonym), detail) for record, detail in one.runs),
        models=one.models,
    )
    if run_ids(one.session) != run_ids(found.session):
        raise BundleError(
            f"the plan of session {one.session.id} does not do the same without its "
            "comments"
        )
    return found


def _session(session: Session, pseudonym: Pseudonym) -> Session:
    asked, found = session.request, session.resolved
    files = {name: _uncommented(text) for name, text in found.files.items()}
    return Session(
        **{name: getattr(session, name) for name in SESSION},
        plan_file=PLAN_FILE,
        plan_text=_uncommented(session.plan_text),
        target=REDACTED,
        request=RunRequest(**{name: getattr(asked, name) for name in REQUEST}),
        resolved=Resolved(
            plan=PLAN_FILE if found.plan else "",
            parameters=found.parameters,
            files=files,
            drive_file=_uncommented(found.drive_file),
        ),
        host=_host(session.host, pseudonym),
        host_name=pseudonym("host", session.host_name),
        drive=session.drive and _drive(session.drive, pseudonym),
    )


def _uncommented(text: str) -> str:
    lines = without_comments(text).splitlines(keepends=True)
    return "".join(line.rstrip() + "\n" * line.endswith("\n") for line in lines)


def _drive(drive: Drive, pseudonym: Pseudonym) -> Drive:
    kept = {name: getattr(drive, name) for name in (*IDENTITY, "capacity_bytes")}
    return Drive(**kept, serial=pseudonym("drive", drive.serial or drive.wwid))


def _event(event: SessionEvent) -> SessionEvent:
    """Of an edit the plan as it was before; what others say for a person goes."""
    text = _uncommented(event.text) if event.kind == "edited" else ""
    return event.model_copy(update={"text": text})


def _record(record: RunRecord, pseudonym: Pseudonym) -> RunRecord:
    names = _target_names(record)
    job = record.asked.job
    targets = tuple(
        one.model_copy(update={"name": names[one.name], "path": REDACTED})
        for one in job.targets
    )
    job = job.model_copy(update={"target": REDACTED, "targets": targets})
    asked = {"plan_file": PLAN_FILE, "job": job}
    return record.model_copy(
        update={
            "message": "",
            "asked": record.asked.model_copy(update=asked),
            "backend": _backend(record.backend),
            "target": _target(record.target, pseudonym),
            "host": _host(record.host, pseudonym),
            "targets": {names[name]: one for name, one in record.targets.items()},
            "events": tuple(
                one.model_copy(update={"host": "", "output": "", "error": ""})
                for one in record.events
            ),
            "warnings": (),
        }
    )


def _target_names(record: RunRecord) -> dict[str, str]:
    """Those of the plan are kept; others, such as a lab's or paths, are numbered."""
    planned = {name for one in record.asked.workload.streams for name in one.targets}
    every = [*(one.name for one in record.asked.job.targets), *record.targets]
    return {
        name: name if name in planned else f"target-{number}"
        for number, name in enumerate(dict.fromkeys(every), 1)
    }


def _backend(backend: BackendFacts) -> BackendFacts:
    facts = _kept(backend.facts, FACTS)
    return backend.model_copy(update={"reason": "", "facts": facts})


def _host(facts: Mapping[str, Any], pseudonym: Pseudonym) -> dict[str, Any]:
    name = str(facts.get("hostname") or "")
    kept = _kept(facts, HOST)
    return {**kept, "hostname": pseudonym("host", name)} if name else kept


def _target(facts: Mapping[str, Any], pseudonym: Pseudonym) -> dict[str, Any]:
    known = facts.get("identity")
    identity = known if isinstance(known, Mapping) else {}
    serial = str(identity.get("serial") or identity.get("wwid") or "")
    own = {"serial": pseudonym("drive", serial)} if serial else {}
    kept = {**_kept(identity, IDENTITY), **own}
    return {**_kept(facts, TARGET), "path": REDACTED, "identity": kept}


def _kept(facts: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: facts[name] for name in names if name in facts}
