"""Whether a target may be written. The default is no."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ioplan.core.error_kinds import TargetFault
from ioplan.language.quantity import size_text
from ioplan.runner.content.scan import GONE
from ioplan.runner.devices.device import Device
from ioplan.runner.devices.file_id import Key, key_of
from ioplan.runner.devices.identity import (
    Identity,
    backing,
    differences,
    entry_lines,
    unstable_reason,
)
from ioplan.runner.devices.inventory import Host, Obstacle
from ioplan.runner.devices.mounts import other_names
from ioplan.runner.devices.open_files import Opener, unseen, writers
from ioplan.runner.devices.proc import own_pid
from ioplan.runner.devices.signatures import SignatureError, signatures
from ioplan.runner.guard.errors import TargetError
from ioplan.runner.guard.output import is_of_results
from ioplan.runner.guard.shared_lock import (
    NO_PARTICIPANTS,
    Participants,
    unrelated_openers,
)
from ioplan.runner.lab.lab_file import usual_path
from ioplan.target_entry import LabTarget

# What uses a target: asked before it is written to, and again during a session.

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
        self.size_bytes = os.fstat(fd).st_size
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
            if self.is_resized(self.fd):
                yield self._resized(status.st_size)
            yield from file_uses(self.path, status, Host(), self.participants)
        elif self.device.folder.is_dir():  # of a drive that is lost, the I/O tells
            yield from Host().obstacles(self.device)
            yield from partition_uses(self.device)
            yield from device_programs(self.device, self.participants)

    def is_resized(self, fd: int) -> bool:
        """Whether a file has another size than it was opened with."""
        return self.device is None and os.fstat(fd).st_size != self.size_bytes

    def _resized(self, now_bytes: int) -> Obstacle:
        sizes = f"{size_text(self.size_bytes)}, and is {size_text(now_bytes)} now"
        what = f"was {sizes}: another program wrote to it or cut it"
        instead = "what is on it may be that program's: look before it is used again"
        return Obstacle(TargetFault.OPEN_ELSEWHERE, what, instead)


IN_USE = Obstacle(
    TargetFault.IN_USE,
    "is in use: mounted, used as swap or opened by a program that this user may not "
    "see",
    "release it first; root can see which program uses it",
)
ONLY_READ = Obstacle(
    TargetFault.NOT_WRITABLE,
    "the lab file does not permit writing to it",
    "to permit it, set writable = true in its entry",
)


def refusals(device: Device, host: Host) -> Iterator[Obstacle]:
    """Obstacles that no lab can permit, found without opening the device."""
    if device.read_only:
        instead = f"to make it writable: blockdev --setrw {device.node}"
        yield Obstacle(TargetFault.WRITE_PROTECTED, "is read-only", instead)
    if (zoned := device.disk.text("queue/zoned")) not in ("", "none"):
        what = f"has zones ({zoned}), and ioplan does not write zones sequentially"
        instead = "use it only with plans that only read"
        yield Obstacle(TargetFault.ZONED, what, instead)
    yield from host.obstacles(device)


def open_refusals(
    device: Device,
    fd: int,
    participants: Participants = NO_PARTICIPANTS,
    is_own: bool = False,
) -> Iterator[Obstacle]:
    """Obstacles that only show once the device is open.

    `participants` are those of a session of several hosts. Noise that is ioplan's own
    may look like a signature of two bytes.
    """
    yield from device_programs(device, participants)
    yield from partition_uses(device) if is_own else _content_refusals(device, fd)


def _content_refusals(device: Device, fd: int) -> Iterator[Obstacle]:
    erase = f"if it is not needed: wipefs --all {device.node}"
    try:
        found = signatures(fd)
    except SignatureError as error:
        what, _, instead = str(error).rpartition("; ")
        what = f"may contain data: {what}" if what else str(error)
        yield Obstacle(TargetFault.CONTENT_UNKNOWN, what, instead or erase)
        return
    if found:
        yield Obstacle(
            TargetFault.SIGNATURE, f"has data on it: {', '.join(found)}", erase
        )
    else:
        yield from partition_uses(device)


def entry_refusals(
    identity: Identity, entry: LabTarget, all: Sequence[Identity]
) -> Iterator[Obstacle]:
    """Why the lab's entry does not permit writing to the device."""
    if wrong := differences(identity, entry):
        what = f"it is not the device in the lab file: {'; '.join(wrong)}"
        instead = "`ioplan targets` lists the devices"
        yield Obstacle(TargetFault.IDENTITY_MISMATCH, what, instead)
    elif weak := unstable_reason(identity, entry, all):
        what, _, instead = weak.partition("; ")
        yield Obstacle(TargetFault.UNSTABLE_NAME, what, instead)
    elif not entry.writable:
        yield ONLY_READ


def no_entry_text(path: Path, identity: Identity, id: str, lab: str | None) -> str:
    """What to add to which lab file, and to the command."""
    file = Path(lab) if lab else usual_path()
    return (
        f"the plan writes, and the lab does not name the block device {path}; to "
        "allow destroying all data on it, add to "
        f"{file}\n\n{entry_lines(identity)}\n\nand on the command line: --overwrite "
        f"{shlex.quote(id)}"
    )


def file_refusals(
    path: Path,
    status: os.stat_result,
    host: Host,
    participants: Participants = NO_PARTICIPANTS,
) -> Iterator[Obstacle]:
    """Obstacles that neither the lab nor `--overwrite` can permit.

    `participants` are those of a session of several hosts.
    """
    if status.st_nlink > 1:
        what = f"has {status.st_nlink} hard links, and all would be overwritten"
        yield Obstacle(TargetFault.HARD_LINKS, what, "use a file with one link")
    if is_of_results(path):
        what = "is a store of ioplan's results, or a part of one"
        yield Obstacle(TargetFault.RESULTS, what, "name another file")
    yield from file_uses(path, status, host, participants)


def file_entry_refusals(entry: LabTarget) -> Iterator[Obstacle]:
    """Why the lab's entry does not permit writing to the file."""
    if entry.serial or entry.wwid or entry.backing_file or entry.nsid:
        what = "it is a file, but the lab's entry for this path is a device"
        yield Obstacle(TargetFault.IDENTITY_MISMATCH, what, "correct the entry")
    elif not entry.writable:
        yield ONLY_READ
