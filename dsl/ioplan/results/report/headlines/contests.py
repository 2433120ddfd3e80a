"""One headline of a test on several drives: which is the best, and by how much.

The sentence above a report has at most two such facts, by a template for each case.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from math import hypot, log
from statistics import fmean

from msgspec import Struct

from ioplan.core.text import counted
from ioplan.core.units import (
    IOPS_UNIT,
    digits,
    iops_suffix,
    percent_text,
    told_apart,
    whole_text,
    without_underscores,
)
from ioplan.results.report.charts.request import NAMES
from ioplan.results.report.headlines.headline import Headline
from ioplan.results.report.headlines.places import axis_name
from ioplan.results.report.judgements import Judgement

LEAST_RATIO = 1.02
"""A smaller ratio counts as equal, however small the errors of both figures are."""


class Contest(Struct, frozen=True):
    """One headline of a test; `entered` are all sessions that have the test.

    `simulated` are those of them that are of models, where others are of drives.
    """

    test: str
    headlines: Mapping[str, Headline]
    entered: tuple[str, ...]
    simulated: frozenset[str] = frozenset()

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
    def title(self) -> str:
        """`Random read, random reads, QD 1`."""
        return ", ".join(filter(None, (self.test, self.any.kind, self.where)))

    @property
    def has_one_name(self) -> bool:
        """Not the worst intervals of several lengths, which cannot be compared."""
        return len({headline.name for headline in self.headlines.values()}) == 1

    @property
    def caption(self) -> str:
        return self.any.caption if self.has_one_name else self.any.quantity

    @property
    def ranked(self) -> list[str]:
        """Labels with a value, the best first.

        A simulated drive ranks among simulated drives only. After a profile that
        leaves out the preconditioning nothing ranks.
        """
        if not self.has_one_name:
            return []
        prepared = {k: h for k, h in self.headlines.items() if not h.is_shortened}
        drives = {k: h for k, h in prepared.items() if k not in self.simulated}
        values = {k: h.value for k, h in drives.items() if h.value is not None}
        return sorted(values, key=values.__getitem__, reverse=self.any.more_is_better)

    @property
    def in_order(self) -> list[str]:
        """All that entered: by rank, then those without, and models behind drives."""
        ranked = self.ranked
        others = [label for label in self.entered if label not in ranked]
        return [*ranked, *sorted(others, key=self.simulated.__contains__)]

    def gain(self, label: str, other: str) -> float | None:
        """How many times better a session's figure is than that of another one.

        None where a figure is missing, zero, doubted, open at the end of a search, or
        where the two were chosen from different cells.
        """
        pair = [self.headlines[k] for k in (label, other) if k in self.headlines]
        values = [h.value for h in pair if h.is_firm and h.value and not h.bound]
        if len(values) < 2 or len({(h.name, h.among) for h in pair}) > 1:
            return None
        ratio = values[0] / values[1]
        return ratio if self.any.more_is_better else 1 / ratio

    def is_equal(self, label: str, other: str) -> bool:
        """Whether two figures differ by less than their errors, or hardly at all."""
        gain = self.gain(label, other)
        errors = [self.headlines[k].error_percent or 0.0 for k in (label, other)]
        least = max(log(LEAST_RATIO), hypot(*errors) / 100)
        return gain is not None and abs(log(gain)) < least


def contests(
    test: str,
    by_label: Mapping[str, Sequence[Headline]],
    simulated: Collection[str] = (),
) -> list[Contest]:
    """All headlines of a test by session, in the order of the first that has them.

    `simulated` are the sessions that simulate, also those without a headline.
    """
    headlines: dict[tuple[str, str, str], dict[str, Headline]] = {}
    for label, own in by_label.items():
        for headline in own:
            headlines.setdefault(headline.key, {})[label] = headline
    entered = tuple(by_label)
    models = {label for label, own in by_label.items() if any(map(_is_model, own))}
    models |= {label for label in simulated if label in by_label}
    beside = frozenset(models if len(models) < len(entered) else ())
    return [Contest(test, by_key, entered, beside) for by_key in headlines.values()]


def _is_model(headline: Headline) -> bool:
    return headline.is_simulated


def leaders(entries: Sequence[Contest], labels: Sequence[str]) -> list[str]:
    """The best two sessions: by most figures, then by their mean place among all,
    which equal figures share."""
    places: dict[str, list[int]] = {label: [] for label in labels}
    for contest in entries:
        values = [contest.headlines[label].value for label in contest.ranked]
        for label, value in zip(contest.ranked, values, strict=True):
            places[label].append(values.index(value))
    valued = {label: own for label, own in places.items() if own}
    return sorted(valued, key=lambda k: (-len(valued[k]), fmean(valued[k])))[:2]


# The sentence.

MOST_CHARACTERS = 160
TIMES = 1.95
"""From this ratio on, "2.0 times" is easier to grasp than a percentage."""
CLOSE = 1.1
"""Up to this ratio, two figures are told as being close."""
LIMIT = re.compile(r"\s*(<=|>=|==|<|>)")


def comparison_sentence(entries: Sequence[Contest], labels: Sequence[str]) -> str:
    """The largest and the smallest difference between the best two drives.

    Only figures that may be relied on count, and no searches. Empty where there are
    no such figures, or where no template fits in MOST_CHARACTERS.
    """
    pair = leaders(entries, labels)
    measured = [own for own in entries if not own.any.goal and len(pair) == 2]
    gains = [(gain, contest) for contest in measured if (gain := contest.gain(*pair))]
    if not gains:
        return ""
    gains.sort(key=lambda entry: abs(log(entry[0])))
    (small, smallest), (large, largest) = gains[0], gains[-1]
    if largest.is_equal(*pair):
        comparable = f"the {len(gains)} headlines that can be compared"
        which = "every headline" if len(gains) == len(entries) else comparable
        return _fitting([f"{pair[0]} and {pair[1]} are equal in {which}"])
    better, other = pair if large >= 1 else pair[::-1]
    facts = [_difference(largest, max(large, 1 / large), better, other)]
    if smallest is not largest:
        times, name = max(small, 1 / small), smallest.any.quantity
        leader = pair[0] if small >= 1 else pair[1]
        if smallest.is_equal(*pair):
            facts.append(f"equal {name} in {smallest.title}")
        elif times <= CLOSE:
            within = percent_text(100 * (times - 1))
            facts.append(f"{name} within {within} in {smallest.title}")
        elif leader != better:
            facts.append(f"{leader} leads in {smallest.title}")
    return _fitting(facts)


def _difference(contest: Contest, times: float, better: str, other: str) -> str:
    """`client reaches 9.0 times the IOPS of disk in Random read, QD 1`."""
    name, place = contest.any.quantity, contest.title
    much = f"{digits(times, 2)} times" if times >= TIMES else ""
    if not contest.any.more_is_better:
        much = much or percent_text(100 * (1 - 1 / times))
        return f"{better}'s {name} is {much} lower than {other}'s in {place}"
    if much:
        return f"{better} reaches {much} the {name} of {other} in {place}"
    percent = percent_text(100 * (times - 1))
    return f"{better} reaches {percent} more {name} than {other} in {place}"


def headline_sentence(tests: Mapping[str, Sequence[Headline]]) -> str:
    """The first headline of the first two tests that have a figure to rely on."""
    firm = {test: [h for h in own if h.is_firm] for test, own in tests.items()}
    facts = [f"{test}: {_stated(own[0])}" for test, own in firm.items() if own]
    return _fitting(facts[:2])


def _stated(headline: Headline) -> str:
    where = f" at {headline.where}" if headline.where else ""
    if headline.goal:
        return f"{headline.name} is {headline.figure}{where}"
    if headline.unit in (IOPS_UNIT, "B/s"):
        return f"{headline.figure}{where}"
    return f"{headline.quantity} {headline.figure}{where}"


def expectation_sentence(judged: Mapping[str, Sequence[Judgement]]) -> str:
    """`3 of 12 expectations failed: p99 at qd 32 is 4.1 ms, limit 2 ms`.

    It names the expectation that missed its limit by most. Empty where none failed.
    """
    every = [(label, judgement) for label, own in judged.items() for judgement in own]
    failed = [pair for pair in every if pair[1].outcome == "failed"]
    if not failed:
        return ""
    label, worst = max(failed, key=lambda pair: pair[1].distance)
    count = f"{len(failed)} of {counted(len(every), 'expectation')} failed"
    by = f"on {label}, " * (len(judged) > 1)
    return _fitting([f"{count}: {by}{_missed(worst)}"]) or _fitting([count])


def _missed(judgement: Judgement) -> str:
    verdict = judgement.verdict
    if not verdict or verdict.actual is None or verdict.limit is None:
        return judgement.expectation
    line = judgement.expectation.removeprefix("expect ")
    metric = LIMIT.split(line, maxsplit=1)[0]
    cell = ", ".join(f"{axis_name(axis)} {v}" for axis, v in judgement.cell.items())
    cell = without_underscores(cell)
    name = NAMES.get(metric, metric)
    actual = told_apart(verdict.actual, verdict.limit, verdict.unit)
    if name != NAMES["iops"]:
        actual += iops_suffix(verdict.unit)
    at = f" at {cell}" if cell else ""
    limit = whole_text(verdict.limit, verdict.unit)
    return f"{name}{at} is {actual}, limit {limit}"


def _fitting(facts: Sequence[str]) -> str:
    """As many of the facts as fit in a sentence, the first one first."""
    for count in range(len(facts), 0, -1):
        text = f"{'; '.join(facts[:count])}."
        if len(text) <= MOST_CHARACTERS:
            return text
    return ""
