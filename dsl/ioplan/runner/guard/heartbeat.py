"""How much had been written to a device, kept each second while a session writes.

After a kill it tells how much was written since: a session writes no more once it is
dead, whoever copies data to the device writes on.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

from ioplan.backends import TargetFacts
from ioplan.core.model import Model
from ioplan.job import SECOND_NS
from ioplan.runner.devices.write_evidence import (
    WriteCounters,
    sectors_written,
    write_counters,
)

PERIOD_S = 1.0
BEATS = 3
"""After a kill a session may have written for as many periods, at its highest rate."""
LEAST_SECTORS = 1 << 21
"""1 GiB: what a fast drive may take between the start and the first heartbeat."""
RECORD_BYTES = 128


class Beat(Model):
    """Sectors written so far since `boot`, and the most in one period."""

    boot: str
    sectors: int
    most: int = 0


class Heartbeat:
    """A thread that keeps the counter in place, in one write without a flush."""

    def __init__(self, facts: TargetFacts, path: Path) -> None:
        self.facts, self.path = facts, path
        self.ended, self.most = threading.Event(), 0
        self.sectors = sectors_written(write_counters(facts))
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """End it; further calls do nothing."""
        self.ended.set()
        self.thread.join()

    def _run(self) -> None:
        with suppress(OSError):  # who cannot keep it is asked again
            fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                self._beat(fd)
                while not self.ended.wait(PERIOD_S):
                    self._beat(fd)
            finally:
                os.close(fd)

    def _beat(self, fd: int) -> None:
        counters = write_counters(self.facts)
        now = sectors_written(counters)
        self.most, self.sectors = max(self.most, now - self.sectors), now
        beat = Beat(boot=counters.get("boot", ""), sectors=now, most=self.most)
        os.pwrite(fd, beat.model_dump_json().encode().ljust(RECORD_BYTES), 0)


def last_beat(path: Path) -> Beat | None:
    """None where there was none, or it cannot be read."""
    try:
        return Beat.model_validate_json(path.read_bytes())
    except (OSError, ValueError):
        return None


def changed_later(path: Path, fd: int) -> bool:
    """Whether a file was written to once the session that kept this was dead.

    One that kept nothing tells nothing.
    """
    try:
        last_ns = path.stat().st_mtime_ns
    except OSError:
        return False
    return os.fstat(fd).st_mtime_ns > last_ns + BEATS * PERIOD_S * SECOND_NS


def allowed_sectors(beat: Beat | None, now: WriteCounters) -> bool:
    """Whether no more was written since than the session itself can have written."""
    if beat is None or beat.boot != now.get("boot"):
        return False
    return sectors_written(now) - beat.sectors <= max(LEAST_SECTORS, BEATS * beat.most)
