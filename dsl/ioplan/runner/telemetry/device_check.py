"""What a backend tells of a run, against what the kernel counted on the target.

Counters: Documentation/block/stat.rst of the kernel. They are the target's own: of a
partition what went through it, of a loop device what reached it and not its file. A
file has none, as its file system and the page cache come between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from ioplan.job import (
    Event,
    Job,
    Progress,
    Result,
    Started,
    StreamCounts,
)
from ioplan.job_stream import JobStream
from ioplan.runner.telemetry.disk import SECTOR_BYTES, Disk
from ioplan.runner.telemetry.procfs import raw

FIRST = {"read": 0, "write": 4, "trim": 11}
"""Where in `stat` each direction begins: I/Os, merges, sectors, time."""
FLUSHES, FIELDS = 15, 16
PLURALS = {"read": "reads", "write": "writes", "trim": "discards"}
SHARE = 0.01
OTHERS_IOS, OTHERS_BYTES = 512, 4 << 20
"""Others may read a device that is in use, as udev does when it is closed."""
PAGE_BYTES = 4096


class DeviceCounts(Struct, frozen=True):
    """Since the device came, or between two readings; merged I/Os are counted."""

    ios: dict[str, int]
    bytes: dict[str, int]
    flushes: int

    def since(self, before: DeviceCounts) -> DeviceCounts:
        """What has come between."""
        return DeviceCounts(
            {way: self.ios[way] - before.ios[way] for way in FIRST},
            {way: self.bytes[way] - before.bytes[way] for way in FIRST},
            self.flushes - before.flushes,
        )


def device_counts(disk: Disk | None) -> DeviceCounts | None:
    """None of a file, and of a device that is gone or counts nothing."""
    if disk is None or not disk.is_target or _is_off(disk):
        return None
    words = [int(word) for word in raw(disk.folder / "stat").split()]
    counts_at_all = any(map(int, raw(disk.whole / "stat").split()))
    if len(words) < FIELDS or not counts_at_all:
        return None
    return DeviceCounts(
        {way: words[at] + words[at + 1] for way, at in FIRST.items()},
        {way: words[at + 2] * SECTOR_BYTES for way, at in FIRST.items()},
        words[FLUSHES],
    )


def _is_off(disk: Disk) -> bool:
    """Drivers that count by themselves, such as zram's, do so whatever is set."""
    return _has_queue(disk) and _word(disk.whole, "queue/iostats") == "0"


def _word(folder: object, name: str) -> str:
    return raw(f"{folder}/{name}").decode(errors="replace").strip()


class Told:
    """What the events of a run tell, the warm-up included."""

    def __init__(self) -> None:
        self.ios: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.errors = self.flushes = 0
        self.ended = self.bypasses = False

    def add(self, event: Event) -> None:
        """An event of the run; the measured part is told by its Result."""
        if isinstance(event, Started):
            self.bypasses = bool(event.facts.get("passthrough"))
        if isinstance(event, Result) or (isinstance(event, Progress) and event.warmup):
            for stream in event.streams:
                self._add(stream)
        if isinstance(event, Result):
            self.ended = True
            self.errors += _repeated(event)

    def _add(self, stream: StreamCounts) -> None:
        for way, counts in stream.directions.items():
            self.ios[way] += counts.ios
            self.bytes[way] += counts.bytes
            self.errors += counts.errors
        self.flushes += stream.sync_ios


def _repeated(result: Result) -> int:
    """Attempts that failed and were followed by another one."""
    found = result.facts.get("retried", {})
    return sum(sum(attempts.values()) for attempts in found.values())


def differences(
    job: Job, told: Told, before: DeviceCounts | None, disk: Disk | None
) -> Iterator[str]:
    """Warnings, each with both figures. Nothing of a run without a Result, nor of one
    whose commands bypass the block layer."""
    after = device_counts(disk)
    if not (told.ended and before and after and disk) or told.bypasses:
        return
    counted = after.since(before)
    for way in FIRST:
        if way == "trim" and not _has_queue(disk):
            continue  # zram and others do not count them
        pair = Pair(
            told.ios[way], told.bytes[way], counted.ios[way], counted.bytes[way]
        )
        if _few(job, way, told, pair) or _much(job, way, told, pair, disk):
            yield (
                f"the backend reports {pair.told_ios} {PLURALS[way]} of "
                f"{pair.told_bytes} bytes, but the kernel counted {pair.counted_ios} "
                f"of {pair.counted_bytes} bytes on {disk.folder.name}"
            )
    if _is_flushing(disk) and counted.flushes < _least_flushes(job, told):
        yield (
            f"the backend reports {told.flushes} flushes, but the kernel counted "
            f"{counted.flushes} on {disk.folder.name}"
        )


class Pair(Struct, frozen=True):
    """The figures of one direction."""

    told_ios: int
    told_bytes: int
    counted_ios: int
    counted_bytes: int


def _few(job: Job, way: str, told: Told, pair: Pair) -> bool:
    """Each I/O has its bio, but for discards, which may be merged without a trace."""
    open_ios = _open_ios(job, told)
    least_bytes = pair.told_bytes * (1 - SHARE) - open_ios * _largest_bytes(job)
    least_ios = pair.told_ios * (1 - SHARE) - open_ios
    return pair.counted_bytes < least_bytes or (
        way != "trim" and pair.counted_ios < least_ios
    )


def _much(job: Job, way: str, told: Told, pair: Pair, disk: Disk) -> bool:
    """Not all backends tell their warm-up, verifying may read once more, and of hosts
    that run together each tells its own. A flush is an empty write as well."""
    reads = way == "read"
    verifies = reads and any(stream.verify for stream in job.streams)
    if job.warmup_ns or job.await_start or verifies:
        return False
    open_ios, largest = _open_ios(job, told), _largest_bytes(job)
    most_bytes = pair.told_bytes * (1 + SHARE) + open_ios * largest
    most_ios = pair.told_ios * (1 + SHARE) + open_ios + OTHERS_IOS + told.flushes
    if pair.counted_bytes > most_bytes + OTHERS_BYTES * reads:
        return True
    is_split = way == "trim" or largest > _whole_bytes(disk)
    return not is_split and pair.counted_ios > most_ios


def _open_ios(job: Job, told: Told) -> int:
    """The most I/Os under way at either end, and those that failed."""
    return 2 * sum(one.qd * one.threads for one in job.streams) + told.errors


def _largest_bytes(job: Job) -> int:
    return max(max(stream.sizes_bytes, default=0) for stream in job.streams)


def _whole_bytes(disk: Disk) -> int:
    """So large may an I/O be that is not split."""
    queue = f"{disk.whole}/queue"
    pages = int(_word(queue, "max_segments") or 1)
    most_kib = int(_word(queue, "max_sectors_kb") or 4)
    return min(pages * PAGE_BYTES, most_kib << 10)


def _has_queue(disk: Disk) -> bool:
    """Whether the kernel makes requests of its I/O; if not, the driver counts."""
    return (disk.whole / "mq").exists()


def _is_flushing(disk: Disk) -> bool:
    """A flush is counted where there is a cache to flush, and not of partitions."""
    cached = _word(disk.whole, "queue/write_cache") == "write back"
    return cached and _has_queue(disk) and disk.folder == disk.whole


def _least_flushes(job: Job, told: Told) -> float:
    """The fewest flushes a device may see: concurrent ones are done as one."""

    def flushing(stream: JobStream) -> int:
        return stream.qd * stream.threads if stream.sync_every else 0

    at_once = max(1, sum(map(flushing, job.streams)))
    return told.flushes * (1 - SHARE) / at_once - at_once
