"""Whether a block device may be written. The default is no."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from ioplan.devices.backing_file import backing
from ioplan.devices.device import Device
from ioplan.devices.file_id import Key, key_of
from ioplan.devices.identity import (
    Identity,
    differences,
    entry_lines,
    same_wwid,
    unstable,
)
from ioplan.devices.inventory import Census
from ioplan.devices.open_files import Opener, writers
from ioplan.devices.signatures import Unknown, signatures
from ioplan.devices.usage import Host, Use
from ioplan.guard.errors import ConsentError, TargetError
from ioplan.guard.shared_lock import strangers
from ioplan.lab.lab_file import usual_path
from ioplan.target_entry import LabTarget

IN_USE = Use(
    "is in use: mounted, swapped to or held by another program that this user may "
    "not see",
    "free it first; root sees what holds it",
)

PASSING_S = 1.0
"""How long udev, blkid and losetup may have a device open when they look in."""

ONLY_READ = "the lab lets it only be read; to change that, set writable = true there"


def refusals(device: Device, host: Host) -> Iterator[Use]:
    """Why it must not be written, whatever the lab says, without opening it."""
    if device.read_only:
        yield Use(
            "is read-only", f"if it is meant to be: blockdev --setrw {device.node}"
        )
    if (zoned := device.disk.text("queue/zoned")) not in ("", "none"):
        yield Use(
            f"has zones ({zoned}), which a plan does not write in their order",
            "a plan that only reads may run on it",
        )
    yield from host.uses(device)


def open_refusals(device: Device, fd: int, session: str = "") -> Iterator[Use]:
    """Why it must not be written, as far as only an open device can tell.

    `session` is one that several hosts have together.
    """
    for one in _lasting_writers(_ways_to(device), session):
        yield Use(f"is {one.how} by {one}", "end that program first")
    yield from _signed(device, fd)


def _ways_to(device: Device) -> dict[Key, str]:
    """Itself, its parts, and what it is a part of or lies on, with what to call it."""
    found = {one.key: f" as {one.name}" for one in (*device.partitions, *device.below)}
    for one in (device, *device.below):
        if (under := backing(one)) and under.key:
            found[under.key] = f" as {under}"
    return found | {device.key: ""}


def _lasting_writers(ways: dict[Key, str], session: str) -> list[Opener]:
    """Without those that only look in: losetup opens each free loop device for one."""
    deadline_s = time.monotonic() + PASSING_S
    while found := strangers(writers(ways), session):
        if time.monotonic() > deadline_s:
            break
        time.sleep(0.01)
    return found


def _signed(device: Device, fd: int) -> Iterator[Use]:
    look = f"look at it, and if it may go for ever: wipefs --all {device.node}"
    try:
        found = signatures(fd)
    except Unknown as unknown:
        what, _, instead = str(unknown).rpartition("; ")
        yield Use(f"may hold data: {what}" if what else str(unknown), instead or look)
        return
    if found:
        yield Use(f"holds data: {', '.join(found)}", look)
    elif device.partitions:
        names = ", ".join(one.name for one in device.partitions)
        forget = f"if they are left over: partx --delete {device.node}"
        yield Use(f"has partitions: {names}", forget)


def entry_refusals(
    identity: Identity, entry: LabTarget, all: Sequence[Identity]
) -> Iterator[str]:
    """Why the lab's word does not let it be written."""
    wrong = differences(identity, entry)
    if wrong:
        yield (
            f"it is not the device that the lab names: {'; '.join(wrong)}; "
            f"`ioplan targets` shows which is where"
        )
    elif weak := unstable(identity, entry, all):
        yield weak
    elif not entry.writable:
        yield ONLY_READ


def no_entry(path: Path, identity: Identity, id: str, lab: str | None) -> str:
    """What to write into which lab file, and what to say then."""
    file = Path(lab) if lab else usual_path()
    return (
        f"the plan writes, and {path} is a block device that the lab does not let be "
        f"written; if all that is stored on it may be lost, add to {file}\n\n"
        f"{entry_lines(identity)}\n\nand to the command: "
        f"--overwrite {shlex.quote(id)}"
    )


def file_refusals(
    status: os.stat_result, host: Host, session: str = ""
) -> Iterator[Use]:
    """Why it must not be written, even if the user has named it.

    `session` is one that several hosts have together.
    """
    if status.st_nlink > 1:
        what = f"has {status.st_nlink} names (hard links), and all would be overwritten"
        yield Use(what, "name a file that has one")
    file = key_of(status)
    yield from host.file_uses(file)
    for one in strangers(writers({file: ""}), session):
        yield Use(f"is {one.how} by {one}", "end that program first")


def lab_refusals(entry: LabTarget) -> Iterator[str]:
    """Why the lab's word does not let it be written."""
    if entry.serial or entry.wwid or entry.backing_file or entry.nsid:
        yield "it is a file, and the lab names a device by that path"
    elif not entry.writable:
        yield ONLY_READ


def check_device_consent(device: Device, census: Census, said: tuple[str, ...]) -> None:
    """The word must name this device and no other. Raises TargetError."""
    identity, id = census.identity(device), census.id(device)
    if any(word == id or _same(word, id, identity.wwid) for word in said):
        return
    shared = next((word for word in said if word in identity.names[:-1]), None)
    if shared:
        raise TargetError(_ambiguous(shared, id, census))
    model = f", {identity.model}" if identity.model else ""
    raise ConsentError(_lost(f"{device.node} is a block device{model}", id), id)


def _same(word: str, id: str, wwid: str) -> bool:
    """Paths and world-wide names have several spellings."""
    if wwid and same_wwid(word, wwid):
        return True
    path = id if id.startswith("/") else f"/dev/{id}"
    return word.startswith("/") and Path(word).resolve() == Path(path).resolve()


def _ambiguous(word: str, id: str, census: Census) -> str:
    nodes = (one.kernel for one in census.all if word in one.names)
    return (
        f"--overwrite {shlex.quote(word)} names several devices: {', '.join(nodes)}; "
        f"for this one write --overwrite {shlex.quote(id)}"
    )


def check_file_consent(path: Path, what: str, said: tuple[str, ...]) -> None:
    """A file is named by its path; `what` is in it. Raises ConsentError."""
    if not any(Path(word).resolve() == path for word in said):
        raise ConsentError(_lost(f"{path} is {what}", str(path)), str(path))


def _lost(what: str, id: str) -> str:
    return (
        f"the plan writes, and {what}: all that is stored there would be lost; "
        f"to allow that, add --overwrite {shlex.quote(id)}"
    )
