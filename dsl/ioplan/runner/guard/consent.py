"""What the user has said may be overwritten.

`--overwrite ID` names a target, so that none is mistaken for another. Where data is
seen on it, that is not enough: `--overwrite-data ID` says that the data may go.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from pathlib import Path

from ioplan.backends.backend import TargetRequest
from ioplan.core.error_kinds import TargetFault
from ioplan.runner.devices.device import Device
from ioplan.runner.devices.identity import Identity, same_wwid
from ioplan.runner.devices.inventory import Inventory
from ioplan.runner.guard.errors import ConsentError, TargetError, consent_option


def check_device_consent(
    device: Device,
    inventory: Inventory,
    request: TargetRequest,
    data: str = "",
    what: str = "",
) -> None:
    """One of the words must name this device and no other. Raises TargetError."""
    identity, id = inventory.identity(device), inventory.id(device)
    words = _words(request, data)
    if _is_named(device, inventory, words):
        return
    shared = next((word for word in words if _may_name(word, identity)), None)
    if shared:
        text = _ambiguous_text(shared, id, inventory)
        raise TargetError(text, TargetFault.AMBIGUOUS)
    model = f", {identity.model}" if identity.model else ""
    what = what or f"{device.node} is a block device{model}"
    raise consent_error(what, id, data)


def gives_up_device(
    device: Device, inventory: Inventory, request: TargetRequest
) -> bool:
    """Whether the data on it may go, whatever it is."""
    return _is_named(device, inventory, request.overwrite_data)


def gives_up_file(path: Path, request: TargetRequest) -> bool:
    """Whether the data in it may go, whatever it is."""
    return any(_is_path(word, path) for word in request.overwrite_data)


def _is_named(device: Device, inventory: Inventory, words: Iterable[str]) -> bool:
    id = inventory.id(device)
    shared = _is_shared(device, inventory)
    wwid = "" if shared else inventory.identity(device).wwid
    return any(word == id or _names(word, id, wwid) for word in words)


def check_file_consent(
    path: Path, what: str, request: TargetRequest, data: str = ""
) -> None:
    """One of the words must be the file's path. Raises ConsentError."""
    if not any(_is_path(word, path) for word in _words(request, data)):
        raise consent_error(f"{path} is {what}", str(path), data)


def consent_error(what: str, id: str, data: str = "") -> ConsentError:
    """What would be overwritten, and how the user can consent."""
    option = consent_option(bool(data))
    seen = f"; {data}" if data else ""
    text = (
        f"the plan writes, and {what}{seen}: all data on it would be lost; to allow "
        f"this, add {option} {shlex.quote(id)}"
    )
    return ConsentError(text, id, data=bool(data))


def _words(request: TargetRequest, data: str) -> tuple[str, ...]:
    """Who gives up the data on a target has named the target."""
    if data:
        return request.overwrite_data
    return (*request.overwrite, *request.overwrite_data)


def _names(word: str, id: str, wwid: str) -> bool:
    """Paths and world-wide names have several spellings."""
    if wwid and same_wwid(word, wwid):
        return True
    path = id if id.startswith("/") else f"/dev/{id}"
    return word.startswith("/") and _is_path(word, Path(os.path.realpath(path)))


def _is_path(word: str, path: Path) -> bool:
    """Whether it leads to a path without links; links in a circle lead nowhere."""
    return Path(os.path.realpath(word)) == path


def _is_shared(device: Device, inventory: Inventory) -> bool:
    """Whether another drive has its world-wide name: some makers give all the same."""
    wwid = inventory.identity(device).wwid
    return any(
        same_wwid(other.wwid, wwid)
        for one, other in inventory.identities.items()
        if one.disk != device.disk
    )


def _may_name(word: str, identity: Identity) -> bool:
    return word in identity.names[:-1] or same_wwid(word, identity.wwid)


def _ambiguous_text(word: str, id: str, inventory: Inventory) -> str:
    nodes = (one.kernel for one in inventory.all if _may_name(word, one))
    return (
        f"--overwrite {shlex.quote(word)} names several devices: {', '.join(nodes)}; "
        f"for this one use --overwrite {shlex.quote(id)}"
    )
