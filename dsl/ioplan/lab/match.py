"""Whether a device is the one that a lab file means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ioplan.lab.device import device_at
from ioplan.lab.entry import NAMING, LabTarget
from ioplan.lab.identity import Identity, entry_lines, same_wwid

LASTING_PATHS = (
    "/dev/disk/by-id/",
    "/dev/disk/by-partuuid/",
    "/dev/mapper/",
    "/dev/md/",
)


Difference = tuple[str, str]
"""A key of the lab, and in words what is not so."""


def differences(identity: Identity, entry: LabTarget) -> list[str]:
    """What the lab says of it that is not so; empty if it is the one."""
    return [text for _, text in _differences(identity, entry)]


def fits_in_part(identity: Identity, entry: LabTarget) -> bool:
    """Whether it fits one of the names, and another key not."""
    wrong = {key for key, _ in _differences(identity, entry)}
    named = {key for key in NAMING if getattr(entry, key)}
    return bool(wrong and named - wrong) and "partition" not in wrong


def _differences(identity: Identity, entry: LabTarget) -> Iterator[Difference]:
    for key in ("serial", "model"):
        found, wanted = getattr(identity, key), getattr(entry, key)
        if wanted and " ".join(wanted.split()) != found:
            yield _differs(key, found, wanted)
    if entry.wwid and not same_wwid(" ".join(entry.wwid.split()), identity.wwid):
        yield _differs("wwid", identity.wwid, entry.wwid)
    if entry.nsid and entry.nsid != identity.nsid:
        yield _differs("nsid", identity.nsid, entry.nsid)
    if entry.backing_file and not _same_file(entry.backing_file, identity.backing_file):
        yield _differs("backing_file", identity.backing_file, entry.backing_file)
    yield from _elsewhere(identity, entry)


def _elsewhere(identity: Identity, entry: LabTarget) -> Iterator[Difference]:
    """A link in /dev/disk/by-id says by itself which partition it means."""
    if entry.path:
        there = device_at(Path(entry.path))
        if there is None or there.name != identity.kernel:
            yield _differs("path", f"/dev/{identity.kernel}", entry.path)
    if entry.partition != identity.partition and (entry.partition or not entry.path):
        yield _differs("partition", identity.partition, entry.partition)


def _differs(key: str, found: object, wanted: object) -> Difference:
    whole = "the whole disk" if key == "partition" else "unknown"
    return key, f"its {key} is {found or whole}, and the lab says {wanted or whole}"


def _same_file(one: str, other: str) -> bool:
    return bool(other) and Path(one).resolve() == Path(other).resolve()


def unstable(
    identity: Identity, entry: LabTarget, all: Sequence[Identity]
) -> str | None:
    """Why an entry does not name this very device for good, and what does."""
    if entry.serial or entry.wwid or entry.backing_file:
        return None
    path = entry.path or ""
    if identity.lasting and not path.startswith(LASTING_PATHS):
        why = f"{path} may be another device after a restart"
    elif _names_no_namespace(identity, path) and _has_siblings(identity, all):
        why = f"{path} names a controller, which has several namespaces"
    else:
        return None
    return f"{why}; write into the lab instead:\n\n{entry_lines(identity)}\n"


def _names_no_namespace(identity: Identity, path: str) -> bool:
    """udev gives the old link without a number to one namespace of several."""
    name = Path(path).name
    part = f"-part{identity.partition}" if identity.partition else ""
    by_serial = identity.serial.replace(" ", "_") in name if identity.serial else False
    return bool(
        identity.nsid
        and by_serial
        and not name.removesuffix(part).endswith(f"_{identity.nsid}")
    )


def _has_siblings(identity: Identity, all: Sequence[Identity]) -> bool:
    return any(
        one.serial == identity.serial and one.nsid != identity.nsid for one in all
    )
