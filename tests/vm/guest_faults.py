"""Inside the machine: NVMe drives that fail while ioplan measures them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from guest import Call, Done, call, lab_file, namespace, plan_file, qmp, row, sh
from survived import last_run, row_of

BLOCK_BYTES = 4096
FIRST_BAD_READ, FIRST_BAD_WRITE = 2048 * 512, 4096 * 512
WRITABLE = 'silence_s = 8\n[targets.drive]\nserial = "{serial}"\nwritable = true\n'
SECTORS = "an NVMe drive by qemu's blkdebug, media errors at 8 sectors"
BACKENDS = ["io_uring", "fio"]
BROKEN_OFF_S = 150
"""Of the 300 s that a run was to take; the emulated machine is slow."""


def start(folder: Path, plan: str, serial: str, *words: str | Path) -> Call:
    """Start a run of a plan on a whole drive; blocks of it may not be readable."""
    lab = lab_file(folder, WRITABLE.format(serial=serial))
    return Call(
        folder,
        *("run", plan_file(folder, plan), "--json", "--lab", lab, "--target", "drive"),
        *("--overwrite-data", serial, "--store", folder / "results.db", *words),
    )


def survived(folder: Path, fault: str, how: str, done: Done) -> dict[str, str]:
    """The row of the one run; the store has it, and ioplan has ended."""
    print(done)
    (record,) = done.records
    found = row_of(*last_run(folder / "results.db"), folder)
    row("faults", fault=fault, how=how, **found)
    assert record["status"] == found["status"] == done.of("end")[0]["status"]
    assert done.code == (0 if found["status"] == "ok" else 3)
    return found


def ios(done: Done, direction: str) -> int:
    return int(done.records[0]["directions"][direction]["ios"])


@pytest.mark.parametrize("backend", BACKENDS)
def test_sectors_that_cannot_be_read(tmp_path, backend):
    plan = "run sequential 4KiB 100/0, 1 pass"
    done = start(tmp_path, plan, "VMLAB-BAD", "--backend", backend).end()
    found = survived(tmp_path, f"bad sectors, read ({backend})", SECTORS, done)
    assert found["cause"] == "device-error" and "ENODATA" in found["message"]
    assert str(FIRST_BAD_READ) in done.err
    assert ios(done, "read") >= FIRST_BAD_READ // BLOCK_BYTES


@pytest.mark.parametrize("backend", BACKENDS)
def test_sectors_that_cannot_be_written(tmp_path, backend):
    plan = "run sequential 4KiB 0/100, 1 pass"
    done = start(tmp_path, plan, "VMLAB-BAD", "--backend", backend).end()
    found = survived(tmp_path, f"bad sectors, written ({backend})", SECTORS, done)
    assert found["cause"] == "device-error" and "ENODATA" in found["message"]
    assert str(FIRST_BAD_WRITE) in done.err
    assert ios(done, "write") >= FIRST_BAD_WRITE // BLOCK_BYTES


def throttle(iops: int, bytes_per_s: int) -> None:
    limits = {"iops-total": iops, "bps-total": bytes_per_s}
    qmp("qom-set", path="/objects/slow", property="limits", value=limits)


def test_a_drive_that_stalls(tmp_path):
    """It answers one I/O in 32 s from then on."""
    started = start(tmp_path, "run random 4KiB 100/0, qd 4 for 300s", "VMLAB-SLOW")
    started.says('"interval": {')
    throttle(1, BLOCK_BYTES // 32)
    done = started.end()
    throttle(500, 8 << 20)
    how = "an NVMe drive limited to one I/O in 32 s"
    found = survived(tmp_path, "a drive stalls", how, done)
    assert found["cause"] == "hung" and ios(done, "read") > 0
    assert done.took_s < BROKEN_OFF_S


def test_the_clock_is_set(tmp_path):
    plan = "run random 4KiB 100/0 for 8s"
    started = start(tmp_path, plan, "VMLAB-SMALL")
    started.says('"interval": {')
    move_clock(timedelta(hours=1))
    done = started.end()
    move_clock(timedelta(hours=-1))
    found = survived(tmp_path, "the clock is set", "`date -s`, an hour later", done)
    assert found["status"] == "ok" and "clock moved by +3" in str(done)
    assert 7.5 < done.records[0]["run_s"] < 9


def move_clock(by: timedelta) -> None:
    sh("date", "-s", (datetime.now() + by).isoformat())


@contextmanager
def suspended(mapping: str) -> Iterator[None]:
    """All I/O waits in the kernel until the end."""
    sh("dmsetup", "suspend", "--noflush", "--nolockfs", mapping)
    try:
        yield
    finally:
        sh("dmsetup", "resume", mapping)


@contextmanager
def mapped(node: Path) -> Iterator[Path]:
    sh("dmsetup", "create", "lab", "--table", f"0 131072 linear {node} 0")
    try:
        yield Path("/dev/mapper/lab")
    finally:
        time.sleep(1)  # what cannot be killed ends first
        sh("dmsetup", "remove", "--retry", "lab")


def test_a_process_that_nothing_ends(tmp_path):
    """It waits for a suspended mapping; ioplan gives it up, and ends."""
    (tmp_path / "again").mkdir()
    lab = lab_file(tmp_path, "silence_s = 8\n")
    plan = plan_file(tmp_path, "run random 4KiB 100/0 for 300s")
    with mapped(namespace("VMLAB-PLAIN")) as target:
        words = ("run", plan, "--json", "--lab", lab, "--target", target)
        words += ("--backend", "fio", "--option", "engine=psync")
        started = Call(tmp_path, *words, "--store", tmp_path / "results.db")
        started.says('"interval": {')
        with suspended("lab"):
            done = started.end()
            again = call(tmp_path / "again", *words, "--store", tmp_path / "s.db")
        how = "`dmsetup suspend` of the mapping it reads"
        found = survived(tmp_path, "a process in state D", how, done)
    assert found["cause"] == "stuck" and "cannot be killed" in found["message"]
    assert again.code == 2 and "fio (process" in again.err, again.err


@pytest.mark.parametrize(("backend", "name"), [("io_uring", "bad"), ("fio", "small")])
def test_a_drive_that_is_unplugged(tmp_path, backend, name):
    """Last, as it does not come back."""
    serial = f"VMLAB-{name.upper()}"
    plan = "run random 4KiB 100/0, qd 4, region 50%..100% for 300s"
    started = start(tmp_path, plan, serial, "--backend", backend)
    started.says('"interval": {')
    qmp("device_del", id=f"nvme-{name}")
    done = started.end()
    how = "qemu's `device_del` of an NVMe drive"
    found = survived(tmp_path, f"a drive is unplugged ({backend})", how, done)
    assert found["cause"] == "device-error" and ios(done, "read") > 0
    assert done.took_s < BROKEN_OFF_S
    again = start(tmp_path, plan, serial, "--backend", backend).end()
    assert again.code == 2 and f"no device has serial '{serial}'" in again.err
