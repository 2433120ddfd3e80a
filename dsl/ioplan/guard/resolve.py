"""From the word after `--target` to a path, and to what the lab says of it."""

from __future__ import annotations

from pathlib import Path

from ioplan.core.text import did_you_mean
from ioplan.devices.device import Device, device_at
from ioplan.devices.identity import unstable
from ioplan.devices.inventory import Census
from ioplan.guard.errors import TargetError
from ioplan.lab.lab import Lab
from ioplan.target_entry import LabTarget

Aim = tuple[str, LabTarget | None]
"""A path, or an address that a backend knows, and the lab's entry."""


def aim(word: str, lab: Lab) -> Aim:
    """A name of the lab, a path, or an address. Raises TargetError."""
    if entry := lab.targets.get(word):
        _check_here(word, entry)
        return _named(word, entry)
    _check_spelling(word, lab)
    device = device_at(Path(word))
    return word, _of_device(word, device, lab) if device else _by_path(word, lab)


def _check_here(name: str, entry: LabTarget) -> None:
    if where := entry.host or ", ".join(entry.hosts):
        raise TargetError(
            f"the lab's target {name!r} is on the host {where}; `ioplan run` goes "
            f"there by itself, other commands are to be called there"
        )


def _named(name: str, entry: LabTarget) -> Aim:
    """What the lab's target is here and now."""
    if entry.path and not entry.path.startswith("/dev/"):
        return entry.path, entry
    census = Census()
    found = census.meant_by(entry)
    if len(found) == 1:
        _check_lasting(name, found[0], entry, census)
        return str(found[0].node), entry
    raise TargetError(_several(name, found) if found else _absent(name, entry, census))


def _check_lasting(name: str, device: Device, entry: LabTarget, census: Census) -> None:
    weak = unstable(census.identity(device), entry, census.all)
    if weak:
        raise TargetError(f"the lab's target {name!r}: {weak}")


def _several(name: str, found: list[Device]) -> str:
    nodes = ", ".join(str(one.node) for one in found)
    return (
        f"the lab's target {name!r} fits several devices: {nodes}; add to its entry "
        f"what tells them apart, such as nsid or wwid (ioplan targets --json)"
    )


def _absent(name: str, entry: LabTarget, census: Census) -> str:
    near = next(census.nearly_meant_by(entry), None)
    if near:
        device, wrong = near
        return (
            f"{device.node} is not the device that the lab calls {name!r}: "
            f"{'; '.join(wrong)}; look at it with ioplan targets, and correct the lab "
            f"or the cabling"
        )
    said = entry.model_dump(
        exclude_defaults=True, exclude={"writable", "purge", "host", "hosts", "lock"}
    )
    wanted = ", ".join(f"{key} {value!r}" for key, value in said.items())
    return (
        f"the lab's target {name!r} is not here: no device has {wanted}; "
        f"ioplan targets shows those that are here"
    )


def _check_spelling(word: str, lab: Lab) -> None:
    """A word that is neither a path nor an address can only be a misspelt name."""
    is_name = not set(word) & set("/:.") and not Path(word).exists()
    meant = did_you_mean(word, (*lab.targets, *lab.groups)) if is_name else ""
    if meant:
        raise TargetError(f"the lab has no target {word!r}{meant}")


def _by_path(word: str, lab: Lab) -> LabTarget | None:
    """A file's, or an address's."""
    same = (one for one in lab.here.values() if one.path and _same(one.path, word))
    return next(same, None)


def _same(path: str, word: str) -> bool:
    return path == word or (
        path.startswith("/") and Path(path).resolve() == Path(word).resolve()
    )


def _of_device(word: str, device: Device, lab: Lab) -> LabTarget | None:
    names = Census().names_of(device, lab.here)
    if len(names) > 1:
        raise TargetError(
            f"the lab has several targets that are {word}: {', '.join(names)}; "
            f"say which with --target NAME, or leave one of them"
        )
    return lab.targets[names[0]] if names else None
