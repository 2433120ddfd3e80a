"""Think time: a thread of a stream issues a group of I/Os, and then pauses."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Condition

from ioplan.job import SECOND_NS, JobStream

POLL_NS = 20_000_000
"""So soon does a pause notice that the run is over."""


class Pause:
    """One thread's, which all its workers pass before an I/O and after it.

    The next group begins `pause_ns` after the last I/O of this one has come back.
    """

    def __init__(self, stream: JobStream) -> None:
        self.pause_ns, self.every = stream.pause_ns, stream.pause_every
        self.issued = self.outstanding = 0
        self.until_ns = 0
        self.changed = Condition()

    def enter(self, is_over: Callable[[int], bool]) -> bool:
        """Wait until an I/O may be issued; False if the run is over before."""
        with self.changed:
            while not is_over(now_ns := time.monotonic_ns()):
                if self.issued < self.every and now_ns >= self.until_ns:
                    self.issued += 1
                    self.outstanding += 1
                    return True
                left_ns = self.until_ns - now_ns if self.until_ns > now_ns else POLL_NS
                self.changed.wait(min(left_ns, POLL_NS) / SECOND_NS)
            return False

    def leave(self) -> None:
        """An I/O has come back, well or not; or there was none left to issue."""
        with self.changed:
            self.outstanding -= 1
            if self.outstanding or self.issued < self.every:
                return
            self.issued, self.until_ns = 0, time.monotonic_ns() + self.pause_ns
            self.changed.notify_all()
