"""Hosts that use one target together keep all others away, but not each other.

The one that leads takes the target as its own, sees that it is free, and only then
lets others in, with a lock that they share. Whoever wants it alone, another session
among them, finds that lock. Hosts that are containers of one kernel also see each
other's open files there: those of the same session are no strangers.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from pathlib import Path

from ioplan.devices.open_files import Opener

PROGRAM = b"ioplan.cli.workers.participant"


def share(fd: int) -> None:
    """Let fellows in. Raises BlockingIOError where a stranger came in between."""
    fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)


def strangers(found: Iterable[Opener], session: str) -> list[Opener]:
    """Those who are not of this session; all, where it is one host's alone."""
    return [one for one in found if not (session and _is_fellow(one.pid, session))]


def _is_fellow(pid: int, session: str) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return PROGRAM in command and os.fsencode(session) in command
