"""Under what a session ran: what its history is parted by, and what else changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ioplan.records.record import RunRecord
from ioplan.records.setup import drive_of

Conditions = Mapping[str, str]
"""Name to text; empty where it is not known."""

MISMATCH = "mitigations"


def _host(*names: str) -> Callable[[RunRecord], str]:
    def read(run: RunRecord) -> str:
        found: Any = run.host
        for name in names:
            found = found.get(name) if isinstance(found, dict) else None
        return _text(found)

    return read


def _text(found: Any) -> str:
    if isinstance(found, dict):
        return ", ".join(f"{name} {text}" for name, text in sorted(found.items()))
    return "" if found is None else str(found)


def _firmware(run: RunRecord) -> str:
    return str(dict(run.target.get("identity") or {}).get("firmware") or "")


CONDITIONS: dict[str, Callable[[RunRecord], str]] = {
    "drive": drive_of,
    "firmware": _firmware,
    "host": _host("hostname"),
    "kernel": _host("kernel"),
    "backend": lambda run: run.backend.name,
    "backend version": lambda run: f"{run.backend.name} {run.backend.version}",
    "backend mode": lambda run: run.backend.mode,
    "ioplan": lambda run: run.ioplan,
    "governor": _host("governor"),
    "scheduler": _host("target", "scheduler"),
    "merges": _host("target", "nomerges"),
    "write cache": _host("target", "write_cache"),
    "file system": _host("target", "file_system"),
    "link speed": _host("target", "current_link_speed"),
    "link width": _host("target", "current_link_width"),
    "CPU": _host("cpu"),
    "CPUs": _host("cpus"),
    MISMATCH: _host("mitigations"),
}
"""In the order in which they are told."""
BY = ("drive", "firmware", "host", "kernel", "backend", "ioplan")
"""What series may be parted by."""
USUAL = ("drive", "host", "backend")
"""What they are parted by where nothing is asked: the rest may change within one."""
PEERS = (
    *("drive", "firmware", "host", "kernel", "backend version", "backend mode"),
    *("scheduler", "merges", "write cache", "file system"),
)
"""Between sessions that have these in common, nothing is known to have changed."""


def conditions_of(run: RunRecord) -> dict[str, str]:
    """All of a session, of any of its runs."""
    return {name: read(run) for name, read in CONDITIONS.items()}


def changed(before: Conditions, after: Conditions) -> tuple[str, ...]:
    """`firmware 1.0 -> 1.1` for each that is known of both and differs."""
    return () if before is after else tuple(_changed(before, after))


def _changed(before: Conditions, after: Conditions) -> Iterator[str]:
    for name in CONDITIONS:
        one, other = before.get(name, ""), after.get(name, "")
        if not one or not other or one == other:
            continue
        if name == "backend" and before.get("backend version"):
            continue  # its version tells both
        yield name if name == MISMATCH else f"{name} {one} -> {other}"
