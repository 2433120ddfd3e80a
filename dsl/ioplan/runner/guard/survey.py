"""All devices of this host, and what `ioplan targets` says of each."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Literal

from ioplan.core.error_kinds import TargetFault
from ioplan.core.model import Model
from ioplan.records.telemetry import Log
from ioplan.runner.devices.device import Device, NoDevice
from ioplan.runner.devices.identity import Identity, firmware_of
from ioplan.runner.devices.inventory import Inventory, Obstacle, holder_kind
from ioplan.runner.devices.signatures import SignatureError, signatures
from ioplan.runner.guard.guard import IN_USE, entry_refusals, open_refusals, refusals
from ioplan.runner.lab.lab import Lab
from ioplan.target_entry import LabTarget

Verdict = Literal["writable", "readable", "refused"]


class Surveyed(Model):
    """A device that is here, or a target of the lab that is not.

    `id` is what `--overwrite` takes; `reason` says why it is not writable, and `kind`
    names that for programs. `smart` is its SMART log, where that was asked for.
    """

    name: str = ""
    id: str = ""
    path: str = ""
    identity: Identity | None = None
    firmware: str = ""
    smart: Log = {}
    size_bytes: int = 0
    holds: list[str] = []
    verdict: Verdict
    kind: TargetFault | None = None
    reason: str = ""


def survey(lab: Lab) -> Iterator[Surveyed]:
    """All devices that are here, then the lab's targets that are not."""
    inventory, here = Inventory(), set[str]()
    for device in inventory.identities:
        names = inventory.lab_names(device, lab.here)
        here.update(names)
        with suppress(NoDevice):  # removed since the list was made
            yield _device(device, names, lab, inventory)
    for name, entry in lab.here.items():
        if name not in here and (not entry.path or entry.path.startswith("/dev/")):
            yield _absent(name, entry, inventory)


def _device(
    device: Device, names: list[str], lab: Lab, inventory: Inventory
) -> Surveyed:
    holds, fd = _open(device)
    try:
        why = next(_obstacles(device, fd, names, lab, inventory), None)
        if fd is not None:
            holds = _holds(device, fd)
    finally:
        if fd is not None:
            os.close(fd)
    return Surveyed(
        name=", ".join(names),
        id=inventory.id(device),
        path=str(device.node),
        identity=inventory.identity(device),
        firmware=firmware_of(device),
        size_bytes=device.size_bytes,
        holds=holds,
        verdict=_verdict(why, fd),
        kind=why.kind if why else None,
        reason=why.what if why else "",
    )


def _open(device: Device) -> tuple[list[str], int | None]:
    try:
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
        return [], os.open(device.node, flags)
    except OSError as error:
        return [f"cannot look: {error.strerror}"], None


def _holds(device: Device, fd: int) -> list[str]:
    try:
        found = signatures(fd)
    except SignatureError as error:
        found = [str(error)]
    found += [one.name for one in device.partitions]
    return found + [f"{holder_kind(one)} {one.name}" for one in device.holders]


def _verdict(why: Obstacle | None, fd: int | None) -> Verdict:
    if fd is None:
        return "refused"
    return "readable" if why else "writable"


NOT_OPENED = Obstacle(TargetFault.NO_PERMISSION, "this user cannot open it", "")
ONLY_OPENED = Obstacle(TargetFault.NO_PERMISSION, "this user cannot write to it", "")
NOT_NAMED = Obstacle(TargetFault.NO_ENTRY, "the lab does not name it", "")
NAMED_TWICE = Obstacle(TargetFault.AMBIGUOUS, "the lab has several names for it", "")


def _obstacles(
    device: Device, fd: int | None, names: list[str], lab: Lab, inventory: Inventory
) -> Iterator[Obstacle]:
    """Why it may not be written, in the order in which opening it finds out."""
    yield from refusals(device, inventory.host)
    if fd is None:
        yield NOT_OPENED
        return
    yield from open_refusals(device, fd)
    if not names:
        yield NOT_NAMED
    elif len(names) > 1:
        yield NAMED_TWICE
    identity = inventory.identity(device)
    for name in names:
        yield from entry_refusals(identity, lab.targets[name], inventory.all)
    if not os.access(device.node, os.W_OK):
        yield ONLY_OPENED
    if _is_held(device):
        yield IN_USE


def _is_held(device: Device) -> bool:
    """Asked last, and so of the lab's devices only: it blocks mounts for a moment."""
    try:
        flags = os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC
        os.close(os.open(device.node, flags))
    except OSError as error:
        return error.errno == errno.EBUSY
    return False


def _absent(name: str, entry: LabTarget, inventory: Inventory) -> Surveyed:
    id = entry.serial or entry.wwid or entry.backing_file or entry.path or ""
    kind, reason = TargetFault.NOT_FOUND, "it is not present"
    if near := next(inventory.nearly_matching(entry), None):
        device, wrong = near
        kind = TargetFault.IDENTITY_MISMATCH
        reason = f"{device.node} is another one: {'; '.join(wrong)}"
    return Surveyed(name=name, id=id, verdict="refused", kind=kind, reason=reason)
