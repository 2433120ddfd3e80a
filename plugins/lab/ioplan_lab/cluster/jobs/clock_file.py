"""What a host's worker knows of the host's clock, for the records of its lanes."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ioplan.records import HostClock

NAME = "clock.json"


def keep_clock(lanes: Path, clock: HostClock) -> None:
    """Write it beside the lanes; never raises, as the disk may be full."""
    part = lanes / f".{NAME}.{os.getpid()}"
    with suppress(OSError):
        lanes.mkdir(parents=True, exist_ok=True, mode=0o700)
        part.write_text(clock.model_dump_json())
        part.replace(lanes / NAME)


def read_clock(lanes: Path) -> HostClock | None:
    """The last one that was measured, if any was."""
    with suppress(OSError, ValueError):
        return HostClock.model_validate_json((lanes / NAME).read_bytes())
    return None
