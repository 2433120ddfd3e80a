"""A lab file's word on one target: which device it is, and what may be done to it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import (
    Discriminator,
    Field,
    StrictBool,
    StrictInt,
    StringConstraints,
    Tag,
    model_validator,
)

from ioplan.core.model import Model

PurgeWay = Literal["discard", "format", "sanitize", "zeros"]
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
DEVICE = "{device}"
Positive = Annotated[StrictInt, Field(ge=1)]

NAMING = ("path", "serial", "wwid", "backing_file")
"""The keys of which one is needed; `model`, `nsid` and `partition` narrow it down."""


class PowerMeter(Model):
    """`command`, a program and its words, prints the watts of now and ends."""

    command: Annotated[tuple[Words, ...], Field(min_length=1)]


class PurgeCommand(Model):
    """`command`, a program and its words, erases `{device}` and ends with 0."""

    command: Annotated[tuple[Words, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _says_what(self) -> Self:
        if not any(DEVICE in word for word in self.command[1:]):
            raise ValueError(f"no word of it has {DEVICE}, which it is to erase")
        return self


WAY, TABLE = "[way]", "[table]"


def _sort_of(purge: object) -> str:
    return TABLE if isinstance(purge, dict | PurgeCommand) else WAY


Purge = Annotated[
    Annotated[PurgeWay, Tag(WAY)] | Annotated[PurgeCommand, Tag(TABLE)],
    Discriminator(_sort_of),
]


class LabTarget(Model):
    """`[targets.NAME]`: every identity that it gives must fit.

    `path` is a link such as those in /dev/disk/by-id, a file, or an address that
    only a backend knows, such as `nvme:pcie:0000:01:00.0`. `host` is where it is, or
    `hosts` are those that share it, the first of which prepares it; targets of a host
    with the same `lock` are used one after the other. `power` is a meter of its own.
    """

    path: Words | None = None
    serial: Words | None = None
    nsid: Positive | None = None
    partition: Positive | None = None
    wwid: Words | None = None
    model: Words | None = None
    backing_file: Words | None = None
    writable: StrictBool = False
    purge: Purge = "discard"
    power: PowerMeter | None = None
    host: Words | None = None
    hosts: tuple[Words, ...] = ()
    lock: Words | None = None

    @model_validator(mode="after")
    def _names_one(self) -> Self:
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
