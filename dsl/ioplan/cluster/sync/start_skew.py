"""How far another host's clock is off, as NTP measures it (RFC 5905, section 8).

A question is sent at t1 and answered by the other clock's time t2; the answer comes
at t3. If both ways take as long, the other clock is ahead by t2 - (t1 + t3) / 2. If
not, that is wrong by half of the time that the exchange took, at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ioplan.job import Job

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


LEAD_NS = 150_000_000
"""From the word to the start: it must have reached all hosts by then."""
LEAST_SKEW_NS = 10_000_000
SHARE = 0.01


class Start(NamedTuple):
    """One host's: the agreed time and the actual one are of its own clock."""

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
    """From the first host's start to the last one's, and how sure that is."""

    skew_ns: int
    uncertainty_ns: int
    first: str
    last: str


def skew_of(starts: Mapping[str, Start]) -> Skew:
    """Of two hosts or more. Clocks are off by what was measured of them, at most by
    the uncertainties of both."""
    first = min(starts, key=lambda host: starts[host].late_ns)
    last = max(starts, key=lambda host: starts[host].late_ns)
    sure = sorted(start.clock.uncertainty_ns for start in starts.values())
    skew_ns = starts[last].late_ns - starts[first].late_ns
    return Skew(skew_ns, sum(sure[-2:]), first, last)


def warning(skew: Skew, job: Job) -> str:
    """Where a part of the run was not done together; else empty."""
    lasts_ns = job.warmup_ns + (job.run_ns or 0)
    most_ns = max(LEAST_SKEW_NS, SHARE * lasts_ns)
    if skew.skew_ns <= most_ns:
        return ""
    return (
        f"{skew.last} began {skew.skew_ns / 1e6:.1f} ms after {skew.first} (known to "
        f"{skew.uncertainty_ns / 1e6:.1f} ms); more than {most_ns / 1e6:.1f} ms"
    )
