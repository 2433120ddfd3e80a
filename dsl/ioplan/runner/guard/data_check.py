"""Why a target is free to write: the evidence, or the person who gives up its data.

A drive is free when its content is ioplan's own, when the drive itself says that
nothing was written since it was sanitized, or when a full read found it constant. Else
it holds somebody's data until `--overwrite-data` says otherwise.
"""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from ioplan.backends.backend import TargetRequest
from ioplan.core.error_kinds import TargetFault
from ioplan.runner.content.target_map import map_of
from ioplan.runner.devices.device import Device
from ioplan.runner.devices.facts import file_facts
from ioplan.runner.devices.identity import backing
from ioplan.runner.devices.inventory import Inventory
from ioplan.runner.devices.nvme import LOG_BYTES, LOG_PAGE, Nvme, NvmeError, SanitizeLog
from ioplan.runner.guard.consent import (
    check_device_consent,
    check_file_consent,
    gives_up_device,
    gives_up_file,
)
from ioplan.runner.guard.errors import TargetError, UnreadError, os_reason
from ioplan.runner.guard.full_read import CONSTANT, find_data, parts_to_read
from ioplan.runner.guard.kept_ends import keep_ends
from ioplan.runner.guard.known_content import DISCARDED, KnownContent
from ioplan.runner.guard.scratch_file import has_mark

GIVEN_UP = "--overwrite-data was given for it"
FOREIGN = "a file that ioplan did not create"
CHANGED = "a scratch file that another program has written to"
KILLED_UNSEEN = (
    "a scratch file whose last session was killed, and what was written to it since is "
    "unknown"
)
UNKNOWN = "a scratch file of whose content this user's state folder knows nothing"
AT_ONCE_BYTES = 1 << 30
"""So much is read without a word; of more the progress is shown."""


class Free(Struct, frozen=True):
    """What is known of a target that may be written, and why it may."""

    why: str
    known: KnownContent | None = None


def check_device_data(
    device: Device,
    fd: int,
    known: KnownContent,
    why: str,
    inventory: Inventory,
    request: TargetRequest,
) -> Free:
    """Why a device is free to write; `why` is the proof so far. Raises TargetError."""
    why = why or sanitized(device, fd)
    data = "" if why else _data_on(fd, known)
    check_device_consent(device, inventory, request, data)
    if not why:
        given = gives_up_device(device, inventory, request)
        why = GIVEN_UP if given else _read_whole(fd, known)
    _check_image(device, inventory, request)
    keep_ends(fd, known.facts, request.folder)
    known.begin()
    return Free(why, known)


def _data_on(fd: int, known: KnownContent) -> str:
    """A map of what is seen; empty where nothing is."""
    seen = known.look(fd)
    if not (seen.data or seen.unreadable):
        return ""
    return str(map_of(fd, known.facts.capacity_bytes, known.seed, seen))


def _read_whole(fd: int, known: KnownContent) -> str:
    """The proof that it is constant. Raises UnreadError where that takes long."""
    parts = parts_to_read(fd, known.facts.capacity_bytes)
    if sum(end - start for start, end in parts) > AT_ONCE_BYTES:
        raise UnreadError(known.facts)
    try:
        found = find_data(fd, known)
    except OSError as error:
        text = f"{known.facts.path} may contain data: {os_reason(error)}"
        raise TargetError(text, TargetFault.CONTENT_UNKNOWN) from None
    if found is not None:
        raise UnreadError(known.facts, found)
    return CONSTANT


def _check_image(device: Device, inventory: Inventory, request: TargetRequest) -> None:
    """A loop device may show a part of a file: who uses the rest loses that part."""
    under = backing(device)
    if under is None or not under.path:
        return
    fd = os.open(under.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        facts = file_facts(Path(under.path), fd)
        if facts.capacity_bytes > device.size_bytes:
            data = _data_on(fd, KnownContent(facts))
            what = f"{device.node} is a part of {under.path}"
            check_device_consent(device, inventory, request, data, what)
    finally:
        os.close(fd)


def check_file_data(
    path: Path, fd: int, known: KnownContent, why: str, request: TargetRequest
) -> Free:
    """Why a file is free to write; `why` is the proof so far. Raises TargetError."""
    if not (why and known.scratch):
        data = "" if why else _data_on(fd, known)
        check_file_consent(path, _described(fd, known), request, data)
        known.scratch = False
        if not why:
            why = GIVEN_UP if gives_up_file(path, request) else _read_whole(fd, known)
        keep_ends(fd, known.facts, request.folder)
    known.begin()
    return Free(why, known)


def _described(fd: int, known: KnownContent) -> str:
    if known.kept is None:
        return UNKNOWN if has_mark(fd) else FOREIGN
    if not known.scratch:
        return FOREIGN
    return KILLED_UNSEEN if known.kept.writing else CHANGED


SANITIZED = "its sanitize log says that nothing was written since it was sanitized"

OF_OTHERS = (GIVEN_UP, CONSTANT, SANITIZED, DISCARDED)


def changed_by_others(evidence: str) -> bool:
    """Whether a target is free to write for another reason than that all on it is what
    ioplan left there: what is known of its state holds no more."""
    return any(one in evidence for one in OF_OTHERS)


def sanitized(device: Device, fd: int) -> str:
    """Why it is empty; nothing of a partition, or of a drive without that log."""
    if device.partition or not device.disk.text("nsid"):
        return ""
    try:
        log = SanitizeLog.of(Nvme(fd).log(LOG_PAGE, LOG_BYTES))
    except (NvmeError, OSError):
        return ""
    return SANITIZED if log.is_erased and not log.trouble else ""
