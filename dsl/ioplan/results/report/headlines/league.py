"""Sessions by their headlines: figure, ratio to a base, rank, geometric mean."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from math import exp, log

from msgspec import Struct

from ioplan.results.report.headlines.headline import Headline

FEW_IOS = re.compile(r"needs \S+ I/Os")
ByLabel = Mapping[str, Sequence[Headline]]
"""The headlines of a test by the labels of sessions."""


class Contest(Struct, frozen=True):
    """One headline of a test, of each session that has it."""

    test: str
    key: tuple[str, str, str]
    of: Mapping[str, Headline]

    @property
    def name(self) -> str:
        """`highest IOPS, random reads, QD 128`, without what differs."""
        places = {one.where for one in self.of.values()}
        place = places.pop() if len(places) == 1 else ""
        return ", ".join(filter(None, (*self.key[:2], place)))

    @property
    def is_open(self) -> bool:
        """Whether a search has ended at the end of its range: it is not averaged."""
        return any(one.bound for one in self.of.values())

    @property
    def differs(self) -> bool:
        """Whether sessions have it at different places."""
        return len({one.where for one in self.of.values()}) > 1

    def ratio(self, label: str, base: str) -> float | None:
        """A session's figure to that of the base; None unless of the same cells."""
        mine, theirs = self.of.get(label), self.of.get(base)
        if not mine or not theirs or mine.among != theirs.among:
            return None
        if mine.known is None or not theirs.known:
            return None
        return mine.known / theirs.known

    def gain(self, label: str, base: str) -> float | None:
        """The ratio turned so that more is better: for latencies the inverse."""
        ratio = self.ratio(label, base)
        if not ratio:
            return None
        return ratio if self.of[label].more_is_better else 1 / ratio

    @property
    def ranked(self) -> tuple[str, ...]:
        """Drives; a simulated one stands among simulated ones only, and what was not
        preconditioned nowhere."""
        whole = {label: one for label, one in self.of.items() if not one.is_shortened}
        drives = tuple(label for label, one in whole.items() if not one.is_simulated)
        return drives or (*whole,)

    def rank(self, label: str, base: str) -> int | None:
        """From 1; those with equal figures share theirs."""
        gains = {one: self.gain(one, base) for one in self.ranked}
        mine = gains.get(label)
        if mine is None:
            return None
        return 1 + sum(gain > mine for gain in gains.values() if gain is not None)


class Standing(Struct, frozen=True):
    """A session in the league; without a rank unless it has all figures of the base."""

    label: str
    geometric_mean: float | None
    rank: int | None
    measured: int
    against: tuple[str, ...] = ()
    """What speaks against its figures, the most frequent first."""
    missing: str = ""
    """Why some have no value: `too few I/Os for p99.9`."""

    def missing_text(self, all: int) -> str:
        """`1 of 6 results missing: too few I/Os for p99.9`; empty where none is."""
        if self.measured == all:
            return ""
        why = f": {self.missing}" if self.missing else ""
        return f"{all - self.measured} of {all} results missing{why}"


class League(Struct, frozen=True):
    """Sessions, the best first. Each contest counts the same."""

    base: str
    contests: tuple[Contest, ...]
    standings: tuple[Standing, ...]

    @property
    def unranked(self) -> tuple[str, ...]:
        """Simulated sessions beside drives, and those that were not preconditioned."""
        found = {label for one in self.contests for label in {*one.of} - {*one.ranked}}
        return tuple(s.label for s in self.standings if s.label in found)

    @property
    def averaged(self) -> tuple[Contest, ...]:
        """The contests that the means are of: with a figure of the base, and closed."""
        return averaged(self.contests, self.base)


def overall(tests: Mapping[str, ByLabel], labels: Sequence[str]) -> League | None:
    """The league of all headlines; None of a single session."""
    found = (contests(test, by_label) for test, by_label in tests.items())
    return league([*chain.from_iterable(found)], labels)


def contests(test: str, by_label: ByLabel) -> list[Contest]:
    """All headlines of a test, in the order of the first session that has them."""
    found: dict[tuple[str, str, str], dict[str, Headline]] = {}
    for label, headlines in by_label.items():
        for one in headlines:
            found.setdefault(one.key, {})[label] = one
    return [Contest(test, key, of) for key, of in found.items()]


def league(found: Sequence[Contest], labels: Sequence[str]) -> League | None:
    """Sessions against the first of those that have most of the figures."""
    if len(labels) < 2 or not found:
        return None
    unranked = {label for one in found for label in {*one.of} - {*one.ranked}}
    drives = [label for label in labels if label not in unranked]
    base = max(
        drives or labels, key=lambda label: sum(_has(one, label) for one in found)
    )
    shared = averaged(found, base)
    means = dict.fromkeys(labels) | {
        label: _geometric_mean(shared, label, base) for label in drives
    }
    standings = [_standing(label, means, found) for label in labels]
    standings.sort(key=lambda one: one.rank or len(labels) + 1)
    return League(base, tuple(found), tuple(standings))


def averaged(found: Sequence[Contest], base: str) -> tuple[Contest, ...]:
    """The contests that count in a geometric mean."""
    return tuple(one for one in found if _has(one, base) and not one.is_open)


def _has(contest: Contest, label: str) -> bool:
    return label in contest.of and contest.of[label].value is not None


def _geometric_mean(found: Sequence[Contest], label: str, base: str) -> float | None:
    """The geometric mean of the gains in all contests; None where one is unknown."""
    gains = [one.gain(label, base) for one in found]
    known = [gain for gain in gains if gain is not None]
    if len(known) < len(gains) or not known:
        return None
    return exp(sum(map(log, known)) / len(known))


def _standing(
    label: str, means: Mapping[str, float | None], found: Sequence[Contest]
) -> Standing:
    mean = means[label]
    better = [m for m in means.values() if m is not None and mean and m > mean]
    rank = None if mean is None else 1 + len(better)
    own = [one.of[label] for one in found if label in one.of]
    against = Counter(text for one in own for text in one.against)
    lacking = [one for one in own if one.value is None]
    return Standing(
        label=label,
        geometric_mean=mean,
        rank=rank,
        measured=len(own) - len(lacking),
        against=tuple(text for text, _ in against.most_common()),
        missing=", ".join(dict.fromkeys(map(_why_missing, lacking))),
    )


def _why_missing(one: Headline) -> str:
    return f"too few I/Os for {one.metric}" if FEW_IOS.match(one.why) else one.why
