"""What `ioplan targets` knows of each device, and what may be done to it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from typing import Literal

from ioplan.core.model import Model
from ioplan.devices.device import Device
from ioplan.devices.identity import Identity
from ioplan.devices.inventory import Census
from ioplan.devices.signatures import Unknown, signatures
from ioplan.devices.usage import holder_kind
from ioplan.guard.guard import IN_USE, entry_refusals, open_refusals, refusals
from ioplan.lab.lab import Lab
from ioplan.target_entry import LabTarget

Verdict = Literal["writable", "readable", "refused"]


class Surveyed(Model):
    """A device that is here, or one of the lab that is not.

    `id` is what `--overwrite` takes, `reason` why it is not writable.
    """

    name: str = ""
    id: str = ""
    path: str = ""
    identity: Identity | None = None
    size_bytes: int = 0
    holds: list[str] = []
    verdict: Verdict
    reason: str = ""


def survey(lab: Lab) -> Iterator[Surveyed]:
    """All devices here, then what the lab names and is not here."""
    census, here = Census(), set[str]()
    for device in census.identities:
        names = census.names_of(device, lab.here)
        here.update(names)
        yield _device(device, names, lab, census)
    for name, entry in lab.here.items():
        if name not in here and (not entry.path or entry.path.startswith("/dev/")):
            yield _absent(name, entry, census)


def _device(device: Device, names: list[str], lab: Lab, census: Census) -> Surveyed:
    holds, fd = _open(device)
    try:
        verdict, reason = _verdict(device, fd, names, lab, census)
        if fd is not None:
            holds = _holds(device, fd)
    finally:
        if fd is not None:
            os.close(fd)
    return Surveyed(
        name=", ".join(names),
        id=census.id(device),
        path=str(device.node),
        identity=census.identity(device),
        size_bytes=device.size_bytes,
        holds=holds,
        verdict=verdict,
        reason=reason,
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
    except Unknown as unknown:
        found = [str(unknown)]
    found += [one.name for one in device.partitions]
    return found + [f"{holder_kind(one)} {one.name}" for one in device.holders]


def _verdict(
    device: Device, fd: int | None, names: list[str], lab: Lab, census: Census
) -> tuple[Verdict, str]:
    why = next(_reasons(device, fd, names, lab, census), "")
    if fd is None:
        return "refused", why
    return ("readable", why) if why else ("writable", "")


def _reasons(
    device: Device, fd: int | None, names: list[str], lab: Lab, census: Census
) -> Iterator[str]:
    """Why it may not be written, in the order in which opening finds it."""
    yield from (use.what for use in refusals(device, census.host))
    if fd is None:
        yield "this user may not open it"
        return
    yield from (use.what for use in open_refusals(device, fd))
    if not names:
        yield "the lab does not name it"
    elif len(names) > 1:
        yield "the lab has several names for it"
    identity = census.identity(device)
    for name in names:
        for reason in entry_refusals(identity, lab.targets[name], census.all):
            yield reason.partition(";")[0]
    if not os.access(device.node, os.W_OK):
        yield "this user may not write to it"
    if _is_held(device):
        yield IN_USE.what


def _is_held(device: Device) -> bool:
    """Asked for the lab's devices only: it keeps a mount away for a moment."""
    try:
        flags = os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC
        os.close(os.open(device.node, flags))
    except OSError as error:
        return error.errno == errno.EBUSY
    return False


def _absent(name: str, entry: LabTarget, census: Census) -> Surveyed:
    near = next(census.nearly_meant_by(entry), None)
    said = entry.serial or entry.wwid or entry.backing_file or entry.path or ""
    if near:
        device, wrong = near
        reason = f"{device.node} is another one: {'; '.join(wrong)}"
    else:
        reason = "it is not here"
    return Surveyed(name=name, id=said, verdict="refused", reason=reason)
