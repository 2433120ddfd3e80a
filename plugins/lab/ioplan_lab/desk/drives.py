"""The drives of a lab and of its results: what each did last, and how worn it is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from msgspec import Struct

from ioplan.lab.lab import Lab
from ioplan.store.connection import Connection, Row
from ioplan.store.store import Store
from ioplan_lab.desk.queue.overview import DriveRow

MOST = 2000
KNOWN = "SELECT * FROM v_drive ORDER BY last_at DESC LIMIT :most"
LAST_RECORD = """
    SELECT record FROM run WHERE session = :session ORDER BY seq DESC LIMIT 1"""


class Health(Struct, frozen=True):
    """What the drive's SMART log said after its last run; None where it did not.

    `used_percent` is of its rated life, `spare_percent` of its spare blocks.
    """

    used_percent: float | None = None
    spare_percent: float | None = None
    media_errors: float | None = None
    warning: float | None = None
    celsius: float | None = None

    @property
    def text(self) -> str:
        """What is wrong, or that nothing is; empty where nothing is known."""
        if self.warning is None and self.media_errors is None:
            return ""
        wrong = [f"critical warning {self.warning:.0f}"] if self.warning else []
        if self.media_errors:
            wrong.append(f"{self.media_errors:.0f} media errors")
        return ", ".join(wrong) or "good"


class LabDrive(Struct, frozen=True):
    """A drive of the lab file, of the results, or of both.

    `state` is the desk's, None for a drive that the lab does not name. `last` has the
    columns of `v_drive`, None for a drive that nothing ran on.
    """

    name: str
    host: str
    state: DriveRow | None
    last: Mapping[str, Any] | None
    health: Health

    @property
    def filter(self) -> str:
        """What finds its sessions."""
        last = self.last or {}
        return str(last.get("serial") or last.get("drive") or self.name)


def lab_drives(store: Store, lab: Lab, states: list[DriveRow]) -> list[LabDrive]:
    """The lab's drives in its order, then those that only results know.

    Raises StoreError.
    """
    with store.reading() as connection:
        known = connection.rows(KNOWN, most=MOST)
        health = {row["drive"]: _health(connection, row) for row in known}
    left = {row["drive"]: row for row in known}
    found = []
    for state in states:
        row = _row_of(state.drive, lab, left)
        if row:
            left.pop(row["drive"], None)
        worn = health[row["drive"]] if row else Health()
        found.append(LabDrive(state.drive, state.host, state, row, worn))
    return [*found, *_others(left, health)]


def capacities(
    store: Store, lab: Lab, found: Mapping[tuple[str, str], int]
) -> dict[str, int]:
    """In bytes, of the lab's targets that were looked at, or that something ran on.

    `found` has what hosts said, by host and name. Raises StoreError.
    """
    with store.reading() as connection:
        known = {row["drive"]: row for row in connection.rows(KNOWN, most=MOST)}
    sizes = {}
    for name, entry in lab.targets.items():
        row = _row_of(name, lab, known)
        host = entry.host or next(iter(entry.hosts), "")
        seen = found.get((host, name)) or (row and row["capacity_bytes"])
        if seen:
            sizes[name] = int(seen)
    return sizes


def _row_of(name: str, lab: Lab, known: Mapping[str, Row]) -> Row | None:
    """By what identifies it, else by its name."""
    entry = lab.targets[name]
    own = {key: getattr(entry, key) for key in ("serial", "wwid")}
    own = {key: value for key, value in own.items() if value}
    for wanted in (own, {"lab_name": name}):
        for row in known.values():
            if wanted and all(row[key] == value for key, value in wanted.items()):
                return row
    return None


def _others(
    known: Mapping[str, Row], health: Mapping[str, Health]
) -> Iterator[LabDrive]:
    for id, row in known.items():
        name = row["lab_name"] or row["drive"]
        yield LabDrive(name, row["host"], None, row, health[id])


def _health(connection: Connection, row: Row) -> Health:
    """Of the last run of its last session."""
    rows = connection.rows(LAST_RECORD, session=row["last_session"])
    with suppress(ValueError, TypeError, AttributeError):
        telemetry = json.loads(rows[0]["record"]).get("telemetry") if rows else None
        return _worn(telemetry or {})
    return Health()


def _worn(telemetry: Mapping[str, Any]) -> Health:
    smart = telemetry.get("smart_after") or {}

    def first(*names: str) -> float | None:
        return next((float(smart[name]) for name in names if name in smart), None)

    return Health(
        used_percent=first("percent_used", "percentage_used"),
        spare_percent=first("avail_spare"),
        media_errors=first("media_errors"),
        warning=first("critical_warning"),
        celsius=telemetry.get("temperature_max_celsius"),
    )
