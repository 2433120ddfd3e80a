"""How far another host's clock is off, as NTP measures it (RFC 5905, section 8).

A question is sent at t1 and answered by the other clock's time t2; the answer comes
at t3. If both ways take as long, the other clock is ahead by t2 - (t1 + t3) / 2. If
not, that is wrong by half of the time that the exchange took, at most.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

FEWEST, MOST = 8, 40


class Offset(NamedTuple):
    """What the other clock shows, less what this one does, and how sure that is."""

    offset_ns: int
    uncertainty_ns: int


def exchanged(sent_ns: int, there_ns: int, heard_ns: int) -> Offset:
    """What one exchange says."""
    middle_ns = (sent_ns + heard_ns) // 2
    return Offset(there_ns - middle_ns, (heard_ns - sent_ns + 1) // 2)


def surest(found: Iterable[Offset]) -> Offset:
    """The exchange that was on its way for the shortest time."""
    return min(found, key=lambda one: one.uncertainty_ns)
