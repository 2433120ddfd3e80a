"""The drives of a lab and of its results: what each did last, and how worn it is."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ioplan.backends import LabTarget
from ioplan.results.store import Connection, Row, Store
from ioplan.runner import Lab
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
    def failure(self) -> str:
        """What takes the drive out of service, empty for nothing; wear does not."""
        wrong = [f"critical warning {self.warning:.0f}"] if self.warning else []
        if self.media_errors:
            wrong.append(f"{self.media_errors:.0f} media errors")
        return ", ".join(wrong)

    @property
    def text(self) -> str:
        """What is wrong, or that nothing is; empty where nothing is known."""
        if self.warning is None and self.media_errors is None:
            return ""
        return self.failure or "good"


class LabDrive(Struct, frozen=True):
    """A drive of the lab file, of the results, or of both.

    `state` is the desk's, None for a drive that the lab does not name. `last` has the
    columns of `v_drive`, None for a drive that nothing ran on.
    """

    name: str
    host: str
    state: DriveRow | None
    last: Mapping[str, Any] | None
    health: Health = Health()

    @property
    def filter(self) -> str:
        """What finds its sessions."""
        last = self.last or {}
        return str(last.get("serial") or last.get("drive") or self.name)


def lab_drives(store: Store, lab: Lab, states: list[DriveRow]) -> list[LabDrive]:
    """The lab's drives in its order, then those that only results know.

    Their health is not looked up; see `with_health`. Raises StoreError.
    """
    with store.reading() as connection:
        known = _Known(connection.rows(KNOWN, most=MOST))
    found = []
    for state in states:
        row = known.taken(state.drive, lab.targets[state.drive])
        found.append(LabDrive(state.drive, state.host, state, row))
    return [*found, *(_other(row) for row in known.left)]


def with_health(store: Store, drives: Iterable[LabDrive]) -> list[LabDrive]:
    """Drives with what their last runs told of their wear. Raises StoreError."""
    with store.reading() as connection:
        return [
            replace(one, health=_health(connection, one.last)) if one.last else one
            for one in drives
        ]


def healths(store: Store, sessions: Iterable[str]) -> dict[str, Health]:
    """What the last run of each session told of its drive. Raises StoreError."""
    with store.reading() as connection:
        return {one: _health(connection, {"last_session": one}) for one in sessions}


def last_rows(store: Store, lab: Lab) -> dict[str, Row]:
    """The rows of `v_drive` of the lab's targets that something ran on, by name.

    Raises StoreError.
    """
    with store.reading() as connection:
        known = _Known(connection.rows(KNOWN, most=MOST))
    found = ((name, known.of(name, entry)) for name, entry in lab.targets.items())
    return {name: row for name, row in found if row}


def capacities(
    store: Store, lab: Lab, found: Mapping[tuple[str, str], int]
) -> dict[str, int]:
    """In bytes, of the lab's targets that were looked at, or that something ran on.

    `found` has what hosts said, by host and name. Raises StoreError.
    """
    rows, sizes = last_rows(store, lab), {}
    for name, entry in lab.targets.items():
        row = rows.get(name)
        host = entry.host or next(iter(entry.hosts), "")
        seen = found.get((host, name)) or (row and row["capacity_bytes"])
        if seen:
            sizes[name] = int(seen)
    return sizes


class _Known:
    """Drives of the results, found by what identifies them, else by their names."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._left = {row["drive"]: row for row in rows}
        self._by: dict[tuple[str, str], list[Row]] = {}
        for row in self._left.values():
            for key in ("serial", "wwid", "lab_name"):
                self._by.setdefault((key, row[key]), []).append(row)

    def of(self, name: str, entry: LabTarget) -> Row | None:
        """That of a target of the lab, unless it was taken."""
        own = {key: getattr(entry, key) for key in ("serial", "wwid")}
        own = {key: value for key, value in own.items() if value}
        for wanted in (own, {"lab_name": name}):
            for row in self._by.get(next(iter(wanted.items()), ("", "")), ()):
                same = all(row[key] == value for key, value in wanted.items())
                if same and row["drive"] in self._left:
                    return row
        return None

    def taken(self, name: str, entry: LabTarget) -> Row | None:
        """The row of a target, taken: it is no target's that comes later."""
        row = self.of(name, entry)
        if row:
            del self._left[row["drive"]]
        return row

    @property
    def left(self) -> Iterable[Row]:
        """The rows of no target."""
        return self._left.values()


def _other(row: Row) -> LabDrive:
    return LabDrive(row["lab_name"] or row["drive"], row["host"], None, row)


def _health(connection: Connection, row: Mapping[str, Any]) -> Health:
    """The health at the last run of the drive's last session."""
    rows = connection.rows(LAST_RECORD, session=row["last_session"])
    with suppress(ValueError, TypeError, AttributeError):
        told = (json.loads(rows[0]["record"]).get("telemetry") if rows else None) or {}
        hottest = told.get("temperature_max_celsius")
        return health_of(told.get("smart_after") or {}, hottest)
    return Health()


def health_of(smart: Mapping[str, float], celsius: float | None = None) -> Health:
    """What a SMART log says; `celsius` is the hottest that was measured."""

    def first(*names: str) -> float | None:
        return next((float(smart[name]) for name in names if name in smart), None)

    return Health(
        used_percent=first("percent_used", "percentage_used"),
        spare_percent=first("avail_spare"),
        media_errors=first("media_errors"),
        warning=first("critical_warning"),
        celsius=celsius,
    )
