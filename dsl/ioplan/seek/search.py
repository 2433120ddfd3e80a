"""Which value is tried next: bracket by doubling, bisect, confirm by a long run.

It begins at the lower end, or where a neighbouring cell ended, and never goes beyond
twice of what it has seen. Deterministic: the same answers give the same probes, so
that a search that was broken off goes on by being told its answers again.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from math import ceil, log2
from typing import Literal

from ioplan.core.value import Value
from ioplan.seek.grid import Bounds, Multiples, at_or_below, doubled, grid, halved

Phase = Literal["bracket", "bisect", "confirm"]
Answer = Literal["yes", "no", "undecided"]
"""Whether the condition holds; undecided counts as no where the search goes on, and
not as a no that is proven."""

PROOFS = 3
"""Probes that may be spent on a no that is proven, beyond what is undecided."""


class Probe(Value):
    """A value to try; `number` counts from 1."""

    value: float
    phase: Phase
    number: int


class Answered(Value):
    """A probe, and what came out."""

    probe: Probe
    answer: Answer


class Finding(Value):
    """What is known after some probes.

    `value` is the highest below which all was yes (or the lowest above which it was);
    None if there is none. The truth lies from `lower` to `upper`: one is the value, the
    other the nearest that is proven no, None if there is none as far as the range
    goes. A confirmation counts in place of the short probe at its value. Not
    `monotone` means that there is a yes on the far side of a no.
    """

    value: float | None
    lower: float | None
    upper: float | None
    confirmed: bool
    monotone: bool
    probes: tuple[Answered, ...]


Steps = Generator[int, bool, None]


class Search:
    """One seek in one cell. Raises ValueError for bounds without a value."""

    def __init__(self, bounds: Bounds, start: float | None = None) -> None:
        self.bounds, self.values = bounds, grid(bounds)
        self.answered: list[Answered] = []
        self.known: dict[int, Answer] = {}
        self.upward = bounds.direction == "highest"
        self._phase: Phase = "bracket"
        self._steps = self._search(start)
        self._index = next(self._steps, None)

    def next_probe(self) -> Probe | None:
        """What is to be tried now; None when the search has ended."""
        if self._index is None:
            return None
        number = len(self.answered) + 1
        return Probe(self.values[self._index], self._phase, number)

    def answer(self, answer: Answer) -> None:
        """What came out of `next_probe`."""
        probe = self.next_probe()
        assert probe is not None, "the search has ended"
        self.answered.append(Answered(probe, answer))
        assert self._index is not None
        self.known[self._index] = answer
        try:
            self._index = self._steps.send(answer == "yes")
        except StopIteration:
            self._index = None

    def finding(self) -> Finding:
        """What is known so far."""
        return finding(self.bounds, self.answered)

    def _search(self, start: float | None) -> Steps:
        """`low` is the last value on the lower side of the change, `high` the first
        on the upper; -1 and the number of values where there is none."""
        self.low, self.high = -1, len(self.values)
        first = at_or_below(self.values, start) if start is not None else 0
        yield from self._bracket(first)
        self._phase = "bisect"
        while self.high - self.low > 1 and self._may_explore():
            yield from self._try((self.low + self.high) // 2)
        yield from self._prove()
        yield from self._confirm()

    def _bracket(self, index: int) -> Steps:
        last = len(self.values) - 1
        yield from self._try(index)
        if self.low == index:
            while self.high > last and self.low < last and self._may_explore():
                yield from self._try(min(last, doubled(self.values, self.low)))
        while self.low < 0 < self.high and self._may_explore():
            yield from self._try(max(0, halved(self.values, self.high)))

    def _try(self, index: int) -> Steps:
        passed = yield index
        if passed == self.upward:
            self.low = index
        else:
            self.high = index

    def _prove(self) -> Steps:
        """A no near by, where the change was found by what was only undecided: so that
        the interval has an end, and one that tells something."""
        self._phase = "bracket"
        for _ in range(PROOFS):
            index = self._unproven()
            if index is None or not self._may_explore():
                return
            yield index

    def _unproven(self) -> int | None:
        """Between the nearest no and what is not; beyond all if there is no no."""
        sign, edge = (1, self.high) if self.upward else (-1, self.low)
        beyond = sorted(sign * k for k in self.known if sign * (k - edge) >= 0)
        proven = [k for k in beyond if self.known[sign * k] == "no"]
        nearest = min(proven, default=None)
        others = [k for k in beyond if nearest is None or k < nearest]
        if not others:
            return None
        last = max(others)
        if nearest is not None:
            return sign * ((nearest + last) // 2) if nearest - last > 1 else None
        return self._further(sign * last)

    def _further(self, index: int) -> int | None:
        end = len(self.values) - 1 if self.upward else 0
        if index == end:
            return None
        if self.upward:
            return min(end, doubled(self.values, index))
        return max(end, halved(self.values, index))

    def _may_explore(self) -> bool:
        """The last of a limited number of probes is kept for a confirmation."""
        limit = self.bounds.at_most
        return limit is None or len(self.answered) < limit - 1

    def _confirm(self) -> Steps:
        """If the long run says no, one step back, and again."""
        self._phase = "confirm"
        index = self.low if self.upward else self.high
        for _ in range(self.bounds.confirmations):
            limit = self.bounds.at_most
            spent = limit is not None and len(self.answered) >= limit
            if spent or not 0 <= index < len(self.values) or (yield index):
                return
            index += -1 if self.upward else 1


def finding(bounds: Bounds, answered: Iterable[Answered]) -> Finding:
    """What some answers tell, whoever asked for them."""
    probes = tuple(answered)
    last = {one.probe.value: one for one in probes}
    sign = 1 if bounds.direction == "highest" else -1
    passed = [sign * v for v, one in last.items() if one.answer == "yes"]
    failed = [sign * v for v, one in last.items() if one.answer != "yes"]
    proven = [sign * v for v, one in last.items() if one.answer == "no"]
    reached = [v for v in passed if v < min(failed, default=v + 1)]
    value = sign * max(reached) if reached else None
    nos = [v for v in proven if value is None or v > sign * value]
    limit = sign * min(nos) if nos else None
    return Finding(
        value=value,
        lower=value if sign > 0 else limit,
        upper=limit if sign > 0 else value,
        confirmed=value is not None and last[value].probe.phase == "confirm",
        monotone=not passed or max(passed) < min(proven, default=max(passed) + 1),
        probes=probes,
    )


def most_probes(bounds: Bounds) -> int:
    """More probes than that no search within these bounds needs."""
    values = grid(bounds)
    most = _most_brackets(values) + ceil(log2(_widest(values)))
    most += PROOFS + bounds.confirmations
    return most if bounds.at_most is None else min(bounds.at_most, most)


def _most_brackets(values: Sequence[float]) -> int:
    """From one end to the other, whichever takes longer; from inside it is shorter."""
    end = len(values) - 1
    up, ups, down, downs = 0, 1, end, 1
    while up < end:
        up, ups = doubled(values, up), ups + 1
    while down > 0:
        down, downs = halved(values, down), downs + 1
    return max(ups, downs)


def _widest(values: Sequence[float]) -> int:
    """How many values the widest bracket has; of multiples it is the last one."""
    end = len(values) - 1
    if isinstance(values, Multiples):
        return max(1, end - halved(values, end))
    widths = (
        max(doubled(values, k - 1) - k + 1, k - halved(values, k))
        for k in range(1, end + 1)
    )
    return max(widths, default=1)
