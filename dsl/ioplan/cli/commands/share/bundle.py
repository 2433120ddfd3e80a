"""`ioplan bundle`: sessions in one file, with all that it takes to repeat them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
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
from ioplan.results.share.bundle import SUFFIX, Bundled, bundle_bytes, bundled, restore
from ioplan.results.share.redact import redacted
from ioplan.results.share.signature import sign as signature_of
from ioplan.results.store.store import Store, session_now
from ioplan.runner.lab.lab import LabError
from ioplan.runner.lab.lab_file import read_lab
from ioplan.runner.session.signature import user_key
from ioplan.trace.facts import TraceError
from ioplan.trace.known import file_of, is_facts, recorded_trace

LAB_KEYS = ("backend", "silence_s", "on_failure", "cpus")
TARGET_KEYS = ("path", "serial", "nsid", "partition", "wwid", "model", "cpus")
SECRET = ("pass", "secret", "token", "key", "credential")
"""What is in the name of an option that is not for others."""


def bundle_sessions(
    sessions: list[str],
    output: Path | None,
    sign: Path | None,
    redact: bool,
    force: bool,
    store: str | None,
) -> None:
    """Write a bundle. Raises UsageError, StoreError, BundleError."""
    with results_at(store) as results:
        ids = dict.fromkeys(results.session(key).id for key in sessions or ["last"])
        contents = tuple(
            _with_traces(_bundled(results, session_now(results, id)), redact)
            for id in ids
        )
    if redact:
        contents = redacted(contents, user_key())
    key = sign.expanduser() if sign else None
    signing = (lambda manifest: signature_of(manifest, key)) if key else None
    data = bundle_bytes(contents, _report(contents), signing)
    path = output or Path(f"{contents[0].session.id}{SUFFIX}")
    with opened(path, force) as out:
        out.write(data)
    if path != STDOUT:
        runs = sum(len(each.runs) for each in contents)
        size = bytes_text(len(data))
        print_line(f"{path} ({size}): {len(contents)} sessions, {runs} runs")


def _bundled(store: Store, session: Session) -> Bundled:
    if session.status == "running":
        raise UsageError(f"session {session.id} is still running; wait until it ends")
    if not store.count(session.id):
        raise UsageError(f"session {session.id} has no run to share")
    return bundled(store, session, _lab_text(session))


def _lab_text(session: Session) -> str:
    """What of the lab and of the backend's options bears on the results.

    Only what is listed here, so that no program, address or secret is among it.
    """
    options = {
        name: value
        for name, value in session.resolved.options.items()
        if isinstance(value, bool | int | float | str)
        and not any(word in name.lower() for word in SECRET)
    }
    facts: dict[str, Any] = {"options": options}
    if path := session.request.lab:
        with suppress(LabError):
            lab = read_lab(path)
            facts |= lab.model_dump(mode="json", include={*LAB_KEYS})
            if target := lab.targets.get(session.request.target or ""):
                facts["target"] = target.model_dump(mode="json", include={*TARGET_KEYS})
    facts = {name: value for name, value in facts.items() if value}
    return json.dumps(facts, indent=1) if facts else ""


def _report(sessions: tuple[Bundled, ...]) -> bytes:
    """The page on what is in the bundle, and on nothing else."""
    with TemporaryDirectory() as folder, Store.open(Path(folder) / "all.db") as store:
        restore(sessions, store)
        return report_page(store, [each.session for each in sessions])


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


def _with_traces(bundled: Bundled, as_models: bool) -> Bundled:
    """With each trace that is still there, or its model; notes say which are not."""
    paths = dict(_trace_files(bundled.session))
    if as_models:
        return replace(bundled, models=dict(_models(paths)))
    traces = {}
    for name, path in paths.items():
        size, most = path.stat().st_size, bytes_text(MOST_BYTES)
        if size > MOST_BYTES:
            why = f"it has {bytes_text(size)}, more than {most}"
            print_message(f"{name} is not in the bundle: {why}")
        else:
            traces[name] = path.read_bytes()
    return replace(bundled, traces=traces)


def _trace_files(session: Session) -> Iterator[tuple[str, Path]]:
    """The files of its traces, where its plan finds them, with the recorded digests."""
    files = session.resolved.files.items()
    digests = {n: recorded_trace(t).facts.digest for n, t in files if is_facts(t)}
    if digests and session.resolved.plan:
        with suppress(PlanError, OSError, ValueError):  # it may have changed since
            check_file(Path(session.resolved.plan))
    for name, digest in digests.items():
        try:
            yield name, file_of(digest)
        except TraceError as error:
            print_message(f"{name} is not in the bundle: {error}")


def _models(paths: Mapping[str, Path]) -> Iterator[tuple[str, str]]:
    model: TraceModel | None = None
    if paths:
        model = next((plugin for _, plugin in loaded(GROUP)), None)
    for name, path in paths.items():
        try:
            if model is None:
                raise TraceError("no plug-in that makes one is installed")
            yield name, model(path)[0]
        except TraceError as error:
            print_message(f"{name} has no model in the bundle: {error}")
