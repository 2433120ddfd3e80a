"""How far the clock of a lab's host is from that of the lab's database."""

from __future__ import annotations

from pydantic import Field

from ioplan.core.model import Model
from ioplan.core.units import time_text

MAX_APART_NS = 100_000_000
"""Hosts with NTP are apart by some ms; with more, the times in two logs do not fit."""


class HostClock(Model):
    """As NTP measures it, with half of the shortest round trip as its uncertainty."""

    offset_ns: int = Field(
        description="this host's clock minus that of the lab's database"
    )
    uncertainty_ns: int = Field(
        description="the offset may be off by so much, either way"
    )
    measured_at: str = Field(description="UTC, ISO 8601, of this host's clock")

    @property
    def warning(self) -> str:
        """That it is surely far from the database's; empty if it is not."""
        if abs(self.offset_ns) - self.uncertainty_ns <= MAX_APART_NS:
            return ""
        side = "ahead of" if self.offset_ns > 0 else "behind"
        return (
            f"this host's clock is {time_text(abs(self.offset_ns) / 1e9)} {side} that "
            f"of the lab's database; dates are off by that, durations and rates are "
            f"not; set it by NTP, for example with chrony"
        )

    def __str__(self) -> str:
        return f"{self.offset_ns / 1e6:+.2f} ms ± {self.uncertainty_ns / 1e6:.2f} ms"
