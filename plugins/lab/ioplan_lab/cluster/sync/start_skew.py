"""The clock offsets of other hosts, and how far apart the hosts started.

Offsets are measured as NTP does (RFC 5905, section 8): a question is sent at t1, the
answer has the other clock's time t2 and arrives at t3. If both ways take equally long,
the other clock is ahead by t2 - (t1 + t3) / 2; otherwise the error is at most half the
round trip, (t3 - t1) / 2.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from ioplan.job import Job

MIN_EXCHANGES, MAX_EXCHANGES = 8, 40
GOOD_NS = 300_000
"""On a busy machine most exchanges are slow: more are tried for one that is not."""


class Offset(NamedTuple):
    """The other clock minus this one, and how uncertain that is."""

    offset_ns: int
    uncertainty_ns: int


def offset_of(sent_ns: int, there_ns: int, received_ns: int) -> Offset:
    """What one exchange measures: t1, t2 and t3."""
    middle_ns = (sent_ns + received_ns) // 2
    return Offset(there_ns - middle_ns, (received_ns - sent_ns + 1) // 2)


def least_uncertain(offsets: Iterable[Offset]) -> Offset:
    """That of the exchange with the shortest round trip."""
    return min(offsets, key=lambda one: one.uncertainty_ns)


def is_known(offsets: Collection[Offset], patient: bool) -> bool:
    """Whether these are enough; who is patient waits for one that tells much."""
    if len(offsets) < MIN_EXCHANGES:
        return False
    good = least_uncertain(offsets).uncertainty_ns <= GOOD_NS
    return good or not patient or len(offsets) >= MAX_EXCHANGES


LEAD_NS = 150_000_000
"""From sending the start time to the start: all hosts must have received it by then."""
MIN_SKEW_NS = 10_000_000
MAX_SKEW_FRACTION = 0.01
"""A share of the run's length: a larger skew, above the minimum, gets a warning."""


class Start(NamedTuple):
    """One host's start: the agreed time and the actual one, by its own clock."""

    agreed_ns: int
    actual_ns: int
    clock: Offset

    @property
    def late_ns(self) -> int:
        return self.actual_ns - self.agreed_ns

    def facts(self) -> dict[str, int]:
        """For a record."""
        return {
            "agreed_ns": self.agreed_ns,
            "actual_ns": self.actual_ns,
            "late_ns": self.late_ns,
            "clock_offset_ns": self.clock.offset_ns,
            "clock_uncertainty_ns": self.clock.uncertainty_ns,
        }


class Skew(NamedTuple):
    """From the first host's start to the last one's, and how uncertain that is."""

    skew_ns: int
    uncertainty_ns: int
    first: str
    last: str


def skew_of(starts: Mapping[str, Start]) -> Skew:
    """The skew of two hosts or more.

    Its uncertainty is the sum of the two largest ones of the clocks.
    """
    first = min(starts, key=lambda host: starts[host].late_ns)
    last = max(starts, key=lambda host: starts[host].late_ns)
    uncertainties_ns = sorted(one.clock.uncertainty_ns for one in starts.values())
    skew_ns = starts[last].late_ns - starts[first].late_ns
    return Skew(skew_ns, sum(uncertainties_ns[-2:]), first, last)


def skew_warning(skew: Skew, job: Job) -> str:
    """That a host started too late; empty if none did."""
    length_ns = job.warmup_ns + (job.run_ns or 0)
    max_ns = max(MIN_SKEW_NS, MAX_SKEW_FRACTION * length_ns)
    if skew.skew_ns <= max_ns:
        return ""
    return (
        f"{skew.last} began {skew.skew_ns / 1e6:.1f} ms after {skew.first} (known to "
        f"{skew.uncertainty_ns / 1e6:.1f} ms); more than {max_ns / 1e6:.1f} ms"
    )
