"""`ioplan doctor`: each check of a machine where all is well, and of one where not."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import ioplan
from made_machine import CPU, put

from ioplan.backends import Availability
from ioplan.cli.commands import doctor
from ioplan.runner import Tree
from ioplan.runner.doctor import checks
from ioplan.runner.doctor.checks import CHECKS, Finding, Machine, findings
from targets import mounted, needs_root

LIMITS = "Limit  Soft Limit  Hard Limit  Units\nMax locked memory  {}  {}  bytes"
KERNEL = "proc/sys/kernel/io_uring"
GOVERNOR = f"{CPU}/cpu0/cpufreq/scaling_governor"
CURRENT = f"{checks.CLOCK}/current_clocksource"
DEBIAN = "NAME=Debian\nID=debian"
HERE = Availability(usable=True, version="3.42")
GONE = Availability(usable=False, reason="it is not installed")
SYNC = Availability(usable=True, reason="in sync mode", version="3.42")


def machine(root: Path, backend: Availability = HERE, **facts: Any) -> Machine:
    """A user's machine: files below a root, and no programs but those in `bin`."""
    fresh = {"user": 1000, "groups": (1000,), "programs": str(root / "bin")}
    return Machine(lambda name: backend, tree=Tree(root=root), **(fresh | facts))


def drive(root: Path, mode: int) -> None:
    put(root, **{"sys/block/nvme0n1/size": 8, "sys/block/loop0/size": 8})
    put(root, **{"dev/nvme0n1": "", "dev/loop0": ""})
    (root / "dev/nvme0n1").chmod(mode)
    (root / "dev/loop0").chmod(0)


def program(root: Path, name: str) -> None:
    put(root, **{f"bin/{name}": "#!/bin/sh"})
    (root / "bin" / name).chmod(0o755)


def files(**texts: str | int) -> Callable[[Path], None]:
    return lambda root: put(root, **texts)


Case = tuple[Callable[[Machine], Finding], Callable[[Path], None], dict[str, Any], str]
WELL: dict[str, Case] = {
    "engine": (checks.check_engine, files(), {}, "version 3.42"),
    "io_uring": (checks.check_io_uring, files(**{f"{KERNEL}_disabled": 0}), {}, ""),
    "io_uring of its group": (
        checks.check_io_uring,
        files(**{f"{KERNEL}_disabled": 1, f"{KERNEL}_group": 7}),
        {"groups": (7,)},
        "",
    ),
    "locked memory": (
        checks.check_locked_memory,
        files(**{"proc/self/limits": LIMITS.format(1 << 30, 1 << 30)}),
        {},
        "",
    ),
    "drives": (checks.check_drives, lambda root: drive(root, 0o666), {}, "nvme0n1 can"),
    "fio": (checks.check_fio, files(), {}, "3.42"),
    "SPDK": (checks.check_spdk, files(), {}, "3.42"),
    "huge pages": (
        checks.check_huge_pages,
        files(**{"proc/meminfo": "HugePages_Total:  512\nHugePages_Free:   12"}),
        {},
        "12 free",
    ),
    "browser": (
        checks.check_browser,
        lambda root: program(root, "chromium"),
        {},
        "bin/chromium",
    ),
    "PostgreSQL": (checks.check_postgres, files(), {"has_package": lambda name: 1}, ""),
    "clock": (checks.check_clock, files(**{CURRENT: "tsc"}), {}, "tsc"),
    "governor": (checks.check_governor, files(**{GOVERNOR: "performance"}), {}, "perf"),
}
ILL: dict[str, Case] = {
    "engine": (checks.check_engine, files(), {"backend": GONE}, "make demo"),
    "io_uring": (
        checks.check_io_uring,
        files(**{f"{KERNEL}_disabled": 2}),
        {},
        "sysctl kernel.io_uring_disabled=0",
    ),
    "io_uring in a container": (
        checks.check_io_uring,
        files(**{f"{KERNEL}_disabled": 0}),
        {"backend": SYNC},
        "seccomp=unconfined",
    ),
    "io_uring of another group": (
        checks.check_io_uring,
        files(**{f"{KERNEL}_disabled": 1, f"{KERNEL}_group": 7}),
        {},
        "sysctl kernel.io_uring_disabled=0",
    ),
    "locked memory": (
        checks.check_locked_memory,
        files(**{"proc/self/limits": LIMITS.format(65536, 65536)}),
        {},
        "memlock unlimited",
    ),
    "drives": (
        checks.check_drives,
        lambda root: drive(root, 0),
        {},
        "usermod -aG disk",
    ),
    "fio": (
        checks.check_fio,
        files(**{"etc/os-release": DEBIAN}),
        {"backend": GONE},
        "apt install fio",
    ),
    "fio on a system like another": (
        checks.check_fio,
        files(**{"etc/os-release": 'ID=rocky\nID_LIKE="rhel centos fedora"'}),
        {"backend": GONE},
        "dnf install fio",
    ),
    "SPDK": (checks.check_spdk, files(), {"backend": GONE}, "IOPLAN_SPDK_DIR"),
    "huge pages": (
        checks.check_huge_pages,
        files(**{"proc/meminfo": "HugePages_Total:    0\nHugePages_Free:    0"}),
        {},
        "vm.nr_hugepages",
    ),
    "browser": (
        checks.check_browser,
        files(**{"etc/os-release": DEBIAN}),
        {},
        "apt install chromium",
    ),
    "PostgreSQL": (
        checks.check_postgres,
        files(),
        {"has_package": lambda name: None},
        "ioplan[postgres]",
    ),
    "clock": (
        checks.check_clock,
        files(**{CURRENT: "hpet", f"{checks.CLOCK}/available_clocksource": "hpet tsc"}),
        {},
        "echo tsc",
    ),
    "governor": (
        checks.check_governor,
        files(**{GOVERNOR: "powersave"}),
        {},
        "cpupower frequency-set",
    ),
}


@pytest.mark.parametrize("case", WELL.values(), ids=WELL)
def test_all_is_well(tmp_path: Path, case: Case) -> None:
    check, make, facts, text = case
    make(tmp_path)
    found = check(machine(tmp_path, **facts))
    assert (found.state, found.mend) == ("works", "") and text in found.text


@pytest.mark.parametrize("case", ILL.values(), ids=ILL)
@pytest.mark.promise("first_minutes.doctor")
def test_what_does_not_work_has_a_command_that_mends_it(
    tmp_path: Path, case: Case
) -> None:
    check, make, facts, mend = case
    make(tmp_path)
    found = check(machine(tmp_path, **facts))
    assert found.state != "works" and mend in found.mend and found.text


def test_every_check_is_tried_with_both_outcomes() -> None:
    assert {case[0] for case in WELL.values()} == set(CHECKS)
    assert {case[0] for case in ILL.values()} == set(CHECKS)


def test_an_engine_without_io_uring_says_why(tmp_path: Path) -> None:
    sync = Availability(usable=True, reason="in sync mode: a container's filter")
    found = checks.check_engine(machine(tmp_path, backend=sync))
    assert (found.state, found.text) == ("limited", sync.reason)


def test_the_exit_code_tells_whether_anything_can_do_io(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for here, code in ((HERE, 0), (GONE, 1)):
        monkeypatch.setattr(doctor, "_availability", lambda name, lab, h=here: h)
        done = ioplan("doctor")
        assert done.code == code and "locked memory" in done.out
    rows = json.loads(ioplan("doctor", "--json").out)
    (gone,) = [one for one in rows if one["name"] == "fio"]
    assert gone["state"] == "no" and "fio" in gone["mend"]


@needs_root
@pytest.mark.machine
def test_a_drive_that_the_system_does_not_open_is_not_said_to_open(
    tmp_path: Path,
) -> None:
    """As in a container: its permissions allow it, and the kernel refuses."""
    drive(tmp_path, 0o666)
    with mounted(Path("none"), tmp_path / "dev", "-t", "tmpfs", "-o", "nodev"):
        node = tmp_path / "dev/nvme0n1"
        os.mknod(node, stat.S_IFBLK, os.makedev(7, 0))
        node.chmod(0o666)
        found = checks.check_drives(machine(tmp_path))
    assert found.state == "limited" and "refuses to open nvme0n1" in found.text


@pytest.mark.slow
def test_this_machine(tmp_path: Path) -> None:
    names = [one.name for one in findings(Machine(lambda name: HERE))]
    assert len(set(names)) == len(names) == len(CHECKS)
    done = ioplan("doctor")
    assert done.code == 0 and all(name in done.out for name in names)
