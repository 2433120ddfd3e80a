"""The user's word that what is on a target may go: `--overwrite ID`."""

from __future__ import annotations

import shlex
from pathlib import Path

from ioplan.lab.census import Census
from ioplan.lab.device import Device
from ioplan.lab.identity import same_wwid
from ioplan.lab.refusal import ConsentError, TargetError


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
