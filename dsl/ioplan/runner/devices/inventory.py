"""The block devices of this host, and which of them a lab's entry names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property

from ioplan.runner.devices.device import Device, NoDevice
from ioplan.runner.devices.identity import (
    Identity,
    differences,
    id_of,
    identity_of,
    matches_partly,
)
from ioplan.runner.devices.usage import Host
from ioplan.target_entry import LabTarget


class Inventory:
    """All block devices of this host with their identities, at one moment."""

    def __init__(self) -> None:
        self.host = Host()

    @cached_property
    def identities(self) -> dict[Device, Identity]:
        """The identity of each device that has a size, and is still there."""
        found: dict[Device, Identity] = {}
        for one in self.host.devices:
            with suppress(NoDevice):  # removed since the list was made
                found[one] = identity_of(one)
        return found

    @property
    def all(self) -> list[Identity]:
        """All identities."""
        return list(self.identities.values())

    def identity(self, device: Device) -> Identity:
        """The identity of a device, also of one without a size."""
        return self.identities.get(device) or identity_of(device)

    def id(self, device: Device) -> str:
        """The ID that `ioplan targets` shows and `--overwrite` takes."""
        return id_of(self.identity(device), self.all)

    def matching(self, entry: LabTarget) -> list[Device]:
        """The devices that match all keys of a lab's entry."""
        return [
            device
            for device, identity in self.identities.items()
            if not differences(identity, entry)
        ]

    def nearly_matching(self, entry: LabTarget) -> Iterator[tuple[Device, list[str]]]:
        """The devices that match one of its names, and in what each differs."""
        for device, identity in self.identities.items():
            if matches_partly(identity, entry):
                yield device, differences(identity, entry)

    def lab_names(self, device: Device, targets: Mapping[str, LabTarget]) -> list[str]:
        """The names of the lab's targets that match a device."""
        identity = self.identity(device)
        return [
            name for name, entry in targets.items() if not differences(identity, entry)
        ]
