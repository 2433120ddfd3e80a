"""Records what is queued to a block device, by the kernel's own tracing (tracefs), and
when it is complete.

An instance of our own has the events of that device alone: nobody else's tracing is
changed. What the kernel has no room for it counts, and the reader tells.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ioplan.trace.facts import TraceError

OURS = "ioplan-"
MOUNTS = Path("/proc/self/mounts")
QUEUED = "events/block/block_bio_queue"
COMPLETE = ("events/block/block_bio_complete", "events/block/block_rq_complete")
"""Devices that take requests complete those, and others what was queued."""
BUFFER_KB = 16 << 10
"""The kernel's buffer of each CPU: about 100,000 I/Os that wait for being read."""
READ_BYTES, WAIT_MS = 1 << 20, 100
LAST_S = 1.0
"""What was queued last may take so long; what takes longer has no completion."""
MINOR_BITS = 20
"""Bits of the minor part of a device's number in the kernel."""


def capture(device: Path, out: BinaryIO, over: Callable[[], bool]) -> None:
    """Write the events to a file until it is over.

    Raises TraceError for what cannot be recorded, and OSError.
    """
    with _instance(_number(device)) as folder:
        pipe = os.open(folder / "trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
        try:
            for event in (*COMPLETE, QUEUED):
                _enable(folder / event, "1")
            _follow(pipe, out, over)
            _enable(folder / QUEUED, "0")
            _follow(pipe, out, _in(LAST_S))
            for event in COMPLETE:
                _enable(folder / event, "0")
            _drain(pipe, out)
        finally:
            os.close(pipe)


def _enable(event: Path, text: str) -> None:
    (event / "enable").write_text(text)


def _in(wait_s: float) -> Callable[[], bool]:
    """Whether so much time has passed since now."""
    end_s = time.monotonic() + wait_s
    return lambda: time.monotonic() > end_s


def _follow(pipe: int, out: BinaryIO, over: Callable[[], bool]) -> None:
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    while not over():
        poll.poll(WAIT_MS)
        _drain(pipe, out)


def _drain(pipe: int, out: BinaryIO) -> None:
    try:
        while data := os.read(pipe, READ_BYTES):
            out.write(data)
    except BlockingIOError:
        return


@contextmanager
def _instance(number: int) -> Iterator[Path]:
    """A trace buffer of our own, for the device of that number."""
    instances = instances_folder()
    folder = instances / f"{OURS}{os.getpid()}"
    _remove_left(instances)
    folder.mkdir()
    try:
        (folder / "trace_clock").write_text("mono")
        (folder / "buffer_size_kb").write_text(f"{BUFFER_KB}")
        for event in (*COMPLETE, QUEUED):
            (folder / event / "filter").write_text(f"dev == {number}")
        yield folder
    finally:
        folder.rmdir()


def _remove_left(instances: Path) -> None:
    """What a recorder that was killed has left; one that is in use is busy."""
    for folder in instances.glob(f"{OURS}*"):
        if not Path("/proc", folder.name.removeprefix(OURS)).exists():
            with suppress(OSError):
                folder.rmdir()


def instances_folder() -> Path:
    """Where the kernel takes instances of its tracing. Raises TraceError."""
    mounts = map(str.split, MOUNTS.read_text().splitlines())
    for place in (Path(words[1]) for words in mounts if words[2] == "tracefs"):
        if not os.access(place, os.W_OK, effective_ids=True):
            raise TraceError("to record a device needs root")
        if not (place / QUEUED).is_dir():
            raise TraceError("this kernel has no events of block devices")
        return place / "instances"
    raise TraceError(
        "the kernel's tracing is not mounted: "
        "sudo mount -t tracefs nodev /sys/kernel/tracing"
    )


def _number(device: Path) -> int:
    """The kernel's number of a whole device. Raises TraceError."""
    if device.exists() and not device.is_block_device():
        raise TraceError("it is no block device: only these are recorded")
    found = device.stat().st_rdev
    entry = _sys_entry(found)
    if (entry / "partition").exists():
        raise TraceError(f"it is a partition: record its disk, {entry.parent.name}")
    return os.major(found) << MINOR_BITS | os.minor(found)


def _sys_entry(number: int) -> Path:
    return Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()


def lies_on(folder: Path, device: Path) -> bool:
    """Whether what is written to a folder goes to the device or a partition of it."""
    entry, disk = (_sys_entry(n) for n in (folder.stat().st_dev, device.stat().st_rdev))
    return disk in (entry, entry.parent)
