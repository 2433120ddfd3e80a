"""Which blocks of a target were written with `verify`, across runs and sessions.

A backend that verifies keeps a map of generations in a file, in the user's state
folder: what it knows of a block must be there when it is read, in whichever store the
session is. Who writes without leaving stamps makes the blocks that it writes unknown,
before it begins.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ioplan.backends.backend import Drive, StampingDrive, TargetFacts
from ioplan.core.state_folder import state_folder
from ioplan.core.system import O_CLOEXEC, O_NOFOLLOW
from ioplan.job import Job
from ioplan.job_stream import JobStream
from ioplan.planner.run_id import digest
from ioplan.results.store.session_folder import make_private
from ioplan.runner.devices.facts import file_identity
from ioplan.runner.guard.purge.kernel import punch_hole
from ioplan.runner.state.state_ledger import target_key

HEADER_BYTES, ENTRY_BYTES = 4096, 16
CUTS_AT = 48
"""Where its header counts the power cuts, in 64 bits."""
FORGOTTEN_AT = 64
"""Where it says, in as many, that stamps may be older than what is known of a block."""
ONE = (1).to_bytes(8, "little")


def _backing(facts: TargetFacts) -> list[str]:
    """What tells the file behind a loop device from a later one of its name."""
    path = facts.identity.get("backing_file")
    if not path:
        return []
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | O_CLOEXEC)
    except OSError:
        return []
    try:
        return list(file_identity(fd).values())
    finally:
        os.close(fd)


def _folder() -> Path:
    return state_folder() / "stamps"


class StampFile:
    """The file of one target."""

    def __init__(self, facts: TargetFacts) -> None:
        self.path = _folder() / digest(target_key(facts), *_backing(facts))

    def before(self, job: Job, drive: Drive) -> None:
        """A run is about to begin. Raises OSError."""
        keeps = isinstance(drive, StampingDrive)
        verifies = keeps and any(stream.verify for stream in job.streams)
        if isinstance(drive, StampingDrive):
            drive.stamps = self._made() if verifies else None
        for stream in job.streams:
            if stream.writes and not (keeps and stream.verify):
                self._forget_region(stream, job.block_bytes)

    def forget(self) -> None:
        """The target is about to be purged. Raises OSError."""
        with suppress(PermissionError):
            self.path.unlink(missing_ok=True)

    def power_was_cut(self) -> None:
        """Note a cut: what was not promised may have older content.

        Raises OSError.
        """
        try:
            fd = os.open(self.path, os.O_RDWR | O_NOFOLLOW | O_CLOEXEC)
        except FileNotFoundError:
            return  # nothing was written with `verify`
        try:
            cuts = int.from_bytes(os.pread(fd, 8, CUTS_AT), "little")
            now = (cuts + 1).to_bytes(8, "little")
            os.pwrite(fd, now, CUTS_AT)
            os.fsync(fd)
        finally:
            os.close(fd)

    def _made(self) -> Path:
        make_private(self.path.parent)
        return self.path

    def _forget_region(self, stream: JobStream, block_bytes: int) -> None:
        start, end = (
            HEADER_BYTES + edge_bytes // block_bytes * ENTRY_BYTES
            for edge_bytes in (stream.region_start_bytes, stream.region_end_bytes)
        )
        try:
            fd = os.open(self.path, os.O_RDWR | O_NOFOLLOW | O_CLOEXEC)
        except (FileNotFoundError, PermissionError):
            return  # what another user keeps is not read for this one, either
        try:
            os.pwrite(fd, ONE, FORGOTTEN_AT)
            with suppress(OSError):
                return punch_hole(fd, start, end - start)
            self.path.unlink()  # a file system without holes: nothing is known
        finally:
            os.close(fd)
