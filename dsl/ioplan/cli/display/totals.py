"""What a plan costs in all: between which bounds, on which drive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import Any

from ioplan.core.text import counted
from ioplan.core.units import bytes_text, digits, time_text
from ioplan.planner.bounds import Bounds, Range, Speeds, between
from ioplan.planner.estimate import Assumptions, Cost, with_bounds
from ioplan.planner.steps import SingleStep, Step

Look = Callable[[SingleStep], None]


class Totals:
    """Adds up the bounds of steps: of the drive that is known, else of any drive, and
    of an assumed one beside it."""

    def __init__(self, capacity_bytes: int, speeds: Speeds | None) -> None:
        self.capacity_bytes, self.is_known = capacity_bytes, speeds is not None
        self.assumed = Assumptions.model_construct()
        assumed = Bounds(capacity_bytes, speeds or Speeds.exactly(self.assumed))
        self.bounds = [assumed] if speeds else [Bounds(capacity_bytes), assumed]
        self.sums = [[0.0] * 4 for _ in self.bounds]

    @property
    def mark(self) -> str:
        """Before the figures of a step that are not what the plan states."""
        return "≤" if self.is_known else "~"

    def adding(
        self, steps: Iterable[Step], look: Look
    ) -> Iterator[tuple[SingleStep, Cost, int]]:
        """Those that are done, each with what it costs once and how often, at most."""
        for step, least, most in with_bounds(steps):
            look(step)
            if most:
                yield step, self._add(step, least, most), most

    def _add(self, step: SingleStep, least: int, most: int) -> Cost:
        for bounds, sums in zip(self.bounds, self.sums, strict=True):
            smallest, largest = bounds.of(step, least, most)
            sums[0] += smallest[0]
            sums[1] += smallest[1]
            sums[2] += largest[0]
            sums[3] += largest[1]
        return largest if most == 1 else Cost(*(value / most for value in largest))

    @property
    def ranges(self) -> list[Range]:
        """The bounds of all steps together; the last are of what the table shows."""
        return [Range(Cost(*one[:2]), Cost(*one[2:])) for one in self.sums]

    def lines(self, steps: int) -> Iterator[str]:
        """In words."""
        text = self._text(self.ranges[0])
        yield f"{counted(steps, 'step')}, {text} of {bytes_text(self.capacity_bytes)}"
        if len(self.ranges) > 1 and self.ranges[0].least != self.ranges[0].most:
            yield f"~ on a drive of {self.assumed}: {self._text(self.ranges[1])}"

    def _text(self, found: Range) -> str:
        (least_s, least_bytes), (most_s, most_bytes) = found
        times = between(least_s, most_s, time_text)
        written = between(least_bytes, most_bytes, bytes_text)
        least, most = self._writes(least_bytes), self._writes(most_bytes)
        writes = between(least, most, _digits)
        return f"{times}, {written} written, {writes} drive writes"

    def _writes(self, written_bytes: float) -> float:
        return written_bytes / self.capacity_bytes

    def as_json(self) -> dict[str, Any]:
        """For programs; what has no bound is null."""
        found = self._ends(self.ranges[0]) | {"capacity_bytes": self.capacity_bytes}
        if self.is_known:
            return found
        drive = self.assumed.model_dump()
        return found | {"assumed": {"drive": drive, **self._ends(self.ranges[1])}}

    def _ends(self, found: Range) -> dict[str, dict[str, float | None]]:
        return {"at_least": self._cost(found.least), "at_most": self._cost(found.most)}

    def _cost(self, cost: Cost) -> dict[str, float | None]:
        writes = self._writes(cost.written_bytes)
        figures = (cost.run_s, 3), (cost.written_bytes, None), (writes, 6)
        names = "run_s", "written_bytes", "drive_writes"
        values = (None if v == inf else round(v, places) for v, places in figures)
        return dict(zip(names, values, strict=True))


def _digits(value: float) -> str:
    return digits(round(value, 3))
