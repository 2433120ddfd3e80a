"""A headline: one figure that answers what a test asks, and where it was measured."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from ioplan.core.units import (
    bandwidth_text,
    bytes_text,
    percent_text,
    spread_text,
    time_text,
    whole_text,
)
from ioplan.results.measure.over_time import Burst
from ioplan.results.report.headlines.doubts import SIMULATED

MOST = 4
"""Headlines of one test whose plan names none."""
WORST = "worst"
CHOSEN = ("highest", "lowest")
"""Name prefixes of aggregated headlines."""
WORST_INTERVAL = re.compile(rf"{WORST} \d")
FEW_IOS = re.compile(r"needs \S+ I/Os")

Place = tuple[tuple[str, str], ...]


class Headline(Struct, frozen=True):
    """A figure of one cell, or of an interval in it.

    `metric` is the plan's word for the figure, `value` is in `unit`, the base unit of
    the records; without one, `why` says what is lacking. Figures of two sessions can be
    compared where they were chosen `among` the same cells. A model of a drive
    `is_simulated` and has no rank among drives; a profile without preconditioning
    `is_shortened`: nothing of it has a rank.
    """

    value: float | None
    name: str = ""
    metric: str = ""
    unit: str = ""
    kind: str = ""
    """`random reads`, in a test of several kinds."""
    where: str = ""
    """What of its cell tells it from the others."""
    cell: Mapping[str, str] = {}
    """Its axes, and its step."""
    among: frozenset[Place] = frozenset()
    definition: str = ""
    spread_percent: float | None = None
    spread: str = ""
    """`±` a standard deviation over time, `range` the whole range."""
    error_percent: float | None = None
    """How far the mean may be off, with 95 % confidence."""
    burst: Burst | None = None
    is_simulated: bool = False
    is_shortened: bool = False
    bound: str = ""
    """`≥` of what a seek found at the end of its range."""
    why: str = ""
    zero: str = ""
    """The bound that a zero after power cuts gives."""
    unmet: bool = False
    """Whether it failed its limit, which is no doubt about it."""
    against: tuple[str, ...] = ()
    """Why not to rely on it."""
    quantity: str = ""
    """`IOPS`, `p99 latency`."""
    word: str = ""
    """What the name adds to the quantity: `steady`, `lowest`, `worst 1 s`."""
    size: str = ""
    """The size of all I/Os, `4 KiB`; empty of several sizes."""
    is_of_search: bool = False
    """Whether a search chose the load of its cell."""
    goal: str = ""
    """`highest` or `lowest` of what a search looked for."""
    more_is_better: bool = True
    limit: float | None = None
    """The limit of an expectation on this very figure."""

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why not to rely on it; that it is simulated stands in the title."""
        return tuple(text for text in self.against if text not in ("", SIMULATED))

    @property
    def is_firm(self) -> bool:
        return self.value is not None and not self.doubts

    @property
    def key(self) -> tuple[str, str, str]:
        """What it has in common with that of another session.

        The worst of several cells may be elsewhere on each drive, its worst interval
        of another length, and what a search found another value.
        """
        name = WORST if WORST_INTERVAL.match(self.name) else self.name
        where = f"{self.cell}" if self.is_of_search else self.where
        return name, self.kind, "" if self.name.startswith(CHOSEN) else where

    @property
    def value_text(self) -> str:
        """`451k IOPS`, `98.2 µs`: three digits, with a unit."""
        if self.value is None:
            return "–"
        return f"{self.bound} {whole_text(self.value, self.unit)}".strip()

    @property
    def figure(self) -> str:
        """`451k IOPS ± 2.1 %`: the value with its spread over time, if large."""
        if self.value is None or self.spread_percent is None:
            return self.value_text
        if self.spread == "±":
            return self.value_text + spread_text(self.spread_percent)
        spread = percent_text(self.spread_percent)
        return f"{self.value_text} ({self.spread} {spread})"

    @property
    def caption(self) -> str:
        """`IOPS, steady`, `highest queue depth where p99 <= 1ms`."""
        if self.goal or not self.quantity:
            return self.name
        return ", ".join(filter(None, (self.quantity, self.word)))

    @property
    def note(self) -> str:
        """The gravest of what must be known of it, in one line."""
        few = f"too few I/Os for {self.metric}" if FEW_IOS.match(self.why) else self.why
        notes = (few, self.zero, self.before, *self.doubts)
        return next(filter(None, notes), "")

    @property
    def before(self) -> str:
        """`2.41 GB/s for the first 40.0 GB`, of reads `for the first 11 s`, after a
        pause `…, regained in 30 s without I/O: 636 MB/s`; empty of an even rate."""
        if self.burst is None:
            return ""
        text = whole_text(self.burst.value, self.unit)
        first = time_text(self.burst.length_s)
        if self.burst.written_bytes:
            first = bytes_text(self.burst.written_bytes)
        text = f"{text} for the first {first}"
        if not self.burst.idle_s:
            return text
        speed = bandwidth_text(self.burst.regained_per_s)
        least = "at least " * self.burst.may_be_all
        idle = time_text(self.burst.idle_s)
        return f"{text}, regained in {idle} without I/O: {least}{speed}"
