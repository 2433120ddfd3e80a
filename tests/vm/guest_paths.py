"""Inside the machine: a path is taken away, and what the run says of it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from guest import Done, call, lab_file, namespace, plan_file, sh

MAPPED = Path("/dev/mapper/path")
INTERVAL_S = 0.5
PLAN = """
  run random 4KiB 100/0, qd 4, rate 100 iops{events} for {length}s
  expect gap < 20s
"""


def run(
    target: str, consent: str, folder: Path, length: int, **events: list[str]
) -> Done:
    """The events are a second after the start."""
    said = "".join(f', event "{name}" at 1s' for name in events)
    tables = [
        f'[events."{name}"]\ncommand = {json.dumps(command)}'
        for name, command in events.items()
    ]
    own = f"[targets.drive]\n{target}\nwritable = true"
    lab = lab_file(folder, "\n".join([own, *tables]))
    done = call(
        folder,
        *("run", plan_file(folder, PLAN.format(events=said, length=length)), "--json"),
        *("--lab", lab, "--target", "drive", "--overwrite", consent),
        *("--backend", "io_uring", "--store", folder / "results.db"),
        *("--interval", f"{INTERVAL_S * 1000:.0f}ms"),
    )
    print(done)
    return done


def gap_s(done: Done) -> float:
    """What the one record says."""
    (record,) = done.records
    assert record["status"] == "ok" and not record["total"]["errors"]
    return float(record["streams"][0]["gap_ns"]) / 1e9


class Stall:
    """The longest time that the kernel counts no completed read, sampled beside a run."""

    def __init__(self, device: Path) -> None:
        self.stat = Path("/sys/block") / device.name / "stat"
        self.longest_s, self.over = 0.0, threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def reads(self) -> int:
        return int(self.stat.read_text().split()[0])

    def watch(self) -> None:
        """From the first read until the last one."""
        first = last = self.reads()
        since_s = time.monotonic()
        while not self.over.wait(0.01):
            now_s, reads = time.monotonic(), self.reads()
            if reads != last:
                if last != first:
                    self.longest_s = max(self.longest_s, now_s - since_s)
                last, since_s = reads, now_s

    def __enter__(self) -> Stall:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()


def emptied(drive: Path) -> Path:
    """Without what earlier scenarios have left on it."""
    sh("blkdiscard", "--zeroout", "--force", drive)
    return drive


@pytest.fixture
def mapped() -> Iterator[Path]:
    """A device whose path to the drive can be closed: it then holds all I/O back."""
    drive = emptied(namespace("VMLAB-PLAIN", 2))
    sectors = sh("blockdev", "--getsz", drive).strip()
    sh("modprobe", "dm-mod")
    sh("dmsetup", "create", "path", "--table", f"0 {sectors} linear {drive} 0")
    sh("udevadm", "settle")
    yield MAPPED
    sh("dmsetup", "remove", "--retry", "path")


AWAY = """
dmsetup suspend --noflush --nolockfs path
read began _ </proc/uptime
sleep {}
read ended _ </proc/uptime
dmsetup resume path
echo $began $ended
"""


@pytest.mark.parametrize("held_s", [0.5, 2, 10])
def test_a_path_that_is_gone_for_a_while(held_s, mapped, tmp_path):
    """The gap is as long as the kernel held all I/O back, within one interval."""
    away = ["sh", "-c", AWAY.format(held_s)]
    length = 6 + int(held_s)
    target, consent = f'path = "{mapped}"', mapped.resolve().name
    done = run(target, consent, tmp_path, length, away=away)
    (record,) = done.records
    (event,) = record["events"]
    began, ended = map(float, event["output"].split())
    at_most_s = event["end_s"] - event["start_s"]
    assert held_s <= ended - began <= at_most_s
    assert ended - began - INTERVAL_S <= gap_s(done) <= at_most_s + INTERVAL_S


def test_one_of_two_paths_is_unplugged(tmp_path):
    """The kernel takes the other one: no I/O fails, and the gap is what it counts."""
    drive, before = emptied(namespace("VMLAB-MULTI")), controllers()
    unplug = {"execute": "device_del", "arguments": {"id": "nvme-multi-a"}}
    with Stall(drive) as stall:
        down = ["vmctl", json.dumps(unplug)]
        done = run('serial = "VMLAB-MULTI"', "VMLAB-MULTI", tmp_path, 12, down=down)
    assert gap_s(done) == pytest.approx(stall.longest_s, abs=INTERVAL_S)
    assert controllers() == before - 1


def controllers() -> int:
    """Those of NVMe that the machine has now."""
    return len(list(Path("/sys/class/nvme").glob("nvme*")))
