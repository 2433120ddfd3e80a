"""What the headlines come to, in a sentence: by rules, each part with its figures.

Figures at the lowest load are told, and those at the highest: together where all point
the same way, else the first kinds of I/O that the plan names, and the rest by its ends.
Two are equal if they differ by less than their own errors, or by LEAST_TOLD. What is
open, has no figure, or is of other cells is not told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import exp, hypot, log

from msgspec import Struct

from ioplan.core.units import digits, percent_text
from ioplan.results.report.headlines.doubts import SIMULATED
from ioplan.results.report.headlines.headline import Headline
from ioplan.results.report.headlines.league import Contest, League
from ioplan.results.report.headlines.wording import place_text, short_name

LEAST_TOLD = 1.05
"""A smaller ratio is called equal, however sure it is."""
TIMES = 1.95
ALIKE = 1.3
"""Gains no further apart are told by their mean."""
MOST_KINDS = 2
MOST_ALONE = 3


class Part(Struct, frozen=True):
    """A part of the sentence, and the tests whose figures it is of."""

    text: str
    tests: tuple[str, ...] = ()


def sentence(
    found: League | None, alone: Iterable[tuple[str, Headline]] = ()
) -> tuple[Part, ...]:
    """A sentence on a league's first two, or on a session's headlines with their tests.

    Empty where nothing can be said.
    """
    if found is None:
        return tuple(_alone(list(alone)))
    if compared := tuple(_compared(found)):
        return (*compared, *_doubts(found))
    apart = tuple(_doubts(found))  # as they begin behind something
    return tuple(
        Part(one.text.removeprefix("; ") if not number else one.text)
        for number, one in enumerate(apart)
    )


def text(parts: Sequence[Part]) -> str:
    """The sentence without its links."""
    return f"{''.join(one.text for one in parts)}." if parts else ""


def _alone(found: list[tuple[str, Headline]]) -> Iterator[Part]:
    """The first headline of each test, as many as have room."""
    first: dict[str, Headline] = {}
    for test, one in found:
        if one.known is not None:
            first.setdefault(test, one)
    for number, (test, one) in enumerate([*first.items()][:MOST_ALONE]):
        notes = [note for note in one.notes if note != SIMULATED]
        told = f" ({', '.join(notes)})" if notes else ""
        goal, where, condition = short_name(one).partition(" where ")
        name = f"{one.figure} {goal}".strip()
        name = f"{goal} {one.figure}{where}{condition}" if where else name
        comma = "; " if number else ""
        yield Part(f"{comma}{test}: {name}{place_text(one)}{told}", (test,))


def _compared(found: League) -> Iterator[Part]:
    """`B is 9 times faster at queue depth 1, equal at queue depth 64`."""
    sides = _sides(found)
    loads = _by_load(found.contests, *sides) if sides else []
    if not sides or not loads:
        return
    other, base = sides
    yield Part(f"{other} is ")
    for number, (where, some) in enumerate(loads):
        yield Part("; " if number else "")
        yield from _at_load(some, other, base)
        yield Part(where)
    others = len(found.standings) > len(sides)
    yield Part(f", compared with {base}{', the next of them' if others else ''}")


def _at_load(some: Sequence[Contest], other: str, base: str) -> Iterator[Part]:
    """All figures in one word, or the first kinds of I/O, and the ends of the rest."""
    if _same_side(some, other, base):
        yield _part(some, other, base)
        return
    kinds: dict[str, list[Contest]] = {}
    for one in some:
        kinds.setdefault(_kind(one, other), []).append(one)
    clear = [kind for kind, few in kinds.items() if _same_side(few, other, base)]
    rest = [
        one for k, few in kinds.items() if k not in clear[:MOST_KINDS] for one in few
    ]
    for number, kind in enumerate(clear[:MOST_KINDS]):
        told = _part(kinds[kind], other, base)
        yield Part(f"{', ' if number else ''}{told.text} in {kind}", told.tests)
    if rest:
        told = _part(rest, other, base)
        elsewhere = " in the rest" if clear else ""
        yield Part(f"{', and ' if clear else ''}{told.text}{elsewhere}", told.tests)


def _kind(one: Contest, label: str) -> str:
    """What I/O it is; the throughput of large blocks stands by itself."""
    told = one.of[label]
    return f"throughput of {told.access}" if told.unit == "B/s" else told.access


def _part(some: Sequence[Contest], other: str, base: str) -> Part:
    tests = tuple(dict.fromkeys(contest.test for contest in some))
    return Part(_word(some, other, base), tests)


def _sides(found: League) -> tuple[str, str] | None:
    """The best and the next; the base is one of two that have no rank.

    A simulated drive beside real ones is none of them.
    """
    drives = [one for one in found.standings if one.label not in found.unranked]
    labels = [one.label for one in drives if one.rank]
    labels += [one.label for one in drives if one.measured and not one.rank]
    return (labels[0], labels[1]) if len(labels) > 1 else None


def _by_load(
    contests: Sequence[Contest], other: str, base: str
) -> list[tuple[str, list[Contest]]]:
    """Contests of both: those of the lowest load, and those of the highest."""
    both = [one for one in contests if one.gain(other, base) is not None]
    loads = sorted({one.of[other].load for one in both})
    return [
        (
            f" at queue depth {load}" if len(loads) > 1 else "",
            [one for one in both if one.of[other].load == load],
        )
        for load in dict.fromkeys((*loads[:1], *loads[-1:]))
    ]


def _sure(some: Sequence[Contest], other: str, base: str) -> list[float]:
    """The gains, 1 for what may as well be equal."""
    gains = [(one, one.gain(other, base) or 1.0) for one in some]
    return [1.0 if is_equal(one, other, base) else gain for one, gain in gains]


def _same_side(some: Sequence[Contest], other: str, base: str) -> bool:
    gains = _sure(some, other, base)
    return min(gains) >= 1 or max(gains) <= 1


def _word(some: Sequence[Contest], other: str, base: str) -> str:
    """How much faster, over some figures: in one word where they are alike."""
    gains = _sure(some, other, base)
    if max(gains) / min(gains) <= ALIKE:
        return faster(exp(sum(map(log, gains)) / len(gains)))
    ends = [faster(gain) for gain in (min(gains), max(gains))]
    ends = ends if max(gains) > 1 else ends[::-1]
    low, high = ends
    word = low.rpartition(" ")[2]
    if word == high.rpartition(" ")[2]:
        low = low.removesuffix(f" {word}")
    return f"{low} to {high}"


def is_equal(one: Contest, other: str, base: str) -> bool:
    """Whether two figures are no further apart than they may be off."""
    gain = one.gain(other, base) or 1.0
    errors = (one.of[label].error_percent or 0.0 for label in (other, base))
    return abs(log(gain)) < max(log(LEAST_TOLD), hypot(*errors) / 100)


def faster(gain: float) -> str:
    """`9.0 times faster`, `28 % slower`, `equal`."""
    word, ratio = ("faster", gain) if gain >= 1 else ("slower", 1 / gain)
    if ratio < LEAST_TOLD:
        return "equal"
    if ratio >= TIMES:
        return f"{digits(ratio, 2)} times {word}"
    return f"{percent_text(100 * abs(gain - 1))} {word}"


def _doubts(found: League) -> Iterator[Part]:
    """`; A: not steady`; of what is against all of them, `; all: warned`."""
    many = len(found.contests)
    for text_of in (
        lambda one: ", ".join(text for text in one.against if text != SIMULATED),
        lambda one: one.missing_text(many),
    ):
        labels: dict[str, list[str]] = {}
        for one in found.standings:
            labels.setdefault(text_of(one), []).append(one.label)
        for text in filter(None, labels):
            everyone = len(labels[text]) == len(found.standings)
            yield Part(f"; {'all' if everyone else ', '.join(labels[text])}: {text}")
