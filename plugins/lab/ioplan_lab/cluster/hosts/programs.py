"""Names of the programs that a lab starts on its hosts, each as its own process."""

from __future__ import annotations

from msgspec import Struct


class Programs(Struct, frozen=True):
    """Modules for `python -m`. The command line, which has them, hands them down."""

    cli: str
    """What a person calls, too: `ioplan`."""
    lane: str
    """Runs one lane: LANE_FOLDER LOCK_FD."""
    participant: str
    """Does a host's part of a session of several hosts: SESSION_ID."""
