"""One headline of a test on several drives: which is the best, and by how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import hypot, log

from msgspec import Struct

from ioplan.results.report.headlines.headline import Headline

ByLabel = Mapping[str, Sequence[Headline]]
"""The headlines of a test by the labels of sessions."""
LEAST_RATIO = 1.02
"""A smaller ratio counts as equal, however small the errors of both figures are."""


class Contest(Struct, frozen=True):
    """One headline of a test, of each session that has it."""

    test: str
    key: tuple[str, str, str]
    headlines: Mapping[str, Headline]

    @property
    def any(self) -> Headline:
        """The headline of the first session, for what all sessions share."""
        return next(iter(self.headlines.values()))

    @property
    def where(self) -> str:
        """The cell, where all sessions have the headline in the same one."""
        places = {headline.where for headline in self.headlines.values()}
        return places.pop() if len(places) == 1 else ""

    @property
    def ranked(self) -> list[str]:
        """Labels with a value, the best first.

        A simulated drive ranks among simulated drives only. After a profile that
        leaves out the preconditioning nothing ranks.
        """
        prepared = {k: h for k, h in self.headlines.items() if not h.is_shortened}
        drives = {k: h for k, h in prepared.items() if not h.is_simulated} or prepared
        valued = [label for label, one in drives.items() if one.value is not None]
        more = self.any.more_is_better
        return sorted(valued, key=lambda k: drives[k].value or 0.0, reverse=more)

    def gain(self, label: str, other: str) -> float | None:
        """How many times better a session's figure is than that of another one.

        None where a figure is missing, zero, doubted, open at the end of a search, or
        where the two were chosen from different cells.
        """
        pair = self.headlines.get(label), self.headlines.get(other)
        first, second = pair
        if not first or not second or first.among != second.among:
            return None
        if not (first.is_firm and second.is_firm and first.known and second.known):
            return None
        ratio = first.known / second.known
        return ratio if first.more_is_better else 1 / ratio

    def is_equal(self, label: str, other: str) -> bool:
        """Whether two figures differ by less than their errors, or hardly at all."""
        gain = self.gain(label, other)
        errors = [self.headlines[k].error_percent or 0.0 for k in (label, other)]
        least = max(log(LEAST_RATIO), hypot(*errors) / 100)
        return gain is not None and abs(log(gain)) < least


def contests(test: str, by_label: ByLabel) -> list[Contest]:
    """All headlines of a test, in the order of the first session that has them."""
    headlines: dict[tuple[str, str, str], dict[str, Headline]] = {}
    for label, those_of_label in by_label.items():
        for headline in those_of_label:
            headlines.setdefault(headline.key, {})[label] = headline
    return [Contest(test, key, by_key) for key, by_key in headlines.items()]


def leaders(found: Sequence[Contest], labels: Sequence[str]) -> list[str]:
    """The best two sessions: by most figures, then by their mean place among all."""
    places: dict[str, list[int]] = {label: [] for label in labels}
    for contest in found:
        for place, label in enumerate(contest.ranked):
            places[label].append(place)
    valued = [label for label in labels if places[label]]
    valued.sort(key=lambda k: (-len(places[k]), sum(places[k]) / len(places[k])))
    return valued[:2]
