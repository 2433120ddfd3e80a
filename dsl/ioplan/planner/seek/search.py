"""Which value is tried next: bracket by doubling, bisect, confirm by a long run.

Where a long run does not hold, short ones have misled: from there on only long runs
count, in ever wider steps back until one holds, then halfway between.

It begins at the lower end, or where a neighbouring cell ended, and never goes beyond
twice of what it has seen. Deterministic: the same answers give the same probes, so
that a search that was broken off goes on by being told its answers again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, log2
from typing import Literal

from msgspec import Struct

from ioplan.planner.seek.grid import (
    Bounds,
    Multiples,
    at_or_below,
    doubled,
    grid,
    halved,
)

Phase = Literal["bracket", "bisect", "confirm"]
Answer = Literal["yes", "no", "undecided"]
"""Whether the condition holds; undecided is no proof of either: the search does not
build on it, and what it finds is a yes below all nos."""

STEP_BACK = 4
"""By how much each step back is wider than the last."""
PROOFS = 4
"""Probes that may be spent on the edge of what was found: see `Search._unproven`."""


class Probe(Struct, frozen=True):
    """A value to try; `number` counts from 1."""

    value: float
    phase: Phase
    number: int


class Answered(Struct, frozen=True):
    """A probe, and what came out."""

    probe: Probe
    answer: Answer


class Finding(Struct, frozen=True):
    """What is known after some probes.

    `value` is the highest yes below all nos (or the lowest above them), None if there
    is none. The truth lies from `lower` to `upper`: one is the value, the other the
    nearest that is proven no, None if there is none as far as the range goes. What
    was asked later counts in place of an earlier probe at its value. Where a long run
    did not hold, short yeses beyond the highest that did count no more. Not `monotone`
    means that there is another yes on the far side of a no.
    """

    value: float | None
    lower: float | None
    upper: float | None
    confirmed: bool
    monotone: bool
    probes: tuple[Answered, ...]


class Search:
    """One seek in one cell. Raises ValueError for bounds without a value.

    Places count the values of the grid from the side where yes is expected: from below
    for the highest, from above for the lowest.
    """

    def __init__(self, bounds: Bounds, start: float | None = None) -> None:
        self.bounds, self.values = bounds, grid(bounds)
        self.last = len(self.values) - 1
        self.most = most_probes(bounds)
        self.answered: list[Answered] = []
        self.known: dict[int, Answer] = {}
        self.confirmed: dict[int, Answer] = {}
        self.proofs = 0
        first = at_or_below(self.values, start) if start is not None else 0
        self._now: tuple[int, Phase] | None = (self._place(first), "bracket")

    def next_probe(self) -> Probe | None:
        """What is to be tried now; None when the search has ended."""
        if self._now is None:
            return None
        place, phase = self._now
        value = self.values[self._place(place)]
        return Probe(value, phase, len(self.answered) + 1)

    def answer(self, answer: Answer) -> None:
        """What came out of `next_probe`."""
        probe = self.next_probe()
        assert probe is not None and self._now is not None, "the search has ended"
        self.answered.append(Answered(probe, answer))
        self.known[self._now[0]] = answer
        if probe.phase == "confirm":
            self.confirmed[self._now[0]] = answer
        self._now = self._following()

    def finding(self) -> Finding:
        """What is known so far."""
        return finding(self.bounds, self.answered)

    def _place(self, index: int) -> int:
        """An index as a place, and a place as an index."""
        return index if self.bounds.direction == "highest" else self.last - index

    def _following(self) -> tuple[int, Phase] | None:
        if self._may_explore():
            if (place := self._unbracketed()) is not None:
                return place, "bracket"
            low, high = self._edge()
            if high - low > 1:
                return (low + high) // 2, "bisect"
            if self.proofs < PROOFS and (place := self._unproven()) is not None:
                self.proofs += 1
                return place, "bracket"
        place = self._unconfirmed()
        return None if place is None else (place, "confirm")

    def _edge(self) -> tuple[int, int]:
        """The last yes below all nos, and the next place above that is no yes: -1 and
        the number of places where there is none."""
        nearest = self._nearest_no()
        passed = (k for k, one in self.known.items() if one == "yes" and k < nearest)
        low = max(passed, default=-1)
        return low, min((k for k in self.known if k > low), default=self.last + 1)

    def _nearest_no(self) -> int:
        passed = [k for k, one in self.known.items() if one == "yes"]
        proven = [k for k, one in self.known.items() if one == "no"]
        return int(min(_that_end(self.bounds, passed, proven), default=self.last + 1))

    def _unbracketed(self) -> int | None:
        """Down until there is a yes, up until there is a no."""
        bottom, top = min(self.known), max(self.known)
        if self._edge()[0] < 0 and bottom > 0:
            return self._beyond(bottom, -1)
        if self._nearest_no() > self.last and top < self.last:
            return self._beyond(top, 1)
        return None

    def _beyond(self, place: int, sign: int) -> int:
        """The double of a value, or the half."""
        index, up = self._place(place), self._place(1) - self._place(0)
        far = doubled if sign == up else halved
        return self._place(min(max(far(self.values, index), 0), self.last))

    def _unproven(self) -> int | None:
        """What else the machine did may have made an answer. So what is undecided next
        to the last yes is asked again; then a no is looked for near by, so that the
        interval has an end that tells something; then that no is asked again."""
        nearest, high = self._nearest_no(), self._edge()[1]
        if self.known.get(high) == "undecided" and self._is_single(high):
            return high
        if nearest > self.last:
            return None
        below = max((k for k in self.known if k < nearest), default=nearest)
        if nearest - below > 1:
            return (below + nearest) // 2
        return nearest if self._is_single(nearest) else None

    def _is_single(self, place: int) -> bool:
        """Whether a value was asked for once."""
        value = self.values[self._place(place)]
        return sum(one.probe.value == value for one in self.answered) == 1

    def _may_explore(self) -> bool:
        """Not behind a confirmation, unless it left no yes: the search began where a
        neighbour ended, and knows nothing below. The last of a limited number of
        probes is kept for a confirmation."""
        last = self.answered[-1]
        left_none = last.answer == "no" and self._edge()[0] < 0
        if last.probe.phase == "confirm" and not left_none:
            return False
        limit = self.bounds.at_most or self.most
        kept = (
            1 if self.bounds.at_most else self.bounds.confirmations - self._confirms()
        )
        return len(self.answered) < min(limit, self.most) - kept

    def _confirms(self) -> int:
        return sum(one.probe.phase == "confirm" for one in self.answered)

    def _unconfirmed(self) -> int | None:
        """Where a long run is due: at the edge, then back until one holds, then halfway
        between that one and the nearest that did not."""
        confirms, (low, high) = self._confirms(), self._edge()
        if confirms >= self.bounds.confirmations or len(self.answered) >= self.most:
            return None
        held = max((k for k, one in self.confirmed.items() if one == "yes"), default=-1)
        lost = min((k for k in self.confirmed if k > held), default=None)
        if lost is None:
            place = low if held < 0 else -1
        elif held >= 0:
            place = (held + lost) // 2 if lost - held > 1 else -1
        else:
            first = min(k for k, one in self.known.items() if one == "yes" or k == lost)
            back = max(lost - STEP_BACK ** (confirms - 1), first)
            place = min(back, high - 1) if low >= 0 else -1
        return place if place >= 0 and place not in self.confirmed else None


def finding(bounds: Bounds, answered: Iterable[Answered]) -> Finding:
    """What some answers tell, whoever asked for them."""
    probes = tuple(answered)
    last = {one.probe.value: one for one in probes}
    sign = 1 if bounds.direction == "highest" else -1
    proven = [sign * v for v, one in last.items() if one.answer == "no"]
    passed = [sign * v for v, one in last.items() if one.answer == "yes"]
    long = [v for v in (*passed, *proven) if last[sign * v].probe.phase == "confirm"]
    lost = min((v for v in long if v in proven), default=None)
    if lost is not None:
        held = max((v for v in long if v not in proven), default=lost)
        passed = [v for v in passed if v <= held and v < lost]
    proven = _that_end(bounds, passed, proven)
    reached = [v for v in passed if v < min(proven, default=v + 1)]
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


def _that_end(
    bounds: Bounds, passed: Sequence[float], proven: Sequence[float]
) -> list[float]:
    """The nos that end a search: not those before the first yes, where load may have
    been missing."""
    if not bounds.asks_for_load:
        return list(proven)
    return [one for one in proven if passed and one > min(passed)]


def most_probes(bounds: Bounds) -> int:
    """More probes than that no search within these bounds needs."""
    values = grid(bounds)
    most = _most_brackets(values) * (2 if bounds.asks_for_load else 1)
    most += ceil(log2(_widest(values)))
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
