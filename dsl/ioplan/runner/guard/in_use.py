"""What uses a target: asked before it is written to, and again during a session."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from ioplan.core.error_kinds import TargetFault
from ioplan.runner.content.scan import GONE
from ioplan.runner.devices.backing_file import backing
from ioplan.runner.devices.device import Device
from ioplan.runner.devices.file_id import Key, key_of
from ioplan.runner.devices.open_files import Opener, writers
from ioplan.runner.devices.overlay import other_names
from ioplan.runner.devices.proc import own_pid
from ioplan.runner.devices.sight import unseen
from ioplan.runner.devices.usage import Host, Obstacle
from ioplan.runner.guard.errors import TargetError
from ioplan.runner.guard.shared_lock import Participants, unrelated_openers

SEE_ELSEWHERE = (
    "run ioplan where it sees all programs; if you know that nothing uses the target, "
    "add --cannot-see-users, or in the lab file: cannot_see_users = true"
)
PROBE_S = 1.0
"""For so long udev, blkid and losetup may have a device open to probe it."""


def device_programs(device: Device, participants: Participants) -> Iterator[Obstacle]:
    """Programs that can write to the device, its partitions, or what is under it."""
    for one in _lasting_writers(_related(device), participants):
        yield _open_by(one)


def partition_uses(device: Device) -> Iterator[Obstacle]:
    """The partitions that the kernel knows of it."""
    if device.partitions:
        names = ", ".join(one.name for one in device.partitions)
        forget = f"if they are stale: partx --delete {device.node}"
        yield Obstacle(TargetFault.PARTITIONS, f"has partitions: {names}", forget)


def file_uses(
    path: Path, status: os.stat_result, host: Host, participants: Participants
) -> Iterator[Obstacle]:
    """Swap, loop devices, and programs that can write to the file by any name."""
    files = other_names(path) | {key_of(status): ""}
    for file in files:
        yield from host.file_obstacles(file)
    for one in _lasting_writers(files, participants):
        yield _open_by(one)


def _open_by(one: Opener) -> Obstacle:
    what = f"is {one.how} by {one}"
    return Obstacle(TargetFault.OPEN_ELSEWHERE, what, "stop that program first")


def _related(device: Device) -> dict[Key, str]:
    """The device, its partitions, and all under it; with a suffix to name each."""
    found = {one.key: f" as {one.name}" for one in (*device.partitions, *device.below)}
    for one in (device, *device.below):
        if (under := backing(one)) and under.key:
            found[under.key] = f" as {under}"
    return found | {device.key: ""}


def _lasting_writers(
    wanted: Mapping[Key, str], participants: Participants
) -> list[Opener]:
    """Not those that only probe: losetup opens each free loop device for that."""
    deadline_s = time.monotonic() + PROBE_S
    while found := unrelated_openers(writers(wanted), participants):
        if time.monotonic() > deadline_s:
            break
        time.sleep(0.01)
    return found


def unseen_uses() -> Iterator[Obstacle]:
    """What may use any target, and cannot be seen from here."""
    for what in unseen():
        text = f"may be in use: programs that cannot be seen from here may {what}"
        yield Obstacle(TargetFault.UNSEEN, text, SEE_ELSEWHERE)


class UseWatch:
    """Sees what begins to use a target that was free when the session opened it."""

    def __init__(
        self, path: Path, fd: int, device: Device | None, participants: Participants
    ) -> None:
        self.path, self.fd, self.device = path, fd, device
        self.participants = participants._replace(own=own_pid())

    def check(self) -> None:
        """Raises TargetError if something else uses it by now.

        Of a target that is gone the I/O tells.
        """
        try:
            obstacle = next(self._uses(), None)
        except OSError as error:
            if error.errno in GONE:
                return
            raise
        if obstacle:
            text = f"something else began to use the target: {self.path} {obstacle}"
            raise TargetError(text, obstacle.kind)

    def _uses(self) -> Iterator[Obstacle]:
        if self.device is None:
            status = os.fstat(self.fd)
            yield from file_uses(self.path, status, Host(), self.participants)
        elif self.device.folder.is_dir():  # of a drive that is lost, the I/O tells
            yield from Host().obstacles(self.device)
            yield from partition_uses(self.device)
            yield from device_programs(self.device, self.participants)
