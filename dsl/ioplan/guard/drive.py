"""What backends' drives on files and block devices of this host have in common."""

from __future__ import annotations

import time

from ioplan.backends import ProgressCallback, TargetFacts, ignore_progress
from ioplan.guard.purge.purge import purge
from ioplan.guard.target import Target
from ioplan.job import SECOND_NS


class FileDrive:
    """A file or block device, locked until it is closed; a backend adds `start`."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.facts: TargetFacts = target.facts

    def purge(self, on_progress: ProgressCallback = ignore_progress) -> str:
        """Erase it; returns how. Raises BackendError."""
        return purge(self.target, on_progress)

    def idle(self, pause_ns: int) -> None:
        """Wait."""
        time.sleep(pause_ns / SECOND_NS)

    def check_use(self) -> None:
        """Check that nothing else began to use it. Raises TargetError."""
        self.target.check_use()

    def close(self) -> None:
        """Unlock it."""
        self.target.close()
