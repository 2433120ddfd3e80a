"""Drives by what they are: `8 x model 'ACME 9100', firmware 2.*, life < 20 %`.

    SELECTION = [COUNT x] CONDITION {, CONDITION}
    CONDITION = model|firmware|serial|wwid|drive|host|group|tag [:] PATTERN
              | life|size <|>|<=|>= VALUE

A pattern may have `*`; case does not count. What is not known of a drive is not true of
it. With a count, so many are taken that are free; without, all that are in service.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from operator import ge, gt, le, lt
from typing import Any

from msgspec import Struct

from ioplan.cli import UsageError
from ioplan.core import counted, did_you_mean
from ioplan.language import QuantityError, parse_quantity

TEXTS = {"drive": "name", "group": "groups", "tag": "tags"}
TEXTS |= {name: name for name in ("model", "firmware", "serial", "wwid", "host")}
"""Words of a condition, and the columns of `lab.v_drive` that they are of."""
NUMBERS = {"life": "life_used", "size": "size_bytes"}
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

Drive = dict[str, Any]
"""A row of `lab.v_drive`."""


class Condition(Struct, frozen=True):
    """What has to be true of a drive."""

    name: str
    value: str
    limit: float = 0.0
    how: str = ""

    def holds(self, drive: Drive) -> bool:
        """Whether it is; what is not known is not."""
        if self.how:
            known = drive[NUMBERS[self.name]]
            return bool(known) and COMPARED[self.how](known, self.limit)
        pattern = self.value.casefold()
        return any(fnmatchcase(t.casefold(), pattern) for t in self._texts(drive))

    def _texts(self, drive: Drive) -> list[str]:
        value = drive[TEXTS[self.name]]
        return value if isinstance(value, list) else [value] if value else []

    def known(self, drives: Iterable[Drive]) -> str:
        """What there is, for who found nothing."""
        if self.how:
            unknown = sum(not drive[NUMBERS[self.name]] for drive in drives)
            return f"the {self.name} of {counted(unknown, 'drive')} is not known"
        texts = sorted({text for drive in drives for text in self._texts(drive)})
        near = did_you_mean(self.value, texts)
        shown = ", ".join(texts[:MOST_SHOWN]) or "none is known"
        return f"of {self.name}s there are: {shown}{near}"


class Selection(Struct, frozen=True):
    """`count` is None for all."""

    count: int | None
    conditions: tuple[Condition, ...]

    def chosen(self, drives: Sequence[Drive], closed: dict[str, str]) -> list[Drive]:
        """Those that are taken. Raises UsageError where these are too few.

        `closed` says why a person may not use a drive, by `key_of`.
        """
        matching = list(drives)
        for condition in self.conditions:
            left = [drive for drive in matching if condition.holds(drive)]
            if not left:
                raise UsageError(
                    f"--on: no drive of {len(matching)} is left by {condition.name} "
                    f"{condition.how}{condition.value}: {condition.known(matching)}"
                )
            matching = left
        usable = [drive for drive in matching if not closed.get(key_of(drive))]
        if self.count is not None:
            usable = [drive for drive in usable if drive["state"] == "free"]
        if len(usable) < (self.count or 1):
            raise self._too_few(matching, usable, closed)
        return usable[: self.count]

    def _too_few(
        self, matching: list[Drive], usable: list[Drive], closed: dict[str, str]
    ) -> UsageError:
        others = [drive for drive in matching if drive not in usable]
        why = [
            closed.get(key_of(drive)) or f"{key_of(drive)} is {drive['state']}"
            for drive in others[:MOST_SHOWN]
        ]
        more = len(others) - MOST_SHOWN
        why += [f"and {more} more"] if more > 0 else []
        return UsageError(
            f"--on: {self.count or 1} wanted, {counted(len(matching), 'drive')} match, "
            f"{len(usable)} of them can be taken: {'; '.join(why)}".removesuffix(": ")
        )


def key_of(drive: Drive) -> str:
    """Host and name, as people write them."""
    return f"{drive['host']}/{drive['name']}"


def selection(text: str) -> Selection:
    """What is written after `--on`. Raises UsageError."""
    match = COUNT.match(text)
    count, at = (int(match[1]), match.end()) if match else (None, 0)
    if count == 0:
        raise UsageError("--on: 0 drives are none")
    conditions: list[Condition] = []
    while at < len(text) or not conditions:
        part = CONDITION.match(text, at)
        if not part:
            raise UsageError(
                f"--on: {text[at:].strip() or 'nothing'!r} is no condition; "
                f"write for example {EXAMPLE}"
            )
        conditions.append(_condition(**part.groupdict()))
        at = part.end()
    return Selection(count, tuple(conditions))


def _condition(name: str, how: str | None, value: str) -> Condition:
    names = [*TEXTS, *NUMBERS]
    if name not in names:
        near = did_you_mean(name, names)
        raise UsageError(
            f"--on: drives have no {name!r}{near}; they have {', '.join(names)}"
        )
    if (name in NUMBERS) != bool(how):
        wants = "<, >, <= or >=" if name in NUMBERS else "a text, which may have *"
        raise UsageError(f"--on: {name} needs {wants}; for example {EXAMPLE}")
    value = value.strip("'\"")
    return (
        Condition(name, value, _limit(name, value), how)
        if how
        else Condition(name, value)
    )


def _limit(name: str, value: str) -> float:
    word = value.replace(" ", "")
    if name == "life":
        if re.fullmatch(r"\d+(\.\d+)?%", word):
            return float(word[:-1])
        raise UsageError(f"--on: life is in percent, for example 20 %, not {value!r}")
    try:
        quantity = parse_quantity(word)
    except QuantityError as error:
        raise UsageError(f"--on: size: {error}") from None
    if quantity.kind != "size":
        raise UsageError(f"--on: size is for example 1TB, not {value!r}")
    return float(quantity.value)
