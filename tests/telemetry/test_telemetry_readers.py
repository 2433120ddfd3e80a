"""Readers of /proc and /sys, on made-up trees and on this machine's own."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
from made_machine import CPU, heat, nvme, put, rapl

from ioplan.records import Telemetry
from ioplan.runner import TICKS_PER_S, Disk, Tree, disk_of, domains, machine_times
from ioplan.runner.telemetry.cpu_facts import (
    cpu_throttles,
    distortions,
    frequencies_mhz,
    frequency_files,
    governor,
    mitigations,
)
from ioplan.runner.telemetry.disk import mount_of
from ioplan.runner.telemetry.instruments import heat_warnings
from ioplan.runner.telemetry.power import drive_temperature, non_overlapping
from ioplan.runner.telemetry.sample import own_times
from ioplan.runner.telemetry.sensors import KERNEL_THREAD, OtherPrograms
from ioplan.runner.telemetry.topology import topology

HERE = Tree()


def _process(root: Path, pid: int, *times: int, flags: int = 0) -> None:
    """`times`: user, kernel, and both of children that have ended, in ticks."""
    before = f"{pid} (a ) b) S 1 1 1 0 -1 {flags} 0 0 0 0"
    put(root, **{f"proc/{pid}/stat": f"{before} {' '.join(map(str, times))} 20 0 1"})


def test_other_programs_are_neither_ours_nor_kernel_threads(tmp_path: Path) -> None:
    own = os.getpid()
    put(tmp_path, **{f"proc/{own}/task/{own}/children": "41 "})
    for pid in (own, 41):
        _process(tmp_path, pid, 900, 900, 900, 900)
    _process(tmp_path, 50, 10, 20, 30, 40)
    _process(tmp_path, 51, 1, 2, 3, 4)
    others = OtherPrograms(Tree(tmp_path))
    assert others.times(is_start=True) is None, "these hide what else there is"
    _process(tmp_path, 2, 900, 900, 900, 900, flags=KERNEL_THREAD | 64)
    found = others.times(is_start=True)
    assert found and found.user_s == pytest.approx(44 / TICKS_PER_S)
    assert found.all_s == pytest.approx(110 / TICKS_PER_S)
    others.next_s = time.monotonic() + 1000
    assert others.times() is None and others.times(is_start=True)


def test_a_child_that_ends_between_two_rows_is_counted(tmp_path: Path) -> None:
    """It is waited for when its parent's row was read, and its own was not."""
    own = os.getpid()
    put(tmp_path, **{f"proc/{own}/task/{own}/children": "41 "})
    _process(tmp_path, own, 10, 0, 0, 0)

    class Reaping(Tree):
        def text(self, path: str) -> str:
            if path == "proc/41/stat":
                _process(tmp_path, own, 10, 0, 300, 0)
                return ""
            return super().text(path)

    found = own_times(Reaping(tmp_path))
    assert found and found.all_s == pytest.approx(310 / TICKS_PER_S)


def test_nothing_there_is_nothing_read(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    assert machine_times(tree) is None and own_times(tree) is None
    assert frequency_files(tree) == [] and frequencies_mhz([tmp_path / "no"]) == ()
    assert domains(tree) == [] and cpu_throttles(tree) is None
    assert governor(tree) is None and mitigations(tree) == {}
    assert Disk(tmp_path / "gone", is_target=True).counts() is None


@pytest.mark.slow
def test_this_machine_is_busy_while_it_is_used() -> None:
    before, usage, began_s = machine_times(HERE), _children(), time.monotonic()
    _burn(user=True)
    after, used, length_s = machine_times(HERE), _children(), time.monotonic() - began_s
    assert before and after
    busy_s = sum(after.busy_s(before, length_s).values())
    assert busy_s > 0.9 * (sum(used) - sum(usage)) - 0.02
    assert after.switches > before.switches
    assert len(after.unused_s) == os.sysconf("SC_NPROCESSORS_ONLN")


@pytest.mark.slow
@pytest.mark.parametrize("user", [True, False])
def test_own_time_counts_children_that_have_ended_as_the_kernel_does(
    user: bool,
) -> None:
    """Compared with getrusage, which knows no more than reaped children."""
    before, usage = own_times(HERE), _children()
    _burn(user)
    after, used = own_times(HERE), _children()
    assert before and after
    ticks = pytest.approx
    in_kernel = (after.all_s - after.user_s) - (before.all_s - before.user_s)
    assert after.user_s - before.user_s == ticks(used[0] - usage[0], abs=0.1)
    assert in_kernel == ticks(used[1] - usage[1], abs=0.1)
    mostly = after.user_s - before.user_s if user else in_kernel
    assert mostly > BURNT_S - 2 / TICKS_PER_S


@pytest.mark.slow
def test_own_time_counts_children_that_run() -> None:
    before = own_times(HERE)
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as child:
        try:
            for _ in range(1000):
                os.sched_yield()
                now = own_times(HERE, child.pid)
                if now and now.user_s > 0.2:
                    break
                subprocess.run(["sleep", "0.01"], check=True)
            after = own_times(HERE)
        finally:
            child.kill()
    assert before and after and now
    assert now.user_s > 0.2 and after.user_s - before.user_s >= 0.2


BURNT_S = 0.25
BURN = """
import os, sys
kind, long_s = sys.argv[1], float(sys.argv[2])
zeros, buffer = open("/dev/zero", "rb", buffering=0), bytearray(1 << 20)
while getattr(os.times(), kind) < long_s:
    if kind == "system":
        zeros.readinto(buffer)
    else:
        sum(range(100_000))
"""


def _burn(user: bool) -> None:
    """CPU time of a child, nearly all of one kind, and as much on any machine."""
    kind = "user" if user else "system"
    command = [sys.executable, "-c", BURN, kind, str(BURNT_S)]
    subprocess.run(command, check=True, capture_output=True)


def _children() -> tuple[float, float]:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime, usage.ru_stime


def test_frequencies_are_in_the_order_of_the_cpus(tmp_path: Path) -> None:
    for number in range(12):
        name = f"{CPU}/cpu{number}/cpufreq/scaling_cur_freq"
        put(tmp_path, **{name: 1_000_000 + number * 1000})
    found = frequencies_mhz(frequency_files(Tree(tmp_path)))
    assert found == tuple(1000.0 + number for number in range(12))


def test_a_disks_counters(tmp_path: Path) -> None:
    found = Disk(nvme(tmp_path), is_target=True).counts()
    assert found
    assert (found.read_ios, found.read_bytes) == (10, 80 * 512)
    assert (found.write_ios, found.write_bytes) == (20, 320 * 512)
    assert (found.busy_ms, found.queued_ms, found.inflight) == (500, 900, 3)


def test_a_files_disk_counts_what_is_written_to_it(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    disk = disk_of(HERE, str(file))
    if disk is None:
        pytest.skip("LEFT OUT: the test's folder is on no block device seen in /sys")
    before = disk.counts()
    with file.open("wb") as out:
        out.write(os.urandom(4 << 20))
        out.flush()
        os.fsync(out.fileno())
    after = disk.counts()
    assert before and after and not disk.is_target
    assert after.write_bytes - before.write_bytes >= 4 << 20
    assert after.busy_ms >= before.busy_ms


@pytest.mark.slow
def test_a_files_mount_is_the_one_that_the_kernel_knows(tmp_path: Path) -> None:
    mount = mount_of(HERE, str(tmp_path))
    asked = [
        "findmnt",
        "--noheadings",
        "--output=FSTYPE,TARGET",
        f"--target={tmp_path}",
    ]
    told = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    assert mount and told.split() == [mount.kind, mount.where]


def test_energy_goes_on_behind_the_end_of_its_counter(tmp_path: Path) -> None:
    rapl(tmp_path, package=999_000_000, dram=5)
    package, memory = domains(Tree(tmp_path))
    assert (package.name, memory.name) == ("package-0", "package-0 dram")
    assert package.now_uj() == 999_000_000
    assert package.between_j(999_000_000, 1_000_000) == pytest.approx(2.0)
    assert package.between_j(1_000_000, 3_000_000) == pytest.approx(2.0)


def test_what_is_within_another_is_not_counted_twice() -> None:
    names = ["package-0", "package-0 core", "package-0 dram", "package-1"]
    assert non_overlapping(names) == ["package-0", "package-0 dram", "package-1"]
    assert non_overlapping([*names, "psys"]) == ["psys"]
    assert non_overlapping(["core"]) == []


def test_where_a_drive_is(tmp_path: Path) -> None:
    disk = Disk(nvme(tmp_path), is_target=True)
    found = topology(Tree(tmp_path), "/dev/nvme0n1", disk)
    assert found["device"] == "nvme0n1" and found["scheduler"] == "none"
    assert found["pci_address"] == "0000:00:03.0" and found["numa_node"] == 1
    assert found["irq_affinity"] == {"9": "4", "40": "0-3"}
    assert "mount_options" not in found


def _host(**more: object) -> dict[str, object]:
    target = {
        "device": "nvme0n1",
        "numa_node": 1,
        "current_link_width": "4",
        "max_link_width": "4",
        "current_link_speed": "16.0 GT/s PCIe",
        "max_link_speed": "16.0 GT/s PCIe",
        "write_cache": "write through",
    }
    host = {
        "governor": "performance",
        "numa_nodes": {"0": "0-3", "1": "4-7"},
        "cpus_allowed": [4, 5],
    }
    host |= {name: value for name, value in more.items() if name in host}
    target |= {name: value for name, value in more.items() if name in target}
    return {**host, "target": target}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, ""),
        ({"governor": "performance, powersave"}, "powersave"),
        ({"cpus_allowed": [3]}, "numactl --cpunodebind=1"),
        ({"cpus_allowed": [3, 4]}, ""),
        ({"current_link_width": "2"}, "2 lanes of 4"),
        ({"current_link_speed": "8.0 GT/s PCIe"}, "8.0 GT/s PCIe of 16.0 GT/s"),
        ({"device": "sda"}, "write cache is off"),
        ({"device": "sda", "write_cache": "write back"}, ""),
        ({"cpus_allowed": [0], "numa_nodes": {"0": "0-7"}}, ""),
        ({"current_link_speed": "Unknown", "max_link_speed": "Unknown"}, ""),
    ],
)
def test_what_distorts_is_said(more: dict[str, object], said: str) -> None:
    found = list(distortions(_host(**more)))
    assert len(found) == bool(said)
    assert said in "".join(found)


def _telemetry(**more: object) -> Telemetry:
    return Telemetry.model_validate({"covered_s": 1.0, "intervals": 1, **more})


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, ""),
        ({"temperature_max_celsius": 69.0}, ""),
        ({"temperature_max_celsius": 70.0}, "reached 70 °C"),
        ({"steal_percent": 30.0}, "hypervisor stole 30 %"),
        ({"cpu_throttles": 3}, "3 times"),
        ({"smart_after": {"critical_warning": 4}}, "critical warning"),
        (
            {
                "smart_before": {"warning_temp_time": 5, "thm_temp1_trans_count": 2},
                "smart_after": {"warning_temp_time": 6, "thm_temp1_trans_count": 2},
            },
            "(warning_temp_time of SMART rose)",
        ),
    ],
)
def test_a_run_that_heat_has_slowed_down_says_so(
    tmp_path: Path, more: dict[str, object], said: str
) -> None:
    sensor = drive_temperature(nvme(tmp_path))
    found = list(heat_warnings(_telemetry(**more), sensor))
    assert len(found) == bool(said) and said in "".join(found)


def test_a_drives_temperature_in_both_places_of_the_kernel(tmp_path: Path) -> None:
    disk = nvme(tmp_path)
    sensor = drive_temperature(disk)
    assert sensor and sensor.now() == pytest.approx(41.85)
    heat(tmp_path, -3.0)
    assert sensor.now() == pytest.approx(-3.0)
    older = tmp_path / "sys/block/sda"
    put(older, **{"device/hwmon/hwmon1/temp1_input": 30000})
    found = drive_temperature(older)
    assert found and found.now() == 30.0
    assert drive_temperature(tmp_path) is None


def test_throttles_are_counted_over_all_cpus(tmp_path: Path) -> None:
    for number in range(3):
        put(tmp_path, **{f"{CPU}/cpu{number}/thermal_throttle/core_throttle_count": 2})
    assert cpu_throttles(Tree(tmp_path)) == 6
