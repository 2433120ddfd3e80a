"""The drives of this host, as its worker reports them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from ioplan.backends import LabTarget
from ioplan.runner import Lab, members, read_lab
from ioplan.runner.guard.survey import Surveyed, survey


def reported_drives() -> list[dict[str, Any]]:
    """Each target of the lab file, with what is known of it. Raises LabError."""
    lab = read_lab(None)
    surveyed = dict(_by_name(lab))
    groups = {name: members(lab, name) for name in lab.groups}
    return [
        _drive(name, entry, surveyed.get(name))
        | {"groups": [group for group, names in groups.items() if name in names]}
        for name, entry in lab.here.items()
    ]


def _by_name(lab: Lab) -> Iterator[tuple[str, Surveyed]]:
    with suppress(OSError):
        for device in survey(lab):
            for name in device.name.split(", "):
                yield name, device


def _drive(name: str, entry: LabTarget, device: Surveyed | None) -> dict[str, Any]:
    """A target that is no device of this host is what the lab file says."""
    reason = "" if entry.writable else "the lab file says writable = false"
    known = {
        "name": name,
        "path": entry.path or "",
        "serial": entry.serial or "",
        "wwid": entry.wwid or "",
        "model": entry.model or "",
        "writable": entry.writable,
        "reason": reason,
    }
    if device is None:
        return known
    identity = device.identity
    known |= {
        "path": device.path,
        "firmware": device.firmware,
        "size_bytes": device.size_bytes,
        "writable": device.verdict == "writable",
        "reason": device.reason,
        "life_used": _life_used(device),
    }
    if identity:
        known |= {
            "serial": identity.serial or known["serial"],
            "wwid": identity.wwid or known["wwid"],
            "model": identity.model or known["model"],
        }
    return known


def _life_used(device: Surveyed) -> float | None:
    """Percent of the rated life, of the SMART log of NVMe drives."""
    used = device.smart.get("percentage_used", device.smart.get("percent_used"))
    return float(used) if isinstance(used, int | float) else None
