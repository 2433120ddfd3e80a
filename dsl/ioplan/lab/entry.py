"""A lab file's word on one target: which device it is, and what may be done to it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, StrictBool, StrictInt, StringConstraints, model_validator

from ioplan.model import Model

PurgeWay = Literal["discard", "format", "sanitize", "zeros"]
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Positive = Annotated[StrictInt, Field(ge=1)]

NAMING = ("path", "serial", "wwid", "backing_file")
"""The keys of which one is needed; `model`, `nsid` and `partition` narrow it down."""


class LabTarget(Model):
    """`[targets.NAME]`: every identity that it gives must fit.

    `path` is a link such as those in /dev/disk/by-id, a file, or an address that
    only a backend knows, such as `nvme:pcie:0000:01:00.0`. `host` is where it is;
    targets of a host with the same `lock` are used one after the other.
    """

    path: Words | None = None
    serial: Words | None = None
    nsid: Positive | None = None
    partition: Positive | None = None
    wwid: Words | None = None
    model: Words | None = None
    backing_file: Words | None = None
    writable: StrictBool = False
    purge: PurgeWay = "discard"
    host: Words | None = None
    lock: Words | None = None

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if not any(getattr(self, key) for key in NAMING):
            raise ValueError(
                "it names no device; add its serial, wwid, path or backing_file, as "
                "`ioplan targets --json` shows them"
            )
        return self
