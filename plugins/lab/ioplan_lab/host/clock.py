"""How far this host's clock is from the database's, for records of drive jobs."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from ioplan.records import HostClock

NAME, EXCHANGES, LASTS_S = "clock.json", 3, 3600.0


async def measured(there_ns: Callable[[], Awaitable[int]]) -> HostClock:
    """By the shortest of some exchanges, as NTP does."""
    found = []
    for _ in range(EXCHANGES):
        sent_ns = time.time_ns()
        told_ns = await there_ns()
        came_ns = time.time_ns()
        found.append((came_ns - sent_ns, (sent_ns + came_ns) // 2 - told_ns))
    trip_ns, offset_ns = min(found)
    return HostClock(
        offset_ns=offset_ns,
        uncertainty_ns=trip_ns // 2 + 1000,  # PostgreSQL says microseconds
        measured_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
    )


def keep_clock(root: Path, clock: HostClock) -> None:
    """Write it beside the drive jobs; never raises, as the disk may be full."""
    part = root / f".{NAME}.{os.getpid()}"
    with suppress(OSError):
        part.write_text(clock.model_dump_json())
        part.replace(root / NAME)


def read_clock(root: Path) -> HostClock | None:
    """The last one that was measured, unless that is long ago."""
    with suppress(OSError, ValueError):
        file = root / NAME
        if abs(time.time() - file.stat().st_mtime) < LASTS_S:
            return HostClock.model_validate_json(file.read_bytes())
    return None
