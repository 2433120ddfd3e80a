"""`ioplan doctor`: each check of a machine where all is well, and of one where not."""

import getpass
import json
import os
import platform
import stat
from pathlib import Path
from typing import Any

import pytest
from command import ioplan
from made_machine import CPU, put

from ioplan.backends import Availability
from ioplan.cli.commands.doctor import redacted
from ioplan.runner import Tree
from ioplan.runner.doctor.checks import Machine, findings
from targets import mounted, needs_root

LIMITS = "Limit  Soft Limit  Hard Limit  Units\nMax locked memory  {}  {}  bytes"
GOVERNOR = f"{CPU}/cpu0/cpufreq/scaling_governor"
HERE = Availability(usable=True, version="3.42")
GONE = Availability(usable=False, reason="it is not installed")
SYNC = Availability(usable=True, reason="in sync mode", version="3.42")


def machine(root, backend=HERE, **facts):
    """A user's machine: files below a root, and no programs but those in `bin`."""
    fresh = {"user": 1000, "groups": (1000,), "programs": str(root / "bin")}
    return Machine(lambda name: backend, tree=Tree(root=root), **(fresh | facts))


def drive(root, mode):
    put(root, **{"sys/block/nvme0n1/size": 8, "sys/block/loop0/size": 8})
    put(root, **{"dev/nvme0n1": "", "dev/loop0": ""})
    (root / "dev/nvme0n1").chmod(mode)
    (root / "dev/loop0").chmod(0)


def program(root, name):
    put(root, **{f"bin/{name}": "#!/bin/sh"})
    (root / "bin" / name).chmod(0o755)


ENGINE = "proc/sys/kernel/io_uring_disabled"
OF_GROUP = {ENGINE: 1, "proc/sys/kernel/io_uring_group": 7}
PAGES = "HugePages_Total:  {}\nHugePages_Free:   {}"
CLOCK = "sys/devices/system/clocksource/clocksource0"
HPET = {
    f"{CLOCK}/current_clocksource": "hpet",
    f"{CLOCK}/available_clocksource": "hpet tsc",
}
DEBIAN = {"etc/os-release": "NAME=Debian\nID=debian"}
ROCKY = {"etc/os-release": 'ID=rocky\nID_LIKE="rhel centos fedora"'}
AWAY = {"backend": GONE}
NO_PACKAGE = {"has_package": lambda name: None}
AVAILABILITY = "ioplan.cli.commands.doctor._availability"
Row = tuple[str, dict[str, str | int], dict[str, Any], str]
WELL: list[Row] = [
    ("engine", {}, {}, "version 3.42"),
    ("io_uring", {ENGINE: 0}, {}, ""),
    ("io_uring", OF_GROUP, {"groups": (7,)}, ""),
    ("locked memory", {"proc/self/limits": LIMITS.format(1 << 30, 1 << 30)}, {}, ""),
    ("drives", {"mode": 0o666}, {}, "nvme0n1 can"),
    ("fio", {}, {}, "3.42"),
    ("SPDK", {}, {}, "3.42"),
    ("huge pages", {"proc/meminfo": PAGES.format(512, 12)}, {}, "12 free"),
    ("browser", {"bin/chromium": "#!/bin/sh"}, {}, "bin/chromium"),
    ("PostgreSQL", {}, {"has_package": lambda name: 1}, ""),
    ("clock", {f"{CLOCK}/current_clocksource": "tsc"}, {}, "tsc"),
    ("governor", {GOVERNOR: "performance"}, {}, "perf"),
]
ILL: list[Row] = [
    ("engine", {}, AWAY, "make demo"),
    ("io_uring", {ENGINE: 2}, {}, "sysctl kernel.io_uring_disabled=0"),
    ("io_uring", {ENGINE: 0}, {"backend": SYNC}, "seccomp=unconfined"),
    ("io_uring", OF_GROUP, {}, "sysctl kernel.io_uring_disabled=0"),
    ("locked memory", {"proc/self/limits": LIMITS.format(65536, 65536)}, {}, "memlock unlimited"),
    ("drives", {"mode": 0}, {}, "usermod -aG disk"),
    ("fio", DEBIAN, AWAY, "apt install fio"),
    ("fio", ROCKY, AWAY, "dnf install fio"),
    ("SPDK", {}, AWAY, "IOPLAN_SPDK_DIR"),
    ("huge pages", {"proc/meminfo": PAGES.format(0, 0)}, {}, "vm.nr_hugepages"),
    ("browser", DEBIAN, {}, "apt install chromium"),
    ("PostgreSQL", {}, NO_PACKAGE, "ioplan[postgres]"),
    ("clock", HPET, {}, "echo tsc"),
    ("governor", {GOVERNOR: "powersave"}, {}, "cpupower frequency-set"),
]  # fmt: skip


def found_of(root, row):
    """The finding of a row on its machine."""
    name, texts, facts, _ = row
    if "mode" in texts:
        drive(root, int(texts["mode"]))
    put(root, **{path: text for path, text in texts.items() if path != "mode"})
    for program in root.glob("bin/*"):
        program.chmod(0o755)
    (finding,) = (one for one in findings(machine(root, **facts)) if one.name == name)
    return finding


@pytest.mark.parametrize("row", WELL, ids=lambda row: row[0])
def test_all_is_well(tmp_path, row):
    found = found_of(tmp_path, row)
    assert (found.state, found.mend) == ("works", "") and row[3] in found.text


@pytest.mark.parametrize("row", ILL, ids=lambda row: row[0])
@pytest.mark.promise("first_minutes.doctor")
def test_what_does_not_work_has_a_command_that_mends_it(tmp_path, row):
    found = found_of(tmp_path, row)
    assert found.state != "works" and row[3] in found.mend and found.text


def test_every_check_is_tried_with_both_outcomes(tmp_path):
    names = {one.name for one in findings(machine(tmp_path))}
    assert {row[0] for row in WELL} == {row[0] for row in ILL} == names


def test_an_engine_without_io_uring_says_why(tmp_path):
    sync = Availability(usable=True, reason="in sync mode: a container's filter")
    found = found_of(tmp_path, ("engine", {}, {"backend": sync}, ""))
    assert (found.state, found.text) == ("limited", sync.reason)


def test_the_exit_code_tells_whether_anything_can_do_io(monkeypatch):
    for here, code in ((HERE, 0), (GONE, 1)):
        monkeypatch.setattr(AVAILABILITY, lambda name, lab, h=here: h)
        done = ioplan("doctor")
        assert done.code == code and "locked memory" in done.out
    rows = json.loads(ioplan("doctor", "--json").out)
    (gone,) = [one for one in rows if one["name"] == "fio"]
    assert gone["state"] == "no" and "fio" in gone["mend"]


@needs_root
@pytest.mark.machine
def test_a_drive_that_the_system_does_not_open_is_not_said_to_open(tmp_path):
    """As in a container: its permissions allow it, and the kernel refuses."""
    drive(tmp_path, 0o666)
    with mounted(Path("none"), tmp_path / "dev", "-t", "tmpfs", "-o", "nodev"):
        node = tmp_path / "dev/nvme0n1"
        os.mknod(node, stat.S_IFBLK, os.makedev(7, 0))
        node.chmod(0o666)
        found = found_of(tmp_path, ("drives", {}, {}, ""))
    assert found.state == "limited" and "refuses to open nvme0n1" in found.text


@pytest.mark.slow
def test_this_machine(tmp_path):
    names = [one.name for one in findings(Machine(lambda name: HERE))]
    assert len(set(names)) == len(names)
    done = ioplan("doctor")
    assert done.code == 0 and all(name in done.out for name in names)


# doctor --report: it may be shown to everybody, and says enough

PLAN = 'test "T" { run random 4KiB 100/0 for 1s }'


@pytest.fixture
def home(tmp_path, monkeypatch):
    folder = tmp_path / "home" / "olga"
    folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("IOPLAN_STORE", str(folder / "r.db"))
    monkeypatch.setattr(getpass, "getuser", lambda: "olga")
    monkeypatch.setattr(platform, "node", lambda: "lab7.example.org")
    return folder


def test_it_says_versions_machine_and_the_last_session(home):
    (home / "p.ioplan").write_text(PLAN)
    assert ioplan("run", home / "p.ioplan", "--backend", "sim").code == 0
    out = ioplan("doctor", "--report").out
    assert out.startswith("```\nioplan ") and out.endswith("```\n")
    assert platform.release() in out and "pydantic " in out and "engine" in out
    assert "last session: ok, by sim on a simulated drive" in out
    for name in ("olga", "lab7", "example.org", str(home)):
        assert name not in out


def test_without_a_session(home):
    assert "no session yet" in ioplan("doctor", "--report").out


def test_a_store_that_cannot_be_read_is_part_of_the_report(home, monkeypatch):
    (home / "r.db").write_bytes(b"no database " * 500)
    out = ioplan("doctor", "--report").out
    assert "no session can be read" in out and str(home) not in out


NAMED = {
    "home": "cannot read {home}/plans/x.ioplan",
    "user": "owned by olga, not by root",
    "host": "lab7.example.org does not answer; lab7 is away",
    "address": "connect to 192.168.17.4:8786 and fe80::1:2:3:4",
    "database": "postgresql://lab:secret@db7/results is away",
    "by-id": "/dev/disk/by-id/nvme-Samsung_SSD_980_S4EVNX0R123456 holds data",
    "wwn": "wwn-0x5000c500a1b2c3d4 and eui.0025385b01234567",
}


@pytest.mark.parametrize("name", NAMED)
def test_names_are_left_out(name, home):
    found = redacted(NAMED[name].format(home=home))
    secrets = ("olga", "lab7", "192.168", "fe80", "secret", "db7", "S4EVN")
    secrets += ("c500", "0025")
    assert not [one for one in secrets if one in found], found


def test_words_that_only_contain_a_name_stay(home):
    """And versions, times and sizes, which look like addresses."""
    text = "volgaless 3.42.1 at 10:20:31, kernel 6.18.5-amd64, 4KiB of 1.0 TB"
    assert redacted(text) == text
