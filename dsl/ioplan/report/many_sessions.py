"""Many sessions in little room: what they share once, what differs as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ioplan.report.document import Column, Facts, Frame

MOST_CARDS = 8
"""Up to so many sessions each have all their facts beside one another."""


@dataclass(frozen=True)
class Crowd:
    """`shared` holds for all sessions; `apart` has a row for each."""

    shared: Facts
    apart: Frame


def crowd(sessions: Sequence[Facts]) -> Crowd | None:
    """None for sessions that are few."""
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
    return Crowd(shared, Frame(tuple(columns), rows))


def some(lines: Sequence[str]) -> tuple[str, ...]:
    """As many lines as sessions have cards; of the others the number."""
    rest = len(lines) - MOST_CARDS
    return (*lines[:MOST_CARDS], f"and {rest} more") if rest > 0 else tuple(lines)
