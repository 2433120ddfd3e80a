"""NVMe's log of a sanitize, and the wait for its end."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from dataclasses import dataclass

from ioplan.backends import ProgressCallback

LOG_PAGE, LOG_BYTES = 0x81, 512
DONE, UNDER_WAY, FAILED, DONE_DEALLOCATED = 1, 2, 3, 4
WHOLE = 1 << 16
LOOK_S = 1.0
STILL_S = 3600.0
"""One was seen to stand still for a week; longer than this is not waited."""


@dataclass(frozen=True)
class SanitizeLog:
    """`progress` is a share of 65536, and means something only while under way."""

    progress: int
    state: int

    @classmethod
    def of(cls, page: bytes) -> SanitizeLog:
        """SPROG at byte 0, SSTAT at 2, of which the lowest three bits count."""
        progress, status = struct.unpack_from("<HH", page)
        return cls(progress, status & 7)

    @property
    def under_way(self) -> bool:
        """Whether the drive is still at it."""
        return self.state == UNDER_WAY

    @property
    def trouble(self) -> str:
        """Why a sanitize that is over did not erase; empty if it did."""
        if self.state in (DONE, DONE_DEALLOCATED):
            return ""
        if self.state == FAILED:
            return (
                "the sanitize failed, and the drive refuses I/O until another one has "
                "gone well, or `nvme sanitize --sanact=exit-failure` has freed it"
            )
        return f"the drive says that its sanitize is in state {self.state}"


def watched(look: Callable[[], SanitizeLog], tell: ProgressCallback) -> str:
    """Wait for the end, telling the share done. Returns what went wrong, or ''.

    A drive that is told to sanitize cannot be stopped: Ctrl-C ends the waiting only.
    """
    log, told, moved_s = look(), -1, time.monotonic()
    while log.under_way:
        if log.progress != told:
            tell(log.progress / WHOLE)
            told, moved_s = log.progress, time.monotonic()
        if time.monotonic() - moved_s > STILL_S:
            return (
                f"its sanitize is at {told / WHOLE:.1%}, and that for "
                f"{STILL_S / 60:.0f} minutes; it may need its power cut"
            )
        time.sleep(LOOK_S)
        log = look()
    return log.trouble
