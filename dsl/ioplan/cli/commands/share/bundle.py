"""`ioplan bundle`: sessions in one file, with all that it takes to repeat them."""

from __future__ import annotations

import getpass
import json
import os
import platform
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ioplan.cli.commands.report import report_page
from ioplan.cli.commands.share.bundle_traces import with_traces
from ioplan.cli.display.output import print_line
from ioplan.cli.errors import UsageError
from ioplan.cli.sessions.stores import STDOUT, opened, results_at
from ioplan.core.units import bytes_text
from ioplan.records.session import Session
from ioplan.results.share.bundle import SUFFIX, bundle_bytes
from ioplan.results.share.contents import Bundled, bundled, restore
from ioplan.results.share.redact import redacted
from ioplan.results.share.signature import sign as signature_of
from ioplan.results.store.status_now import session_now
from ioplan.results.store.store import Store
from ioplan.runner.lab.lab import LabError
from ioplan.runner.lab.lab_file import read_lab
from ioplan.runner.session.signature import user_key

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
        found = redacted(found, user_key(), [platform.node()], _users())
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


def _users() -> Iterable[str]:
    """The names that the user of this process has."""
    found = {os.environ.get(name, "") for name in ("USER", "LOGNAME", "SUDO_USER")}
    with suppress(KeyError, OSError):
        found.add(getpass.getuser())
    return found


def _report(sessions: tuple[Bundled, ...]) -> bytes:
    """The page on what is in the bundle, and on nothing else."""
    with TemporaryDirectory() as folder, Store.open(Path(folder) / "all.db") as store:
        restore(sessions, store)
        return report_page(store, [one.session for one in sessions])
