"""The block device under a target, and what the kernel counts of it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from msgspec import Struct

from ioplan.runner.devices.mounts import unescaped
from ioplan.runner.telemetry.procfs import Tree, raw


class Mount(Struct, frozen=True):
    """A line of /proc/self/mountinfo."""

    where: str
    kind: str
    source: str
    options: str


def mount_of(tree: Tree, path: str) -> Mount | None:
    """The one with the longest path that leads to the file; of two, the later."""
    found: Mount | None = None
    for line in tree.text("proc/self/mountinfo").splitlines():
        mount = _mount(line)
        under = Path(path).is_relative_to(mount.where)
        if under and (not found or len(mount.where) >= len(found.where)):
            found = mount
    return found


def _mount(line: str) -> Mount:
    """Options of the mount, then those of the file system."""
    front, _, back = line.partition(" - ")
    fields, (kind, source, *more) = front.split(" "), [*back.split(" "), "", ""]
    words = dict.fromkeys(f"{fields[5]},{more[0]}".strip(",").split(","))
    return Mount(unescaped(fields[4]), kind, unescaped(source), ",".join(words))


SECTOR_BYTES = 512
"""What the kernel counts in, whatever the device's block is."""
FEWEST = 11
TURN_MS, BACK_MS = 1 << 32, 60_000


class DiskCounts(Struct, frozen=True):
    """Counters since the device came, and the requests that are in flight now.

    The kernel shows its times as 32 bits: at a depth of 1,000, those of the queue
    turn over within 72 minutes.
    """

    read_ios: int
    read_bytes: int
    write_ios: int
    write_bytes: int
    busy_ms: int
    queued_ms: int
    inflight: int

    def since(self, before: DiskCounts) -> tuple[float, float]:
        """Seconds that it was busy, and seconds that all its requests took."""
        busy_s = _passed_s(before.busy_ms, self.busy_ms)
        return busy_s, _passed_s(before.queued_ms, self.queued_ms)


def _passed_s(before_ms: int, after_ms: int) -> float:
    """A counter may turn over once. One that goes back a little did not move."""
    passed_ms = (after_ms - before_ms) % TURN_MS
    return passed_ms / 1000 if passed_ms < TURN_MS - BACK_MS else 0.0


class Disk(Struct, frozen=True):
    """A block device's folder in /sys; `is_target` if it is not just below a file."""

    folder: Path
    is_target: bool

    @property
    def whole(self) -> Path:
        """The folder of the whole device, where this one is a partition."""
        is_part = (self.folder / "partition").exists()
        return self.folder.parent if is_part else self.folder

    def whole_bytes(self) -> int | None:
        """The capacity of the whole device."""
        words = raw(self.whole / "size").split()
        return int(words[0]) * SECTOR_BYTES if words else None

    def counts(self) -> DiskCounts | None:
        """The counters now; None for a device that is gone."""
        words = [int(word) for word in raw(self.folder / "stat").split()]
        if len(words) < FEWEST:
            return None
        inflight = sum(int(word) for word in raw(self.folder / "inflight").split())
        return DiskCounts(
            read_ios=words[0],
            read_bytes=words[2] * SECTOR_BYTES,
            write_ios=words[4],
            write_bytes=words[6] * SECTOR_BYTES,
            busy_ms=words[9],
            queued_ms=words[10],
            inflight=inflight,
        )


def disk_of(tree: Tree, path: str) -> Disk | None:
    """The device that a path is, or that its file lies on; None if none is known."""
    try:
        status = Path(path).stat()
    except OSError:
        return None
    if stat.S_ISBLK(status.st_mode):
        return _numbered(tree, status.st_rdev, is_target=True)
    return _numbered(tree, status.st_dev, is_target=False) or _below(tree, path)


def _below(tree: Tree, path: str) -> Disk | None:
    """btrfs and others number their files by themselves; their mount has a source."""
    mount = mount_of(tree, path)
    try:
        status = Path(mount.source if mount else "").stat()
    except OSError:
        return None
    is_block = stat.S_ISBLK(status.st_mode)
    return _numbered(tree, status.st_rdev, is_target=False) if is_block else None


def _numbered(tree: Tree, number: int, is_target: bool) -> Disk | None:
    link = tree.path(f"sys/dev/block/{os.major(number)}:{os.minor(number)}")
    return Disk(link.resolve(), is_target) if link.exists() else None
