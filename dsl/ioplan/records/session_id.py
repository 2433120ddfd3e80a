"""Ids of sessions and jobs: the greatest, as text, is the one that was started last.

This order alone decides what is "last" and "newest", in stores and in folders.
"""

from __future__ import annotations

import os
import secrets
import time
from contextlib import suppress
from datetime import UTC, datetime

from ioplan.core.error_kinds import ExplainedError
from ioplan.core.state_folder import state_folder
from ioplan.core.system import O_CLOEXEC, O_NOFOLLOW, fcntl

ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"
"""Without the letters and digits that people confuse; they sort as they stand here."""
TIME_LETTERS, DRAWN_LETTERS = 4, 2
TICKS_PER_S: int = len(ALPHABET) ** TIME_LETTERS
"""A tick is 1.08 µs."""
MOST_AHEAD = 24 * 3600 * TICKS_PER_S
"""Ids are not led further from the time than this by a clock that was wrong."""
COUNTER_BYTES = 24


def new_session_id() -> str:
    """An id such as 20261121-054512-k3f9ab: its time, and two letters that are drawn.

    It is greater than all that this user had on this host, also of two in one instant
    and after the clock was set back.
    """
    drawn = (secrets.choice(ALPHABET) for _ in range(DRAWN_LETTERS))
    return _id(_next_tick(), "".join(drawn))


def id_of(time_ns: int, tail: str) -> str:
    """The id of what began at a time, such as a session that is imported."""
    return _id(_ticks(time_ns), tail)


def _id(tick: int, tail: str) -> str:
    seconds, fraction = divmod(tick, TICKS_PER_S)
    letters = ""
    for _ in range(TIME_LETTERS):
        fraction, place = divmod(fraction, len(ALPHABET))
        letters = ALPHABET[place] + letters
    return f"{datetime.fromtimestamp(seconds, UTC):%Y%m%d-%H%M%S}-{letters}{tail}"


def _ticks(time_ns: int) -> int:
    return time_ns * TICKS_PER_S // 1_000_000_000


def _next_tick() -> int:
    """Now, or right after the id before; where that cannot be kept, time decides."""
    tick = _ticks(time.time_ns())
    with suppress(OSError, ExplainedError):
        folder = state_folder()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        flags = os.O_RDWR | os.O_CREAT | O_NOFOLLOW | O_CLOEXEC
        fd = os.open(folder / "last-id", flags, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            last = _counter(fd)
            tick = max(tick, last + 1) if last - tick < MOST_AHEAD else tick
            os.pwrite(fd, b"%0*d" % (COUNTER_BYTES, tick), 0)
        finally:
            os.close(fd)
    return tick


def _counter(fd: int) -> int:
    try:
        return int(os.pread(fd, COUNTER_BYTES, 0))
    except ValueError:  # new, or damaged
        return 0
