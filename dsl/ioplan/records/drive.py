"""The drive that a session ran on, as its label and its lab name it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ioplan.core.model import Model, about

NAMING = ("serial", "model", "firmware", "wwid")
"""What a target's identity may say of its drive."""


class Drive(Model):
    """What is not known is empty; a file has no drive unless the lab names it."""

    serial: str = ""
    model: str = ""
    firmware: str = about("when the session began", "")
    lab_name: str = about("the target's name in the lab file", "")
    wwid: str = about("world-wide name", "")
    capacity_bytes: int = about("of the target, 0 if unknown", 0)

    @property
    def name(self) -> str:
        """What people call it: its name in the lab, else what is on its label."""
        return self.lab_name or self.serial or self.wwid or self.model


def drive_of(target: Mapping[str, Any], lab_name: str = "") -> Drive | None:
    """The drive of a record's `target`; None where nothing identifies one."""
    identity = target.get("identity")
    facts = identity if isinstance(identity, Mapping) else {}
    named = {name: str(facts.get(name) or "") for name in NAMING}
    if not lab_name and not any(named.values()):
        return None
    size = size if isinstance(size := target.get("capacity_bytes"), int) else 0
    return Drive(**named, lab_name=lab_name, capacity_bytes=size)
