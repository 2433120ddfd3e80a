"""Hosts and drives that are added to the text of a lab file.

What stands there stays as it is, with its comments and its order (tomlkit).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ioplan.backends import LabTarget
from ioplan.core import TargetFault, needed
from ioplan.runner import Lab, LabHost
from ioplan.runner.guard import Surveyed
from ioplan_lab.cluster.errors import missing_package

IN_USE = {
    TargetFault.ROOT_DISK,
    TargetFault.MOUNTED,
    TargetFault.SWAP,
    TargetFault.STACKED,
    TargetFault.UNDER_LOOP,
    TargetFault.OPEN_ELSEWHERE,
    TargetFault.IN_USE,
}
MAPPED = re.compile(r"(dm-|md|loop|ram|zram|nbd)\d")
"""The kernel's names of devices that are made of others."""
Entries = dict[str, dict[str, Any]]
"""Tables by name, as they are written."""


def with_entries(text: str, table: str, entries: Mapping[str, Any]) -> str:
    """The text with these tables in `[hosts]` or `[targets]`. Raises ClusterError."""
    if not entries:
        return text
    tomlkit = _tomlkit()
    document = tomlkit.parse(text)
    if table not in document:
        document.add(table, tomlkit.table(is_super_table=True))
    for name, values in entries.items():
        document[table][name] = {**document[table].get(name, {}), **values}
    made: str = tomlkit.dumps(document)
    wanted = tomllib.loads(text)
    for name, values in entries.items():
        wanted.setdefault(table, {}).setdefault(name, {}).update(values)
    assert tomllib.loads(made) == wanted  # a lab file is worth the check
    return made


def _tomlkit() -> Any:
    with needed("a lab file is changed with", "lab", missing_package):
        import tomlkit  # noqa: PLC0415
    return tomlkit


def host_entries(lab: Lab, hosts: Mapping[str, LabHost]) -> Entries:
    """Entries of hosts that the lab does not have; its own are not changed."""
    return {
        name: one.model_dump(mode="json", exclude_defaults=True, exclude_none=True)
        for name, one in hosts.items()
        if name not in lab.hosts
    }


def drive_entries(
    lab: Lab, found: Mapping[str, Sequence[Surveyed]]
) -> tuple[Entries, list[str]]:
    """Each drive of each host that the lab does not have, and what is left out.

    `found` has what is on each host. A drive is known by its serial number or WWID; one
    that is in use is the host's own.
    """
    entries: Entries = {}
    notes: list[str] = []
    for host, all_here in found.items():
        drives = [one for one in all_here if _is_drive(one)]
        for one in drives:
            if one.kind in IN_USE:
                notes.append(f"{host}: {one.path} is in use: skipped")
                continue
            entry = _entry(host, one, drives)
            if not _has(lab, entry):
                name = _name(host, one, {*lab.targets, *lab.groups, *entries})
                entries[name] = entry
    return entries, notes


def _is_drive(one: Surveyed) -> bool:
    """A whole one: no partition, no file as a device, no mapping of another device."""
    known = one.identity
    if known is None or known.partition is not None or MAPPED.match(known.kernel):
        return False
    return bool(known.serial or known.wwid)


def _entry(host: str, one: Surveyed, others: Iterable[Surveyed]) -> dict[str, Any]:
    known = one.identity
    assert known
    entry: dict[str, Any] = {"host": host}
    if known.serial:
        entry["serial"] = known.serial
        same = [two for two in others if two.identity == known or _serial(two, known)]
        if known.nsid and len(same) > 1:
            entry["nsid"] = known.nsid
    else:
        entry["wwid"] = known.wwid
    if known.model:
        entry["model"] = known.model
    return entry | {"writable": False}


def _serial(one: Surveyed, known: Any) -> bool:
    return bool(one.identity and one.identity.serial == known.serial)


def _has(lab: Lab, entry: Mapping[str, Any]) -> bool:
    """Whether a target of the lab is this drive, on this host or shared."""
    return any(_is_same(one, entry) for one in lab.targets.values())


def _is_same(target: LabTarget, entry: Mapping[str, Any]) -> bool:
    if entry["host"] not in (target.host, *target.hosts):
        return False
    if target.nsid and target.nsid != entry.get("nsid", target.nsid):
        return False
    named = (target.serial, target.wwid)
    return any(entry.get(key) in named for key in ("serial", "wwid") if key in entry)


def _name(host: str, one: Surveyed, taken: Iterable[str]) -> str:
    assert one.identity
    base = f"{host}-{one.identity.kernel}"
    names = (base, *(f"{base}-{number}" for number in range(2, 1000)))
    return next(name for name in names if name not in set(taken))
