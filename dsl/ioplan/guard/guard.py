"""Whether a target may be written. The default is no."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from ioplan.core.error_kinds import TargetFault
from ioplan.devices.backing_file import backing
from ioplan.devices.device import Device
from ioplan.devices.file_id import Key, key_of
from ioplan.devices.identity import (
    Identity,
    differences,
    entry_lines,
    unstable_reason,
)
from ioplan.devices.open_files import Opener, writers
from ioplan.devices.overlay import other_names
from ioplan.devices.signatures import SignatureError, signatures
from ioplan.devices.usage import Host, Obstacle
from ioplan.guard.shared_lock import NO_PARTICIPANTS, Participants, unrelated_openers
from ioplan.lab.lab_file import usual_path
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
PROBE_S = 1.0
"""For so long udev, blkid and losetup may have a device open to probe it."""


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
    for one in _lasting_writers(_related(device), participants):
        yield _open_by(one)
    yield from _partitions(device) if is_own else _content_refusals(device, fd)


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
    wanted: dict[Key, str], participants: Participants
) -> list[Opener]:
    """Not those that only probe: losetup opens each free loop device for that."""
    deadline_s = time.monotonic() + PROBE_S
    while found := unrelated_openers(writers(wanted), participants):
        if time.monotonic() > deadline_s:
            break
        time.sleep(0.01)
    return found


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
        yield from _partitions(device)


def _partitions(device: Device) -> Iterator[Obstacle]:
    if device.partitions:
        names = ", ".join(one.name for one in device.partitions)
        forget = f"if they are stale: partx --delete {device.node}"
        yield Obstacle(TargetFault.PARTITIONS, f"has partitions: {names}", forget)


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
    files = other_names(path) | {key_of(status): ""}
    for file in files:
        yield from host.file_obstacles(file)
    yield from map(_open_by, unrelated_openers(writers(files), participants))


def file_entry_refusals(entry: LabTarget) -> Iterator[Obstacle]:
    """Why the lab's entry does not permit writing to the file."""
    if entry.serial or entry.wwid or entry.backing_file or entry.nsid:
        what = "it is a file, but the lab's entry for this path is a device"
        yield Obstacle(TargetFault.IDENTITY_MISMATCH, what, "correct the entry")
    elif not entry.writable:
        yield ONLY_READ
