"""The one sentence above a report: at most two facts, by a template for each case."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ioplan.core.text import counted
from ioplan.core.units import digits, metric_text, percent_text, told_apart
from ioplan.results.report.charts.request import NAMES
from ioplan.results.report.headlines.contests import Contest, leaders
from ioplan.results.report.headlines.headline import Headline
from ioplan.results.report.headlines.places import axis_name
from ioplan.results.report.judgements import Judgement

MOST_CHARACTERS = 160
TIMES = 1.95
"""From this ratio on, "2.0 times" is easier to grasp than a percentage."""
CLOSE = 1.1
"""Up to this ratio, two figures are told as being close."""
LIMIT = re.compile(r"\s*(<=|>=|==|<|>)")


def comparison_sentence(found: Sequence[Contest], labels: Sequence[str]) -> str:
    """The largest and the smallest difference between the best two drives.

    Only figures that may be relied on count, and no searches. Empty where there are
    no such figures, or where no template fits in MOST_CHARACTERS.
    """
    pair = leaders(found, labels)
    if len(pair) < 2:
        return ""
    gains = [(_gain(one, *pair), one) for one in found if one.any.goal == ""]
    known = sorted((gain, n) for n, (gain, _) in enumerate(gains) if gain)
    if not known:
        return ""
    largest, smallest = gains[known[-1][1]][1], gains[known[0][1]][1]
    if largest.is_equal(*pair):
        first, second = pair
        some = f"the {len(known)} headlines that can be compared"
        which = "every headline" if len(known) == len(found) else some
        return _fitting([f"{first} and {second} are equal in {which}"])
    facts = [_difference(largest, *pair)]
    if smallest is not largest:
        facts += _closeness(smallest, largest, *pair)
    return _fitting(facts)


def _gain(contest: Contest, first: str, second: str) -> float | None:
    """How far apart two figures are, whichever is better: at least 1."""
    gain = contest.gain(first, second)
    return max(gain, 1 / gain) if gain else None


def _difference(contest: Contest, first: str, second: str) -> str:
    """`client reaches 9.0 times the IOPS of disk in Random read, QD 1`."""
    gain = contest.gain(first, second) or 1.0
    better, other = (first, second) if gain >= 1 else (second, first)
    name, place = contest.any.quantity, _place(contest)
    gain = max(gain, 1 / gain)
    if not contest.any.more_is_better:
        lower = percent_text(100 * (1 - 1 / gain))
        much = f"{digits(gain, 2)} times" if gain >= TIMES else lower
        return f"{better}'s {name} is {much} lower than {other}'s in {place}"
    if gain >= TIMES:
        times = f"{digits(gain, 2)} times"
        return f"{better} reaches {times} the {name} of {other} in {place}"
    percent = percent_text(100 * (gain - 1))
    return f"{better} reaches {percent} more {name} than {other} in {place}"


def _closeness(
    contest: Contest, largest: Contest, first: str, second: str
) -> Iterator[str]:
    """The smallest difference, where the two are close, or the other one leads."""
    gain = contest.gain(first, second) or 1.0
    leads = first if gain >= 1 else second
    apart = max(gain, 1 / gain)
    name, place = contest.any.quantity, _place(contest)
    if contest.is_equal(first, second):
        yield f"equal {name} in {place}"
    elif apart <= CLOSE:
        yield f"{name} within {percent_text(100 * (apart - 1))} in {place}"
    elif (leads == first) != ((largest.gain(first, second) or 1.0) >= 1):
        yield f"{leads} leads in {place}"


def _place(contest: Contest) -> str:
    """`Random read, QD 1`."""
    return ", ".join(filter(None, (contest.test, contest.any.kind, contest.where)))


def headline_sentence(tests: Mapping[str, Sequence[Headline]]) -> str:
    """The first headline of the first two tests that have a figure to rely on."""
    firm = (
        (test, headline)
        for test, headlines in tests.items()
        for headline in [one for one in headlines if one.is_firm][:1]
    )
    facts = [f"{test}: {_stated(headline)}" for test, headline in firm]
    return _fitting(facts[:2])


def _stated(headline: Headline) -> str:
    where = f" at {headline.where}" if headline.where else ""
    if headline.goal:
        return f"{headline.name} is {headline.figure}{where}"
    if headline.unit in ("1/s", "B/s"):
        unit = " IOPS" if headline.unit == "1/s" else ""
        return f"{headline.figure}{unit}{where}"
    return f"{headline.quantity} {headline.figure}{where}"


def expectation_sentence(judged: Mapping[str, Sequence[Judgement]]) -> str:
    """`3 of 12 expectations failed: p99 at qd 32 is 4.1 ms, limit 2 ms`.

    It names the expectation that missed its limit by most. Empty where none failed.
    """
    every = [(label, one) for label, some in judged.items() for one in some]
    failed = [pair for pair in every if pair[1].outcome == "failed"]
    if not failed:
        return ""
    label, worst = max(failed, key=lambda pair: pair[1].distance)
    count = f"{len(failed)} of {counted(len(every), 'expectation')} failed"
    by = f"on {label}, " if len(judged) > 1 else ""
    return _fitting([f"{count}: {by}{_missed(worst)}"]) or _fitting([count])


def _missed(judgement: Judgement) -> str:
    verdict = judgement.verdict
    if not verdict or verdict.actual is None or verdict.limit is None:
        return judgement.expectation
    line = judgement.expectation.removeprefix("expect ")
    metric = LIMIT.split(line, maxsplit=1)[0]
    cell = ", ".join(f"{axis_name(axis)} {v}" for axis, v in judgement.cell.items())
    actual = told_apart(verdict.actual, verdict.limit, verdict.unit)
    at = f" at {cell}" if cell else ""
    limit = metric_text(verdict.limit, verdict.unit)
    return f"{NAMES.get(metric, metric)}{at} is {actual}, limit {limit}"


def _fitting(facts: Sequence[str]) -> str:
    """As many of the facts as fit in a sentence, the first one first."""
    for count in range(len(facts), 0, -1):
        text = "; ".join(facts[:count])
        text = f"{text}."
        if len(text) <= MOST_CHARACTERS:
            return text
    return ""
