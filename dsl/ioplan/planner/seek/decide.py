"""When a probe is decided: a sequential test over the intervals of its run.

A no may come as soon as it is sure, as overload only costs time; a yes needs the whole
run that was asked for. What is undecided then goes on for as long as is allowed.
Looking often costs no error: it is spent in equal parts on looks that are each a
quarter later than the last (alpha spending, Lan and DeMets, Biometrika 70, 1983), which
add up to it however the looks depend on each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from ioplan.planner.seek import batch_means
from ioplan.planner.seek.batch_means import Evidence
from ioplan.planner.seek.search import Answer

ERROR = 0.05
"""How often a decision may be wrong: half of it a yes, half of it a no."""
MARGIN = 0.01
"""Closer to its limit no figure is told from it: a bucket of a histogram is 0.8 % wide,
and two runs of the same differ by as much."""
LOOKS_APART = 1.25
FIRST_LOOK = 0.25
"""Nothing is decided before this share of the run that was asked for."""
INTERVALS = 30
"""So many a run should have at least, or it takes longer than it needs to."""
SLACK_S = 1e-6

Method = Literal["share", "ratio", "difference", "comparison"]


class Claim(Struct, frozen=True):
    """One part of a condition: that a figure is at most a limit, or at least.

    The figure is the sum of amounts over the sum of weights: for a `share`, I/Os above
    a latency of all I/Os; for a `ratio` as latencies over I/Os or I/Os over time. Of a
    `difference` the mean of the amounts is against 0. A `comparison` has no intervals
    that tell how sure it is. What is not to be `proven` is a yes until it is proven no.
    """

    text: str
    method: Method
    limit: float = 0.0
    at_most: bool = True
    proven: bool = True


class Point(Struct, frozen=True):
    """What one interval adds to a claim; of a share, with what of the amount is `above`
    the limit by less than the margin, and what is `below` it by less. `far` counts the
    I/Os of an interval in which all are on one side of the limit, and their mean FAR
    from it; below it negative, 0 where that is not so. For a comparison, whether it
    holds so far, or will not any more, whatever comes."""

    amount: float = 0.0
    weight: float = 0.0
    above: float = 0.0
    below: float = 0.0
    far: float = 0.0
    holds: bool | None = None
    lost: bool = False


class Part(Struct, frozen=True):
    """What became of one claim; `figure` is in the unit of its limit."""

    text: str
    method: Method
    figure: float | None
    limit: float
    answer: Answer
    p_value: float | None


class Decision(Struct, frozen=True):
    """Yes, no or undecided. `p_value` is the chance of being wrong, adjusted for looks
    and parts: at most half of ERROR for a decision; None for a plain comparison."""

    answer: Answer
    p_value: float | None
    after_s: float
    parts: tuple[Part, ...]


class Decider:
    """Decides one probe: `run_s` as asked for, and `longest_s` if need be.

    For a confirmation both are the length of the long run: where it is `confirming`,
    one that ends beyond a limit is a no, however it came about.
    """

    def __init__(
        self,
        claims: Sequence[Claim],
        run_s: float,
        longest_s: float,
        confirming: bool = False,
    ) -> None:
        self.confirming = confirming
        self.claims = [_Tally(claim) for claim in claims]
        self.tested = [one for one in self.claims if one.claim.method != "comparison"]
        self.run_s = run_s
        self.longest_s = max(run_s, longest_s) if self.tested else run_s
        first_s = min(FIRST_LOOK * run_s, self.longest_s)
        self.no_looks_s = looks_s(first_s, self.longest_s)
        self.yes_looks_s = looks_s(run_s, self.longest_s)
        self.time_s, self._seen_s = 0.0, 0.0

    def add(self, length_s: float, points: Sequence[Point]) -> Decision | None:
        """Take an interval: a point for each claim. A decision once there is one; at
        the latest after `longest_s`."""
        for claim, point in zip(self.claims, points, strict=True):
            claim.add(point)
        self.time_s += length_s
        answer = self._answer()
        self._seen_s = self.time_s
        if answer == "undecided" and self.time_s < self.longest_s - SLACK_S:
            return None
        return self.decision(answer)

    def decision(self, answer: Answer = "undecided") -> Decision:
        """With the figures so far; also for a run that ended before it was decided."""
        parts = tuple(one.part() for one in self.claims)
        known = [one.p_value for one in parts if one.p_value is not None]
        no = [p.p_value for p in parts if p.answer == "no" and p.p_value is not None]
        chance = min(no, default=None) if answer == "no" else max(known, default=None)
        return Decision(answer, chance, self.time_s, parts)

    def _answer(self) -> Answer:
        if any(one.lost for one in self.claims):
            return "no"
        if self._looks(self.no_looks_s):
            factor = len(self.no_looks_s) * len(self.tested)
            whole = self.time_s >= self.run_s - SLACK_S
            if any([one.look_for_no(factor, whole) for one in self.tested]):
                return "no"
        if not self._looks(self.yes_looks_s):
            return "undecided"
        factor = len(self.yes_looks_s)
        return self._join([one.look_for_yes(factor) for one in self.claims])

    def _join(self, answers: Sequence[Answer]) -> Answer:
        """Each part must be yes: so none needs more proof than alone."""
        if self.time_s >= self.longest_s - SLACK_S:
            if self.confirming and any([one.ends_beyond() for one in self.claims]):
                return "no"
            if "no" in answers:
                return "no"
        return "yes" if set(answers) == {"yes"} else "undecided"

    def _looks(self, times_s: Sequence[float]) -> bool:
        """Whether a look is due since the last interval."""
        return any(self._seen_s < one - SLACK_S <= self.time_s for one in times_s)


def looks_s(first_s: float, last_s: float) -> list[float]:
    """When to look; always at the end."""
    times_s = []
    while first_s < last_s / LOOKS_APART**0.5:
        times_s.append(first_s)
        first_s *= LOOKS_APART
    return [*times_s, last_s]


class _Tally:
    """One claim, and what was seen of it."""

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.amounts: list[float] = []
        self.weights: list[float] = []
        self.above: list[float] = []
        self.below: list[float] = []
        self.far: list[float] = []
        self.last = Point()
        self.answer: Answer = "undecided"
        self.p_value: float | None = None

    @property
    def lost(self) -> bool:
        if self.last.lost:
            self.answer = "no"
        return self.last.lost

    def add(self, point: Point) -> None:
        self.amounts.append(point.amount)
        self.weights.append(point.weight)
        self.above.append(point.above)
        self.below.append(point.below)
        self.far.append(point.far)
        self.last = point

    def look_for_no(self, factor: float, whole: bool) -> bool:
        """Look for a no: for a `whole` run a margin is enough; before, it may stall."""
        evidence = self._evidence(whole)
        chance = evidence.above if self.claim.at_most else evidence.below
        return self._decide("no", min(1.0, factor * chance))

    def look_for_yes(self, factor: float) -> Answer:
        if self.claim.method == "comparison":
            holds = self.last.holds
            self.answer = "undecided" if holds is None else "yes" if holds else "no"
        elif not self.claim.proven:
            self.answer = "yes"
        elif self.answer != "yes":
            evidence = self._evidence()
            chance = evidence.below if self.claim.at_most else evidence.above
            self._decide("yes", min(1.0, factor * chance))
        return self.answer

    def ends_beyond(self) -> bool:
        """Whether the figure of the whole run is beyond the limit by the margin."""
        claim, weight = self.claim, sum(self.weights)
        if not claim.proven or claim.method not in ("share", "ratio") or not weight:
            return False
        side, amount, limit = 1 if claim.at_most else -1, sum(self.amounts), claim.limit
        if claim.method == "share":
            amount -= side * sum(self.above if claim.at_most else self.below)
        else:
            limit *= 1 + side * MARGIN
        if (amount / weight - limit) * side > 0 and self.answer != "no":
            self.answer, self.p_value = "no", None
        return self.answer == "no"

    def _decide(self, answer: Answer, chance: float) -> bool:
        sure = chance <= ERROR / 2
        if sure:
            self.answer, self.p_value = answer, chance
        elif self.answer == "undecided":
            self.p_value = chance if self.claim.proven else None
        return sure

    def _evidence(self, whole: bool = True) -> Evidence:
        if self.claim.method == "difference":
            return batch_means.evidence_of_difference(self.amounts)
        if whole and (far := self._all_far()):
            return self._evidence_of_far(far)
        return Evidence(self._against(-1).below, self._against(1).above)

    def _all_far(self) -> float:
        """How many I/Os are far from the limit, if all are, on one side."""
        one_sided = min(self.far) > 0 or max(self.far) < 0
        return sum(self.far) if one_sided else 0.0

    def _evidence_of_far(self, ios: float) -> Evidence:
        if self.claim.method == "share":
            return batch_means.evidence_of_far_share(self.claim.limit, ios)
        expected = self.claim.limit * sum(self.weights)
        return batch_means.evidence_of_far(sum(self.amounts), expected, ios)

    def _against(self, side: int) -> Evidence:
        """With the margin on that side counted against it."""
        limit = self.claim.limit
        if self.claim.method == "share":
            near = self.above if side > 0 else self.below
            counted = [a - side * n for a, n in zip(self.amounts, near, strict=True)]
            return batch_means.evidence_of_share(counted, self.weights, limit)
        limit *= 1 + side * MARGIN if self.claim.proven else 1
        return batch_means.evidence_of_ratio(self.amounts, self.weights, limit)

    def _figure(self) -> float | None:
        if self.claim.method == "difference":
            return sum(self.amounts) / len(self.amounts) if self.amounts else None
        total = sum(self.weights)
        return sum(self.amounts) / total if total else None

    def part(self) -> Part:
        claim = self.claim
        figure = None if claim.method == "comparison" else self._figure()
        return Part(
            claim.text, claim.method, figure, claim.limit, self.answer, self.p_value
        )
