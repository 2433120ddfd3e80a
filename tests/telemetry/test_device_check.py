"""What a backend tells against what the kernel counted: on loop and zram devices."""

import os
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from warned import not_of_the_host
from wrapped import Wrapped, WrappedDrive

from ioplan.backends import find
from ioplan.job import Result
from ioplan.runner import (
    Disk,
    InstrumentedRun,
    Instruments,
    Tree,
    device_counts,
    disk_of,
)
from ioplan_testing import job, stream
from targets import asked as asked_target
from targets import (
    lab_file,
    loop_device,
    needs_root,
    remove_partition,
    sparse,
    tell,
    tmpfs,
    zram,
)

pytestmark = [pytest.mark.slow, pytest.mark.machine]

BYTES = 64 << 20
MIX: dict[str, Any] = {"read_percent": 70, "qd": 8}
JOBS: dict[str, dict[str, Any]] = {
    "reads": {"qd": 16},
    "mix": MIX,
    "sequential writes": {"pattern": "sequential", "read_percent": 0, "qd": 4},
    "syncs": {"read_percent": 0, "sync_every": 8, "qd": 2},
    "trims": {"read_percent": 50, "trim_percent": 20, "qd": 8},
    "verify": {"read_percent": 50, "verify": True, "qd": 4},
    "fua": {"read_percent": 50, "fua": True, "qd": 4},
}


@contextmanager
def loop(folder):
    """Over memory: what was written would else be waited for at its end."""
    with (
        tmpfs(folder / "memory", "80M") as memory,
        loop_device(sparse(memory / "disk", BYTES)) as device,
    ):
        yield device


DEVICES = {"loop": loop, "zram": lambda _: zram(BYTES)}


class LyingRun(Wrapped):
    """It does one thing, and tells another."""

    def __init__(self, inner, told):
        super().__init__(inner)
        self.told = told

    def events(self, event):
        if isinstance(event, Result):
            streams = tuple(map(self.told, event.streams))
            event = event.model_copy(update={"streams": streams})
        yield event


def lying(inner, asked, told):
    """A drive whose runs do what was asked of it, whatever the job."""
    return WrappedDrive(inner, lambda one, _: LyingRun(one.start(asked), told))


@contextmanager
def opened(backend, device, folder):
    backing = Path("/sys/block", device.name, "loop/backing_file")
    named = {"path": device}
    if backing.exists():
        named = {"backing_file": Path(backing.read_text().strip())}
    lab = lab_file(
        folder, device.name, writable=True, **{k: str(v) for k, v in named.items()}
    )
    words = (device.name, *named.values())
    drive = find(backend).open(asked_target(lab, device.name, *words))
    try:
        yield drive
    finally:
        drive.close()


def asked_of(facts, fields, **more):
    return job(facts, stream(facts, **fields), read_only=False, **more)


def warnings_of(drive, asked):
    with (
        InstrumentedRun(Instruments(drive.facts), asked) as run,
        drive.start(asked) as execution,
    ):
        for event in execution:
            run.on_event(event)
    assert isinstance(event, Result), event
    return not_of_the_host(run.telemetry.warnings)


@pytest.mark.long
@needs_root
@pytest.mark.parametrize("kind", DEVICES)
@pytest.mark.parametrize("backend", ["io_uring", "fio"])
@pytest.mark.promise("figures.kernel")
def test_true_backends_are_not_doubted(backend, kind, tmp_path):
    with DEVICES[kind](tmp_path) as device, opened(backend, device, tmp_path) as drive:
        for fields in JOBS.values():
            asked = asked_of(drive.facts, fields, run_ns=10**9)
            if not find(backend).gaps(asked, {}):
                assert warnings_of(drive, asked) == (), fields
        warm = asked_of(drive.facts, MIX, run_ns=10**9, warmup_ns=10**9)
        assert warnings_of(drive, warm) == ()


def times(factor):
    """All directions with so many times what they did."""

    def told(stream):
        parts = {
            way: one.model_copy(
                update={"ios": int(one.ios * factor), "bytes": int(one.bytes * factor)}
            )
            for way, one in stream.directions.items()
        }
        return stream.model_copy(update={"directions": parts})

    return told


def as_trims(told):
    """Writes that are told as discards."""
    (counts,) = told.directions.values()
    return told.model_copy(update={"directions": {"trim": counts}})


def flushed(told):
    return told.model_copy(update={"sync_ios": 500})


WRITES = {"read_percent": 0, "qd": 8}
LIES = {
    "half as much is told": (WRITES, times(0.5), ("writes",)),
    "twice as much is told": (MIX, times(2), ("reads", "writes")),
    "flushes are told": (WRITES, flushed, ("500 flushes",)),
    "writes are told as discards": (WRITES, as_trims, ("writes", "discards")),
}


@pytest.mark.parametrize("lie", LIES)
@needs_root
@pytest.mark.promise("figures.kernel")
def test_a_lie_is_told_with_both_figures(lie, tmp_path):
    fields, told, words = LIES[lie]
    with loop(tmp_path) as device, opened("io_uring", device, tmp_path) as drive:
        asked = asked_of(drive.facts, fields, limit_bytes=32 << 20)
        found = warnings_of(lying(drive, asked, told), asked)
        assert warnings_of(lying(drive, asked, times(1)), asked) == ()
    assert len(found) == len(words), found
    for text, word in zip(found, words, strict=True):
        assert word in text and f"on {device.name}" in text, text
        assert text.startswith("the backend reports ") and "the kernel counted" in text


@needs_root
def test_trims_of_a_device_without_nowait_are_done(tmp_path):
    """Linux 6.18 ends them with EOPNOTSUPP where they are not to wait."""
    with zram(BYTES) as device, opened("io_uring", device, tmp_path) as drive:
        trims = asked_of(drive.facts, JOBS["trims"], run_ns=2 * 10**8)
        assert warnings_of(drive, trims) == ()


@needs_root
def test_on_zram_a_lie_is_found_too(tmp_path):
    with zram(BYTES) as device, opened("io_uring", device, tmp_path) as drive:
        asked = asked_of(drive.facts, WRITES, limit_bytes=32 << 20)
        (found,) = warnings_of(lying(drive, asked, times(2)), asked)
    assert found.startswith("the backend reports 16384 writes of 67108864 bytes"), found
    assert "kernel counted 8192 of 33554432 bytes" in found


@needs_root
def test_a_partition_has_its_own_counters(tmp_path):
    """What goes through the whole device, past the partition, is not its I/O."""
    with loop(tmp_path) as whole:
        tell("addpart", whole, "1", "2048", "20480")
        folder = Path("/sys/block", whole.name, f"{whole.name}p1")
        disk = Disk(folder, is_target=True)
        assert disk.whole.name == whole.name
        before = device_counts(disk)
        with whole.open("rb") as file:
            file.seek(16 << 20)
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            file.read(1 << 20)
        after = device_counts(disk)
        remove_partition(whole, 1)
    assert before and after and after.since(before).bytes["read"] == 0


def test_a_file_has_none(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(1 << 20))
    assert device_counts(disk_of(Tree(), str(path))) is None
    assert device_counts(None) is None


@needs_root
def test_a_device_that_does_not_count_has_none(tmp_path):
    with loop(tmp_path) as device:
        disk = disk_of(Tree(), str(device))
        assert disk and device_counts(disk)
        (disk.folder / "queue/iostats").write_text("0")
        try:
            assert device_counts(disk) is None
        finally:
            (disk.folder / "queue/iostats").write_text("1")
