"""Whether a target holds data that nobody has given up."""

from __future__ import annotations

import os
from pathlib import Path

from ioplan.backends import TargetFacts, TargetRequest
from ioplan.devices.backing_file import backing
from ioplan.devices.device import Device
from ioplan.devices.facts import file_facts
from ioplan.devices.inventory import Inventory
from ioplan.guard.consent import check_device_consent, check_file_consent
from ioplan.guard.kept_ends import keep_ends
from ioplan.guard.known_content import KnownContent, known_content
from ioplan.guard.scratch_file import foreign_content, is_unchanged_scratch

DATA_IN_SCRATCH = "a scratch file that now contains data"


def check_device_data(
    device: Device,
    fd: int,
    facts: TargetFacts,
    inventory: Inventory,
    request: TargetRequest,
) -> KnownContent | None:
    """What is known of the device from now on. Raises TargetError.

    Of hosts that use it together only the first looks: it prepares the target before
    the others open it.
    """
    if not request.leads:
        check_device_consent(device, inventory, request)
        return None
    known = known_content(facts)
    check_device_consent(device, inventory, request, known.foreign(fd))
    _check_image(device, inventory, request)
    keep_ends(fd, facts, request.folder)
    known.agree()
    return known


def _check_image(device: Device, inventory: Inventory, request: TargetRequest) -> None:
    """A loop device may show a part of a file: who uses the rest loses that part."""
    under = backing(device)
    if under is None or not under.path:
        return
    fd = os.open(under.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        facts = file_facts(Path(under.path), fd)
        if facts.capacity_bytes <= device.size_bytes:
            return
        known = known_content(facts)
        what = f"{device.node} is a part of {under.path}"
        check_device_consent(device, inventory, request, known.foreign(fd), what)
        known.agree()
    finally:
        os.close(fd)


def check_file_data(
    path: Path, fd: int, facts: TargetFacts, request: TargetRequest
) -> KnownContent | None:
    """What is known of the file from now on. Raises TargetError.

    A scratch file that nobody has written to since has ioplan's data in it.
    """
    if not request.leads or is_unchanged_scratch(fd, path):
        return None
    known = known_content(facts)
    data, what = known.foreign(fd), foreign_content(fd, path)
    if data or what:
        check_file_consent(path, what or DATA_IN_SCRATCH, request, data)
        keep_ends(fd, facts, request.folder)
    known.agree()
    return known
