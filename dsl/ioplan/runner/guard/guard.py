"""Whether a target may be written. The default is no."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from ioplan.core.error_kinds import TargetFault
from ioplan.runner.devices.device import Device
from ioplan.runner.devices.identity import (
    Identity,
    differences,
    entry_lines,
    unstable_reason,
)
from ioplan.runner.devices.signatures import SignatureError, signatures
from ioplan.runner.devices.usage import Host, Obstacle
from ioplan.runner.guard.in_use import device_programs, file_uses, partition_uses
from ioplan.runner.guard.shared_lock import NO_PARTICIPANTS, Participants
from ioplan.runner.lab.lab_file import usual_path
from ioplan.target_entry import LabTarget

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
    yield from file_uses(path, status, host, participants)


def file_entry_refusals(entry: LabTarget) -> Iterator[Obstacle]:
    """Why the lab's entry does not permit writing to the file."""
    if entry.serial or entry.wwid or entry.backing_file or entry.nsid:
        what = "it is a file, but the lab's entry for this path is a device"
        yield Obstacle(TargetFault.IDENTITY_MISMATCH, what, "correct the entry")
    elif not entry.writable:
        yield ONLY_READ
