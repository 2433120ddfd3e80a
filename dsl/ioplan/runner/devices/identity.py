"""What identifies a device across restarts, unlike its kernel name.

Also whether a lab's entry names a device, and keeps naming it.
"""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from ioplan.core.model import Model
from ioplan.core.system import fcntl
from ioplan.runner.devices.device import Device, device_at, single_line
from ioplan.runner.devices.file_id import Key, device_key, key_at, key_of
from ioplan.target_entry import NAMING, LabTarget

# The file or device that a loop device has its data in.

LOOP_GET_STATUS64 = 0x4C05
STATUS_BYTES = 232
DELETED = " (deleted)"


class Backing(Struct, frozen=True):
    """A file or a device; `key` says which one, unless this user may not know.

    `path` leads to it in this mount namespace. It is empty where no path is known:
    the file may have been renamed, or be in another namespace.
    """

    path: str
    key: Key | None
    offset_bytes: int = 0

    def __str__(self) -> str:
        return self.path or "a file that has no name here"


def backing(disk: Device) -> Backing | None:
    """None if it is no loop device, or one without a file."""
    text = disk.raw("loop/backing_file").decode(errors="surrogateescape")
    if not text:
        return None
    path = text.rstrip("\n")
    if path.endswith(DELETED) or not path.isprintable():
        path = ""
    try:
        key, offset_bytes = _status(disk.node)
    except OSError:
        return Backing(path, key_at(Path(path)) if path else None)
    return Backing("" if _misleads(path, key) else path, key, offset_bytes)


def _misleads(path: str, key: Key) -> bool:
    """Whether the path leads to another file here, or nowhere."""
    try:
        return not path or key_of(Path(path).stat()) != key
    except PermissionError:
        return False  # this user cannot tell
    except OSError:
        return True


def _status(node: Path) -> tuple[Key, int]:
    """What the kernel has open, however its file is called now. Raises OSError."""
    fd = os.open(node, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        answer = fcntl.ioctl(fd, LOOP_GET_STATUS64, bytes(STATUS_BYTES))
    finally:
        os.close(fd)
    device, inode, number, offset_bytes = struct.unpack_from("QQQQ", answer)
    return device_key(number) if number else ("file", device, inode), offset_bytes


UDEV = Path("/run/udev/data")


class Identity(Model):
    """Identity of a device; a partition has its disk's, and its own number.

    `kernel` is the kernel's name, valid only until the machine restarts.
    """

    kernel: str
    serial: str = ""
    nsid: int | None = None
    wwid: str = ""
    model: str = ""
    backing_file: str = ""
    partition: int | None = None

    @property
    def lasting(self) -> bool:
        """Whether anything but the kernel's name identifies it."""
        return bool(self.serial or self.wwid or self.backing_file)

    @property
    def disk_names(self) -> list[str]:
        """Names of its whole disk, the best first."""
        found = [self.serial, f"{self.serial}/{self.nsid}" if self.nsid else ""]
        return [name for name in (*found, self.wwid, self.backing_file) if name]

    @property
    def names(self) -> list[str]:
        """Names of the device itself, the kernel's name last."""
        return [*(name + self.suffix for name in self.disk_names), self.kernel]

    @property
    def suffix(self) -> str:
        """How udev marks a partition's link: `-part3`."""
        return f"-part{self.partition}" if self.partition else ""

    def shares_disk(self, other: Identity) -> bool:
        """Whether both are on one disk."""
        return self.disk_names == other.disk_names

    def facts(self) -> dict[str, str]:
        """All that is known, as text, for a record."""
        known = self.model_dump(mode="json")
        del known["kernel"]
        return {key: str(value) for key, value in known.items() if value}


def identity_of(device: Device) -> Identity:
    """From sysfs, and from udev's database where sysfs has nothing."""
    disk = device.disk
    nsid = disk.text("nsid")
    under = backing(disk)
    return Identity(
        kernel=device.name,
        serial=_serial(disk),
        nsid=int(nsid) if nsid else None,
        wwid=_wwid(disk),
        model=disk.text("device/model"),
        backing_file=under.path if under else "",
        partition=device.partition,
    )


def firmware_of(device: Device) -> str:
    """The revision, of NVMe, then of SCSI and ATA; an update changes it, and so it
    identifies nothing."""
    disk = device.disk
    return disk.text("device/firmware_rev") or disk.text("device/rev")


def _serial(disk: Device) -> str:
    """The serial of NVMe and MMC, virtio, SCSI and ATA, then of others, such as USB."""
    page = disk.raw("device/vpd_pg80")
    scsi = single_line(page[4:].decode(errors="replace"))
    found = disk.text("device/serial") or disk.text("serial") or scsi
    return found or _udev(disk, "ID_SERIAL_SHORT")


def _wwid(disk: Device) -> str:
    own = ("wwid", "device/wwid", "dm/uuid", "md/uuid")
    found = next((text for name in own if (text := disk.text(name))), "")
    return found or _udev(disk, "ID_WWN")


def _udev(disk: Device, key: str) -> str:
    entry = UDEV / f"b{os.major(disk.number)}:{os.minor(disk.number)}"
    try:
        lines = entry.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    start = f"E:{key}="
    return next(
        (single_line(one[len(start) :]) for one in lines if one.startswith(start)), ""
    )


def id_of(identity: Identity, all: Sequence[Identity]) -> str:
    """The first of its names that no other device or partition has."""
    used: set[str] = set()
    for other in all:
        if other.kernel != identity.kernel:
            used.update(other.names)
            if not identity.shares_disk(other):
                used.update(name + identity.suffix for name in other.disk_names)
    return next((one for one in identity.names if one not in used), identity.kernel)


def same_wwid(one: str, other: str) -> bool:
    """Whether two spellings of a world-wide name are the same, and name something."""
    return _without_prefix(one) == _without_prefix(other) != ""


def _without_prefix(wwid: str) -> str:
    return re.sub(
        r"^(wwn-)?(0x|naa\.|eui\.|uuid\.|nvme-eui\.|scsi-3)", "", wwid.lower()
    )


def entry_lines(identity: Identity, name: str = "") -> str:
    """The TOML lines of a lab file that permit writing to the device."""
    label = name or re.sub(r"[^A-Za-z0-9_-]", "-", identity.kernel)
    lines = [f"[targets.{label}]"]
    lines += [f"{key} = {_toml(value)}" for key, value in _keys(identity).items()]
    return "\n".join([*lines, "writable = true"])


def _keys(identity: Identity) -> dict[str, str | int | None]:
    """The fewest keys that identify it, if possible those printed on its label."""
    if not identity.lasting:
        return {"path": f"/dev/{identity.kernel}"}
    keys = {"wwid"} if identity.wwid else {"backing_file"}
    if identity.serial:
        keys = {"serial", "nsid", "model"}
    found = identity.model_dump(include=keys | {"partition"})
    return {key: value for key, value in found.items() if value}


def _toml(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


LASTING_PATHS = (
    "/dev/disk/by-id/",
    "/dev/disk/by-partuuid/",
    "/dev/mapper/",
    "/dev/md/",
)


Difference = tuple[str, str]
"""A key of the lab's entry, and how the device differs, in words."""


def differences(identity: Identity, entry: LabTarget) -> list[str]:
    """How the device differs from the lab's entry; empty if it matches."""
    return [text for _, text in _differences(identity, entry)]


def matches_partly(identity: Identity, entry: LabTarget) -> bool:
    """Whether it matches one of the entry's names, and differs in another key."""
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
    yield from _place_differences(identity, entry)


def _place_differences(identity: Identity, entry: LabTarget) -> Iterator[Difference]:
    """Where the path leads; a link in /dev/disk/by-id can name a partition itself."""
    if entry.path:
        there = device_at(Path(entry.path))
        if there is None or there.name != identity.kernel:
            yield _differs("path", f"/dev/{identity.kernel}", entry.path)
    if entry.partition != identity.partition and (entry.partition or not entry.path):
        yield _differs("partition", identity.partition, entry.partition)


def _differs(key: str, found: object, wanted: object) -> Difference:
    whole = "the whole disk" if key == "partition" else "unknown"
    return key, f"its {key} is {found or whole}, in the lab file {wanted or whole}"


def _same_file(one: str, other: str) -> bool:
    return bool(other) and Path(one).resolve() == Path(other).resolve()


def unstable_reason(
    identity: Identity, entry: LabTarget, all: Sequence[Identity]
) -> str | None:
    """Why the entry may name another device some day, and what to write instead."""
    if entry.serial or entry.wwid or entry.backing_file:
        return None
    path = entry.path or ""
    if identity.lasting and not path.startswith(LASTING_PATHS):
        why = f"{path} may be another device after a reboot"
    elif _names_no_namespace(identity, path) and _has_siblings(identity, all):
        why = f"{path} names a controller, which has several namespaces"
    else:
        return None
    return f"{why}; write in the lab file instead:\n\n{entry_lines(identity)}\n"


def _names_no_namespace(identity: Identity, path: str) -> bool:
    """udev's old link has no number, and leads to any one of several namespaces."""
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
