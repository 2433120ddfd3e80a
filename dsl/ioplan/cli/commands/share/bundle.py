"""`ioplan bundle`: sessions in one file, with all that it takes to repeat them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from msgspec.structs import replace

from ioplan.cli.commands.report import report_page
from ioplan.cli.display.output import print_line, print_message
from ioplan.cli.errors import UsageError
from ioplan.cli.interface.plugins import loaded
from ioplan.cli.sessions.stores import STDOUT, opened, results_at
from ioplan.core.units import bytes_text
from ioplan.language.checker.check import check_file
from ioplan.language.errors.diagnostic import PlanError
from ioplan.records.session import Session
from ioplan.results.share.bundle import SUFFIX, bundle_bytes
from ioplan.results.share.contents import Bundled, bundled, restore
from ioplan.results.share.redact import redacted
from ioplan.results.share.signature import sign as signature_of
from ioplan.results.store.store import Store, session_now
from ioplan.runner.lab.lab import LabError
from ioplan.runner.lab.lab_file import read_lab
from ioplan.runner.session.signature import user_key
from ioplan.trace.facts import TraceError
from ioplan.trace.known import file_of, is_facts, recorded_trace

# What a bundle has of the traces that its plans replay: their files, or models.
#
# Who makes a model of a trace is a plug-in: the entry-point group
# `ioplan.trace_models`, of functions as `TraceModel`; the first that can be loaded
# counts.

GROUP = "ioplan.trace_models"
MOST_BYTES = 128 << 20
"""A larger trace is passed on by itself."""


class TraceModel(Protocol):
    """Makes a plan that can be published of a trace that cannot."""

    def __call__(self, path: Path) -> tuple[str, int]:
        """The plan's text, and of how many I/Os. Raises TraceError, OSError."""


def with_traces(one: Bundled, as_models: bool) -> Bundled:
    """With each trace that is still there, or its model; of others it is said."""
    found = dict(_files(one.session))
    if as_models:
        return replace(one, models=dict(_models(found)))
    small = {name: path for name, path in found.items() if _is_small(name, path)}
    return replace(one, traces={n: path.read_bytes() for n, path in small.items()})


def _files(session: Session) -> Iterator[tuple[str, Path]]:
    """The files of its traces, where its plan finds them, with the recorded digests."""
    files = session.resolved.files
    facts = {
        n: recorded_trace(text).facts for n, text in files.items() if is_facts(text)
    }
    if facts and session.resolved.plan:
        with suppress(PlanError, OSError, ValueError):  # it may have changed since
            check_file(Path(session.resolved.plan))
    for name, one in facts.items():
        try:
            yield name, file_of(one.digest)
        except TraceError as error:
            print_message(f"{name} is not in the bundle: {error}")


def _is_small(name: str, path: Path) -> bool:
    size, most = path.stat().st_size, bytes_text(MOST_BYTES)
    if size > MOST_BYTES:
        print_message(
            f"{name} is not in the bundle: it has {bytes_text(size)}, more than {most}"
        )
    return size <= MOST_BYTES


def _models(found: dict[str, Path]) -> Iterator[tuple[str, str]]:
    if not found:
        return
    model: TraceModel | None = next((one for _, one in loaded(GROUP)), None)
    for name, path in found.items():
        try:
            if model is None:
                raise TraceError("no plug-in that makes one is installed")
            yield name, model(path)[0]
        except TraceError as error:
            print_message(f"{name} has no model in the bundle: {error}")


LAB_KEYS = ("backend", "silence_s", "on_failure", "cpus")
TARGET_KEYS = ("path", "serial", "nsid", "partition", "wwid", "model", "cpus")
SECRET = ("pass", "secret", "token", "key", "credential")
"""What is in the name of an option that must not be told."""


def bundle_sessions(
    sessions: list[str],
    output: Path | None,
    sign: Path | None,
    redact: bool,
    force: bool,
    store: str | None,
) -> None:
    """Write a bundle. Raises UsageError, StoreError, BundleError."""
    with results_at(store) as known:
        ids = dict.fromkeys(known.session(key).id for key in sessions or ["last"])
        found = tuple(
            with_traces(_bundled(known, session_now(known, id)), redact) for id in ids
        )
    if redact:
        found = redacted(found, user_key())
    data = bundle_bytes(found, _report(found), _signing(sign))
    path = output or Path(f"{found[0].session.id}{SUFFIX}")
    with opened(path, force) as out:
        out.write(data)
    runs = sum(len(one.runs) for one in found)
    if path != STDOUT:
        print_line(
            f"{path} ({bytes_text(len(data))}): {len(found)} sessions, {runs} runs"
        )


def _signing(key: Path | None) -> Callable[[bytes], bytes] | None:
    return (lambda manifest: signature_of(manifest, key.expanduser())) if key else None


def _bundled(store: Store, session: Session) -> Bundled:
    if session.status == "running":
        raise UsageError(f"session {session.id} is still running; wait until it ends")
    if not store.count(session.id):
        raise UsageError(f"session {session.id} has no run to share")
    return bundled(store, session, _lab(session))


def _lab(session: Session) -> str:
    """What of the lab and of the backend's options bears on the results.

    Only what is listed here, so that no program, address or secret is among it.
    """
    said: dict[str, Any] = {"options": _plain(session.resolved.options)}
    if path := session.request.lab:
        with suppress(LabError):
            lab = read_lab(path)
            said |= lab.model_dump(mode="json", include=set(LAB_KEYS))
            if entry := lab.targets.get(session.request.target or ""):
                said["target"] = entry.model_dump(mode="json", include={*TARGET_KEYS})
    kept = {name: value for name, value in said.items() if value}
    return json.dumps(kept, indent=1) if kept else ""


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in options.items()
        if isinstance(value, bool | int | float | str)
        and not any(word in name.lower() for word in SECRET)
    }


def _report(sessions: tuple[Bundled, ...]) -> bytes:
    """The page on what is in the bundle, and on nothing else."""
    with TemporaryDirectory() as folder, Store.open(Path(folder) / "all.db") as store:
        restore(sessions, store)
        return report_page(store, [one.session for one in sessions])
