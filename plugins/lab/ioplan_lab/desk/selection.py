"""Drives by what they are: `8 x model 'ACME 9100', firmware 2.*, life < 20 %`.

    SELECTION = [COUNT x] CONDITION {, CONDITION}
    CONDITION = model|firmware|serial|drive|host|group|tag [:] PATTERN
              | life|size <|>|<=|>= VALUE

A pattern may have `*`; case does not count. What is not known of a drive is not true of
it. With a count, so many are taken that are free; without, all that are in service.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from operator import ge, gt, le, lt
from typing import Any

from msgspec import Struct

from ioplan.core import counted, did_you_mean
from ioplan.language import QuantityError, parse_quantity
from ioplan.results.store import Row, Store
from ioplan.runner import Lab, members
from ioplan_lab.desk.database import DeskDatabase, stamp
from ioplan_lab.desk.drives import LabDrive, lab_drives, with_health
from ioplan_lab.desk.errors import DeskError
from ioplan_lab.desk.inventory import Busy
from ioplan_lab.desk.queue.drives import Drives
from ioplan_lab.desk.queue.overview import DriveRow, drive_rows
from ioplan_lab.desk.queue.queue import Queue
from ioplan_lab.desk.surveyed import reported
from ioplan_lab.desk.tags import DriveTags

TEXTS = ("model", "firmware", "serial", "drive", "host", "group", "tag")
NUMBERS = ("life", "size")
COMPARED: dict[str, Callable[[float, float], bool]] = {
    "<=": le,
    ">=": ge,
    "<": lt,
    ">": gt,
}
COUNT = re.compile(r"\s*(\d{1,5})\s*x\s+")
CONDITION = re.compile(
    r"""\s*(?P<name>[a-z]+)\s*:?\s*(?P<how><=|>=|<|>)?\s*
    (?P<value>'[^']*'|"[^"]*"|[^,'"]+?)\s*(?:,|$)""",
    re.VERBOSE,
)
EXAMPLE = "8 x model 'ACME 9100', firmware 2.*, life < 20 %"
MOST_SHOWN = 3


class KnownDrive(Struct, frozen=True):
    """A target of the lab and what is known of its drive; None is not known.

    `texts` has several where the drive has: its groups and tags. `life` is the used
    part of the rated life, in percent; `size` is in bytes.
    """

    name: str
    texts: Mapping[str, tuple[str, ...]]
    life: float | None
    size: float | None
    row: DriveRow
    closed: str = ""
    """Why nothing of this person is started on it, if so."""


class Condition(Struct, frozen=True):
    """What has to be true of a drive."""

    name: str
    value: str
    limit: float = 0.0
    how: str = ""

    def holds(self, one: KnownDrive) -> bool:
        """Whether it is; what is not known is not."""
        if self.how:
            known = getattr(one, self.name)
            return known is not None and COMPARED[self.how](known, self.limit)
        pattern = self.value.casefold()
        return any(fnmatchcase(t.casefold(), pattern) for t in one.texts[self.name])

    def known(self, drives: Iterable[KnownDrive]) -> str:
        """What there is, for who found nothing."""
        if self.how:
            unknown = sum(getattr(one, self.name) is None for one in drives)
            return f"the {self.name} of {counted(unknown, 'drive')} is not known"
        found = sorted({text for one in drives for text in one.texts[self.name]})
        near = did_you_mean(self.value, found)
        shown = ", ".join(filter(None, found[:MOST_SHOWN])) or "none is known"
        return f"of {self.name}s there are: {shown}{near}"


class Selection(Struct, frozen=True):
    """`count` is None for all."""

    text: str
    count: int | None
    conditions: tuple[Condition, ...]

    def chosen(self, drives: Sequence[KnownDrive]) -> list[str]:
        """The names of those that are taken. Raises DeskError where that is none."""
        matching, left = list(drives), list(drives)
        for condition in self.conditions:
            left = [one for one in matching if condition.holds(one)]
            if not left:
                raise DeskError(
                    f"--on: no drive of {len(matching)} is left by {condition.name} "
                    f"{condition.how}{condition.value}: {condition.known(matching)}"
                )
            matching = left
        usable = [one for one in left if not one.closed]
        if self.count is None:
            return [one.name for one in self._enough(usable, left, 1)]
        free = [one for one in usable if one.row.state in ("free", "reserved")]
        return [one.name for one in self._enough(free, left, self.count)[: self.count]]

    def _enough(
        self, found: list[KnownDrive], all_of_them: list[KnownDrive], needed: int
    ) -> list[KnownDrive]:
        if len(found) >= needed:
            return found
        names = {one.name for one in found}
        others = [one for one in all_of_them if one.name not in names]
        why = [f"{o.name} is {o.closed or o.row.state}" for o in others[:MOST_SHOWN]]
        more = len(others) - MOST_SHOWN
        why += [f"and {more} more"] if more > 0 else []
        raise DeskError(
            f"--on: {needed} wanted, {counted(len(all_of_them), 'drive')} match, "
            f"{len(found)} of them can be taken: {'; '.join(why)}".removesuffix(": ")
        )


def selection(text: str) -> Selection:
    """What is written after `--on`. Raises DeskError."""
    found = COUNT.match(text)
    count, at = (int(found[1]), found.end()) if found else (None, 0)
    if count == 0:
        raise DeskError("--on: 0 drives are none")
    conditions: list[Condition] = []
    while at < len(text) or not conditions:
        part = CONDITION.match(text, at)
        if not part:
            raise DeskError(
                f"--on: {text[at:].strip() or 'nothing'!r} is no condition; "
                f"write for example {EXAMPLE}"
            )
        conditions.append(_condition(**part.groupdict()))
        at = part.end()
    return Selection(text, count, tuple(conditions))


def _condition(name: str, how: str | None, value: str) -> Condition:
    if name not in (*TEXTS, *NUMBERS):
        near = did_you_mean(name, [*TEXTS, *NUMBERS])
        raise DeskError(
            f"--on: drives have no {name!r}{near}; they have "
            f"{', '.join((*TEXTS, *NUMBERS))}"
        )
    if (name in NUMBERS) != bool(how):
        wants = "<, >, <= or >=" if name in NUMBERS else "a text, which may have *"
        raise DeskError(f"--on: {name} needs {wants}; for example {EXAMPLE}")
    value = value.strip("'\"")
    if not how:
        return Condition(name, value)
    return Condition(name, value, _limit(name, value), how)


def _limit(name: str, value: str) -> float:
    word = value.replace(" ", "")
    if name == "life":
        number = word.removesuffix("%")
        if word.endswith("%") and re.fullmatch(r"\d+(\.\d+)?", number):
            return float(number)
        raise DeskError(f"--on: life is in percent, for example 20 %, not {value!r}")
    try:
        quantity = parse_quantity(word)
    except QuantityError as error:
        raise DeskError(f"--on: size: {error}") from None
    if quantity.kind != "size":
        raise DeskError(f"--on: size is for example 1TB, not {value!r}")
    return float(quantity.value)


def texts_of(**known: Any) -> dict[str, tuple[str, ...]]:
    """By name; what is empty is not known."""
    several = {k: v if isinstance(v, tuple) else (v,) for k, v in known.items()}
    return {key: tuple(filter(None, several.get(key, ()))) for key in TEXTS}


# What is known of the drives of a lab, for who selects some by what they are.


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
