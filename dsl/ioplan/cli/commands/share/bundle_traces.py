"""What a bundle has of the traces that its plans replay: their files, or models.

Who makes a model of a trace is a plug-in: the entry-point group `ioplan.trace_models`,
of functions as `TraceModel`; the first that can be loaded counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from ioplan.cli.display.output import print_message
from ioplan.cli.interface.plugins import loaded
from ioplan.core.units import bytes_text
from ioplan.language.check.check import check_file
from ioplan.language.errors.diagnostic import PlanError
from ioplan.records.session import Session
from ioplan.results.share.contents import Bundled
from ioplan.trace.facts import TraceError
from ioplan.trace.known import file_of, is_facts, recorded_trace

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
