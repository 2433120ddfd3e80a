"""What is known of the drives of a lab, for who selects some by what they are."""

from __future__ import annotations

from collections.abc import Mapping

from ioplan.results.store.connection import Row
from ioplan.results.store.store import Store
from ioplan.runner.lab.cross_references import members
from ioplan.runner.lab.lab import Lab
from ioplan_lab.desk.clock import stamp
from ioplan_lab.desk.database import DeskDatabase
from ioplan_lab.desk.drives import LabDrive, lab_drives, with_health
from ioplan_lab.desk.inventory import Busy
from ioplan_lab.desk.queue.drives import Drives
from ioplan_lab.desk.queue.overview import drive_rows
from ioplan_lab.desk.queue.queue import Queue
from ioplan_lab.desk.selection import KnownDrive, selection, texts_of
from ioplan_lab.desk.surveyed import reported
from ioplan_lab.desk.tags import DriveTags


def targets_on(
    text: str, lab: Lab, store: Store, database: DeskDatabase, busy: Busy, person: str
) -> list[str]:
    """The targets that a selection takes. Raises DeskError, StoreError."""
    wanted = selection(text)
    states = Drives(database).states()
    rows = drive_rows(lab, states, Queue(database), busy)
    drives = [one for one in lab_drives(store, lab, rows) if one.state]
    if any(one.name == "life" for one in wanted.conditions):
        drives = with_health(store, drives)
    seen, now = reported(database), stamp()
    groups = {name: members(lab, name) for name in lab.groups}
    tags = DriveTags(database).all()
    return wanted.chosen(
        [
            _known(
                one,
                lab,
                seen,
                groups,
                tags.get(one.name, ()),
                states.closed_to(one.name, person, now),
            )
            for one in drives
        ]
    )


def _known(
    one: LabDrive,
    lab: Lab,
    seen: Mapping[tuple[str, str], Row],
    groups: dict[str, list[str]],
    tags: tuple[str, ...],
    closed: str,
) -> KnownDrive:
    entry, last = lab.targets[one.name], one.last or {}
    host = entry.host or next(iter(entry.hosts), "")
    told = seen.get((host, one.name)) or {}
    size = told.get("size_bytes") or last.get("capacity_bytes")
    assert one.state
    texts = texts_of(
        model=told.get("model") or last.get("model") or entry.model or "",
        firmware=told.get("firmware") or last.get("firmware", ""),
        serial=entry.serial or told.get("serial") or last.get("serial", ""),
        drive=one.name,
        host=one.host,
        group=tuple(name for name, names in groups.items() if one.name in names),
        tag=tags,
    )
    life = one.health.used_percent
    return KnownDrive(one.name, texts, life, size or None, one.state, closed)
