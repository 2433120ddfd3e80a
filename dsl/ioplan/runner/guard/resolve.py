"""From the word after `--target` to a path, and to the lab's entry for it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ioplan.core.error_kinds import TargetFault
from ioplan.core.text import did_you_mean
from ioplan.runner.devices.device import Device, device_at
from ioplan.runner.devices.file_id import is_there
from ioplan.runner.devices.identity import unstable_reason
from ioplan.runner.devices.inventory import Inventory
from ioplan.runner.guard.errors import TargetError
from ioplan.runner.lab.lab import Lab
from ioplan.target_entry import LabTarget


class ResolvedTarget(NamedTuple):
    """A path, or an address that only a backend knows, and the lab's entry."""

    path: str
    entry: LabTarget | None


def resolve_target(word: str, lab: Lab) -> ResolvedTarget:
    """The target of a lab's name, a path or an address. Raises TargetError."""
    if entry := lab.targets.get(word):
        _check_here(word, entry)
        return _by_name(word, entry)
    check_spelling(word, lab)
    device = device_at(Path(word))
    entry = _entry_of_device(word, device, lab) if device else _entry_of_path(word, lab)
    return ResolvedTarget(word, entry)


def _check_here(name: str, entry: LabTarget) -> None:
    if where := entry.host or ", ".join(entry.hosts):
        raise TargetError(
            f"the lab's target {name!r} is on the host {where}; `ioplan run` runs it "
            "there, other commands must be run on that host",
            TargetFault.OTHER_HOST,
        )


def _by_name(name: str, entry: LabTarget) -> ResolvedTarget:
    """Where the lab's target is on this host now."""
    if entry.path and not entry.path.startswith("/dev/"):
        return ResolvedTarget(entry.path, entry)
    inventory = Inventory()
    found = inventory.matching(entry)
    if len(found) > 1:
        raise TargetError(_ambiguous_text(name, found), TargetFault.AMBIGUOUS)
    if not found:
        raise _absent(name, entry, inventory)
    _check_stable(name, found[0], entry, inventory)
    return ResolvedTarget(str(found[0].node), entry)


def _check_stable(
    name: str, device: Device, entry: LabTarget, inventory: Inventory
) -> None:
    weak = unstable_reason(inventory.identity(device), entry, inventory.all)
    if weak:
        text = f"the lab's target {name!r}: {weak}"
        raise TargetError(text, TargetFault.UNSTABLE_NAME)


def _ambiguous_text(name: str, found: list[Device]) -> str:
    nodes = ", ".join(str(one.node) for one in found)
    return (
        f"the lab's target {name!r} matches several devices: {nodes}; add a key that "
        "distinguishes them to its entry, such as nsid or wwid (ioplan targets "
        "--json)"
    )


def _absent(name: str, entry: LabTarget, inventory: Inventory) -> TargetError:
    near = next(inventory.nearly_matching(entry), None)
    if near:
        device, wrong = near
        return TargetError(
            f"{device.node} is not the device that the lab calls {name!r}: "
            f"{'; '.join(wrong)}; see ioplan targets, and correct the lab file or the "
            "cabling",
            TargetFault.IDENTITY_MISMATCH,
        )
    keys = entry.model_dump(
        exclude_defaults=True, exclude={"writable", "purge", "host", "hosts", "lock"}
    )
    wanted = ", ".join(f"{key} {value!r}" for key, value in keys.items())
    return TargetError(
        f"the lab's target {name!r} is not present: no device has {wanted}; ioplan "
        "targets lists those present",
        TargetFault.NOT_FOUND,
    )


def check_spelling(word: str, lab: Lab) -> None:
    """A word that is neither a path nor an address can only be a misspelt name."""
    is_name = not set(word) & set("/:.") and not is_there(word)
    meant = did_you_mean(word, (*lab.targets, *lab.groups)) if is_name else ""
    if meant:
        text = f"the lab has no target {word!r}{meant}"
        raise TargetError(text, TargetFault.UNKNOWN_NAME)


def _entry_of_path(word: str, lab: Lab) -> LabTarget | None:
    """The entry of a file or of an address."""
    same = (one for one in lab.here.values() if one.path and _same(one.path, word))
    return next(same, None)


def _same(path: str, word: str) -> bool:
    return path == word or (
        path.startswith("/") and Path(path).resolve() == Path(word).resolve()
    )


def _entry_of_device(word: str, device: Device, lab: Lab) -> LabTarget | None:
    names = Inventory().lab_names(device, lab.here)
    if len(names) > 1:
        raise TargetError(
            f"the lab has several targets that are {word}: {', '.join(names)}; "
            f"choose one with --target NAME, or remove all but one from the lab",
            TargetFault.AMBIGUOUS,
        )
    return lab.targets[names[0]] if names else None
