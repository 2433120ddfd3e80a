"""The block devices that are here, and which of them the lab means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from ioplan.devices.device import Device
from ioplan.devices.identity import (
    Identity,
    differences,
    fits_in_part,
    id_of,
    identity_of,
)
from ioplan.devices.usage import Host
from ioplan.target_entry import LabTarget


class Census:
    """All devices of this host with their identities, at one moment."""

    def __init__(self) -> None:
        self.host = Host()

    @cached_property
    def identities(self) -> dict[Device, Identity]:
        """Of each device that has a size."""
        return {one: identity_of(one) for one in self.host.devices}

    @property
    def all(self) -> list[Identity]:
        """All identities."""
        return list(self.identities.values())

    def identity(self, device: Device) -> Identity:
        """Of one, also if it has no size now."""
        return self.identities.get(device) or identity_of(device)

    def id(self, device: Device) -> str:
        """What `ioplan targets` calls it, and `--overwrite` takes."""
        return id_of(self.identity(device), self.all)

    def meant_by(self, entry: LabTarget) -> list[Device]:
        """The devices that fit all that a lab's entry says."""
        return [
            device
            for device, identity in self.identities.items()
            if not differences(identity, entry)
        ]

    def nearly_meant_by(self, entry: LabTarget) -> Iterator[tuple[Device, list[str]]]:
        """The devices that fit a part of it, and what does not fit."""
        for device, identity in self.identities.items():
            if fits_in_part(identity, entry):
                yield device, differences(identity, entry)

    def names_of(self, device: Device, targets: Mapping[str, LabTarget]) -> list[str]:
        """The names that the lab has for a device."""
        identity = self.identity(device)
        return [
            name for name, entry in targets.items() if not differences(identity, entry)
        ]
