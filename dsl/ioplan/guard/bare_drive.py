"""Whether a drive that the kernel does not have may be written.

What is on it cannot be looked at, nor can anyone else be using it; so it has to
be the drive that the lab names, and the user has to name it as well.
"""

from __future__ import annotations

import shlex

from ioplan.backends import TargetFacts, TargetRequest
from ioplan.devices.identity import Identity, differences, same_wwid
from ioplan.guard.errors import ConsentError, TargetError
from ioplan.guard.guard import ONLY_READ
from ioplan.lab.lab_file import usual_path


def check_lab(request: TargetRequest) -> None:
    """Before it is attached. Raises TargetError."""
    if request.writes and (request.entry is None or not request.entry.serial):
        raise TargetError(
            f"the plan writes, and the lab does not say which drive {request.path} is; "
            f"if all that is stored on it may be lost, add to "
            f"{request.lab or usual_path()}\n\n[targets.NAME]\n"
            f'path = "{request.path}"\nserial = "its serial number"\n'
            f"writable = true\n\nand to the command: --overwrite SERIAL/NSID"
        )
    if request.writes and request.entry and not request.entry.writable:
        raise TargetError(f"{request.path} is not written: {ONLY_READ}")


def check_drive(facts: TargetFacts, request: TargetRequest) -> None:
    """What it says of itself, once it is attached. Raises TargetError."""
    said = facts.identity
    identity = Identity(
        kernel=facts.path,
        serial=said.get("serial", ""),
        nsid=int(said.get("nsid", 1)),
        wwid=said.get("wwid", ""),
        model=said.get("model", ""),
    )
    _check_identity(identity, request)
    if request.writes:
        _check_consent(identity, request.overwrite)


def _check_identity(identity: Identity, request: TargetRequest) -> None:
    if request.entry:
        entry = request.entry.model_copy(update={"path": None})
        for wrong in differences(identity, entry):
            raise TargetError(
                f"{request.path} is not the drive that the lab names: {wrong}; "
                f"correct the lab or the address"
            )


def _check_consent(identity: Identity, said: tuple[str, ...]) -> None:
    """With the namespace: which others the drive has is not known here."""
    id = f"{identity.serial}/{identity.nsid}"
    if id in said or any(
        identity.wwid and same_wwid(word, identity.wwid) for word in said
    ):
        return
    raise ConsentError(
        f"the plan writes, and {identity.kernel} is a drive, {identity.model}: all "
        f"that is stored there would be lost; to allow that, add --overwrite "
        f"{shlex.quote(id)}",
        id,
    )
