"""Many sessions in little room: what they share once, what differs as a table."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ioplan.results.report.documents import Column, Facts, Frame

MOST_CARDS = 8
"""Up to so many sessions each have all their facts beside one another."""


class ManySessions(Struct, frozen=True):
    """`shared` holds for all sessions; `differing` has a row for each."""

    shared: Facts
    differing: Frame


def many_sessions(sessions: Sequence[Facts]) -> ManySessions | None:
    """None where each session can have a card of its own."""
    if len(sessions) <= MOST_CARDS:
        return None
    found = [dict(one.pairs) for one in sessions]
    names = list(dict.fromkeys(name for pairs in found for name in pairs))
    differ = [n for n in names if len({pairs.get(n, "") for pairs in found}) > 1]
    same = tuple((n, found[0][n]) for n in names if n not in differ)
    columns = [Column("label", "session")]
    columns += [Column(f"f{at}", name) for at, name in enumerate(differ)]
    rows = [
        (one.heading, *(pairs.get(name, "") for name in differ))
        for one, pairs in zip(sessions, found, strict=True)
    ]
    shared = Facts(f"What all {len(sessions)} sessions share", same)
    return ManySessions(shared, Frame(tuple(columns), rows))


def first_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """As many lines as sessions have cards; of the others the number."""
    rest = len(lines) - MOST_CARDS
    return (*lines[:MOST_CARDS], f"and {rest} more") if rest > 0 else tuple(lines)
