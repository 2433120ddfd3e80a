"""Whether a drive that the kernel does not have may be written.

Its content cannot be examined, and no other user of it is known. So the lab has to
identify the drive, and a person has to give up the data that it may hold.
"""

from __future__ import annotations

from ioplan.backends.backend import TargetFacts, TargetRequest
from ioplan.core.error_kinds import TargetFault
from ioplan.runner.devices.identity import Identity, differences, same_wwid
from ioplan.runner.guard.consent import consent_error
from ioplan.runner.guard.data_check import GIVEN_UP
from ioplan.runner.guard.errors import TargetError
from ioplan.runner.guard.guard import ONLY_READ
from ioplan.runner.lab.lab_file import usual_path

UNSEEN = "its content cannot be read while the kernel does not have it"


def check_lab(request: TargetRequest) -> None:
    """Check the lab's entry before the drive is attached. Raises TargetError."""
    if not request.writes:
        return
    if request.entry is None or not request.entry.serial:
        raise TargetError(_no_entry_text(request), TargetFault.NO_ENTRY)
    if not request.entry.writable:
        raise TargetError(
            f"cannot write to {request.path}: {ONLY_READ}", ONLY_READ.kind
        )


def _no_entry_text(request: TargetRequest) -> str:
    return (
        "the plan writes, and the lab file does not identify the drive "
        f"{request.path}; to allow destroying all data on it, add to "
        f"{request.lab or usual_path()}\n\n"
        f'[targets.NAME]\npath = "{request.path}"\nserial = "its serial number"\n'
        f"writable = true\n\nand on the command line: --overwrite-data SERIAL/NSID"
    )


def check_drive(facts: TargetFacts, request: TargetRequest) -> str:
    """Why the attached drive may be written; empty if it is only read.

    Raises TargetError.
    """
    reported = facts.identity
    identity = Identity(
        kernel=facts.path,
        serial=reported.get("serial", ""),
        nsid=int(reported.get("nsid", 1)),
        wwid=reported.get("wwid", ""),
        model=reported.get("model", ""),
    )
    _check_identity(identity, request)
    if not request.writes:
        return ""
    _check_consent(identity, request.overwrite_data)
    return GIVEN_UP


def _check_identity(identity: Identity, request: TargetRequest) -> None:
    if request.entry:
        entry = request.entry.model_copy(update={"path": None})
        for wrong in differences(identity, entry):
            raise TargetError(
                f"{request.path} is not the drive in the lab file: {wrong}; correct "
                "the lab or the address",
                TargetFault.IDENTITY_MISMATCH,
            )


def _check_consent(identity: Identity, given_up: tuple[str, ...]) -> None:
    """The namespace has to be named: which others the drive has is not known."""
    id = f"{identity.serial}/{identity.nsid}"
    if id in given_up or any(
        identity.wwid and same_wwid(word, identity.wwid) for word in given_up
    ):
        return
    raise consent_error(f"{identity.kernel} is a drive, {identity.model}", id, UNSEEN)
