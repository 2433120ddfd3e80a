"""Many sessions in little room: what they share once, what differs as a table."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ioplan.results.report.blocks import MOST_CARDS, Facts
from ioplan.results.report.documents import Column, Frame


class ManySessions(Struct, frozen=True):
    """`shared` holds for all sessions; `differing` has a row for each."""

    shared: Facts
    differing: Frame


def many_sessions(sessions: Sequence[Facts]) -> ManySessions | None:
    """None where each session can have a card of its own."""
    if len(sessions) <= MOST_CARDS:
        return None
    facts = {own.heading: dict(own.pairs) for own in sessions}
    names = dict.fromkeys(name for pairs in facts.values() for name in pairs)
    values = {n: [pairs.get(n, "") for pairs in facts.values()] for n in names}
    same = tuple((n, own[0]) for n, own in values.items() if len({*own}) == 1)
    differ = {n: own for n, own in values.items() if len({*own}) > 1}
    columns = (Column(f"f{at}", name) for at, name in enumerate(differ))
    rows = [*zip(facts, *differ.values(), strict=True)]
    shared = Facts(f"What all {len(sessions)} sessions share", same)
    return ManySessions(shared, Frame((Column("label", "session"), *columns), rows))


def first_lines(
    lines: Sequence[str], most: int = MOST_CARDS, more: str = "and {:,} more"
) -> tuple[str, ...]:
    """At most so many lines, as sessions have cards; of the others the number."""
    left = len(lines) - most
    return (*lines[:most], more.format(left)) if left > 0 else tuple(lines)
