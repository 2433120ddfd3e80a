"""Inside the machine: the kernel's `io.max` holds a drive back, and is found."""

from __future__ import annotations

import os
import re
from pathlib import Path

from guest import call, lab_file, namespace, sh

GROUPS = Path("/tmp/cgroup")
LIMIT_IOPS = 400
SUSTAINS = re.compile(r"sustains (\S+) IOPS")


def limited(device: Path) -> Path:
    """A group of version 2 in which the device does so many reads in a second."""
    GROUPS.mkdir()
    sh("mount", "-t", "cgroup2", "none", GROUPS)
    (GROUPS / "cgroup.subtree_control").write_text("+io")
    (group := GROUPS / "ioplan").mkdir()
    number = device.stat().st_rdev
    of = f"{os.major(number)}:{os.minor(number)}"
    (group / "io.max").write_text(f"{of} riops={LIMIT_IOPS}")
    return group


def test_the_limit_of_io_max_is_found(tmp_path):
    """It gives no burst; the command inherits the group of the test."""
    group = limited(namespace("VMLAB-SMALL"))
    lab = lab_file(tmp_path, '[targets.drive]\nserial = "VMLAB-SMALL"\n')
    times = {"drain": "5s", "rest": "1s", "again": "2s", "depth": "8"}
    sets = [word for name in times for word in ("--set", f"{name}={times[name]}")]
    (group / "cgroup.procs").write_text(str(os.getpid()))
    try:
        done = call(
            tmp_path,
            *("run", "cloud/limits", "--lab", lab, "--target", "drive"),
            *("--test", "L1 IOPS", "--interval", "500ms", *sets),
            *("--store", tmp_path / "results.db"),
        )
    finally:
        (GROUPS / "cgroup.procs").write_text(str(os.getpid()))
    assert done.code == 0, str(done)
    shown = call(tmp_path, "show", "--tables", "--store", tmp_path / "results.db")
    found = SUSTAINS.search(" ".join(shown.out.split()))
    assert found, shown.out
    assert abs(float(found[1].replace(",", "")) / LIMIT_IOPS - 1) < 0.05, found[0]
