"""A target's entry in a lab file: which device it is, and what may be done to it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, StringConstraints, Tag, model_validator

from ioplan.core.model import Model

PurgeMethod = Literal["discard", "format", "sanitize", "zeros"]
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
DEVICE = "{device}"
Positive = Annotated[int, Field(strict=True, ge=1)]
Switch = Annotated[bool, Field(strict=True)]
CPUS = r"\d{1,4}(-\d{1,4})?"
CpuList = Annotated[str, Field(pattern=rf"^{CPUS}(,{CPUS})*$")]
"""CPUs as the kernel writes them, such as `2-5,8`."""

NAMING = ("path", "serial", "wwid", "backing_file")
"""One of these keys is needed; `model`, `nsid` and `partition` narrow it down."""


class PowerMeter(Model):
    """`command`, a program and its arguments, prints the present watts and ends."""

    command: Annotated[tuple[Words, ...], Field(min_length=1)]


class PurgeCommand(Model):
    """`command`, a program and its arguments, erases `{device}` and exits with 0."""

    command: Annotated[tuple[Words, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _erases_the_device(self) -> Self:
        if not any(DEVICE in word for word in self.command[1:]):
            raise ValueError(f"none of its arguments has {DEVICE}, the device to erase")
        return self


Command = Annotated[tuple[Words, ...], Field(min_length=1)]
"""A program and its arguments."""
Duration = Annotated[str, Field(pattern=r"^\d+(\.\d+)?(ms|s|min|h)$")]


class PowerControl(Model):
    """Commands on this host: `off` cuts the target's power, `on` gives it back.

    Each has to end within `timeout`, and the target to answer again within `back`;
    after `settle` I/O goes on.
    """

    off: Command
    on: Command
    settle: Duration = "0s"
    back: Duration = "5min"
    timeout: Duration = "1min"


METHOD, TABLE = "[method]", "[table]"


def _tag_of(purge: object) -> str:
    return TABLE if isinstance(purge, dict | PurgeCommand) else METHOD


Purge = Annotated[
    Annotated[PurgeMethod, Tag(METHOD)] | Annotated[PurgeCommand, Tag(TABLE)],
    Discriminator(_tag_of),
]


class LabTarget(Model):
    """`[targets.NAME]`: the device has to match every key that identifies it.

    `path` is a link such as those in /dev/disk/by-id, a file, or an address that
    only a backend knows, such as `nvme:pcie:0000:01:00.0`. `cannot_see_users` says
    that nothing else uses it, though that cannot be seen there. `host` says where the
    target is, `hosts` lists those that share it, the first of which prepares it.
    Targets of a host with the same `lock` are used one at a time. `power` is the
    target's own power meter, `power_control` what cuts its power; `cpus`
    are those that its I/O is done on.
    """

    path: Words | None = None
    serial: Words | None = None
    nsid: Positive | None = None
    partition: Positive | None = None
    wwid: Words | None = None
    model: Words | None = None
    backing_file: Words | None = None
    writable: Switch = False
    cannot_see_users: Switch = False
    purge: Purge = "discard"
    power: PowerMeter | None = None
    power_control: PowerControl | None = None
    cpus: CpuList | None = None
    host: Words | None = None
    hosts: tuple[Words, ...] = ()
    lock: Words | None = None

    @model_validator(mode="after")
    def _names_a_device(self) -> Self:
        if not any(getattr(self, key) for key in NAMING):
            raise ValueError(
                "it names no device; add its serial, wwid, path or backing_file, as "
                "`ioplan targets --json` shows them"
            )
        if self.host and self.hosts:
            raise ValueError("it says host and hosts; keep hosts if several share it")
        if len(set(self.hosts)) < len(self.hosts):
            raise ValueError("it names a host twice; name each once")
        return self
