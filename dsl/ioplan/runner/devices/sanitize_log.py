"""NVMe's log page of a sanitize, and the wait for its end."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable

from msgspec import Struct

from ioplan.backends import ProgressCallback

LOG_PAGE, LOG_BYTES = 0x81, 512
DONE, UNDER_WAY, FAILED, DONE_DEALLOCATED = 1, 2, 3, 4
WHOLE = 1 << 16
GLOBAL_DATA_ERASED = 1 << 8
POLL_S = 1.0
STALL_S = 3600.0
"""No longer wait for a sanitize without progress: one was seen to stall for a week."""


class SanitizeLog(Struct, frozen=True):
    """`progress` is in parts of 65536, and only valid while it is under way.

    `is_erased` is its bit Global Data Erased: no user data was written, on any
    namespace, since the last sanitize that succeeded.
    """

    progress: int
    state: int
    is_erased: bool = False

    @classmethod
    def of(cls, page: bytes) -> SanitizeLog:
        """SPROG is at byte 0, SSTAT at byte 2; its lowest three bits are the state."""
        progress, status = struct.unpack_from("<HH", page)
        return cls(progress, status & 7, bool(status & GLOBAL_DATA_ERASED))

    @property
    def under_way(self) -> bool:
        """Whether the drive is still sanitizing."""
        return self.state == UNDER_WAY

    @property
    def trouble(self) -> str:
        """Why a finished sanitize did not erase; empty if it did."""
        if self.state in (DONE, DONE_DEALLOCATED):
            return ""
        if self.state == FAILED:
            return (
                "the sanitize failed, and the drive refuses I/O until another one "
                "succeeds, or `nvme sanitize --sanact=exit-failure` releases it"
            )
        return f"the drive reports that its sanitize is in state {self.state}"


def wait_for_end(
    read_log: Callable[[], SanitizeLog], on_progress: ProgressCallback
) -> str:
    """Wait for the end; returns what went wrong, or "".

    A sanitize cannot be stopped: Ctrl-C only ends the wait.
    """
    log, reported, moved_s = read_log(), -1, time.monotonic()
    while log.under_way:
        if log.progress != reported:
            on_progress(log.progress / WHOLE)
            reported, moved_s = log.progress, time.monotonic()
        if time.monotonic() - moved_s > STALL_S:
            return (
                f"its sanitize has been at {reported / WHOLE:.1%} for "
                f"{STALL_S / 60:.0f} minutes; the drive may need a power cycle"
            )
        time.sleep(POLL_S)
        log = read_log()
    return log.trouble
