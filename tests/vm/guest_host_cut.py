"""Inside the first of two machines: the plan's cut takes the machine along."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from guest import Call, mount_store
from guest_link import AT, reach_outside

SHARED = Path(os.environ["IOPLAN_LAB_SHARED"])
SERIAL = "VMLAB-SMALL"
PLAN = """test "T" {
  run random 16KiB 0/100, qd 4, region 0%..10%, flush every 16, verify for 5min,
    cut power at 4s..6s
  run sequential 16KiB 100/0, region 0%..10%, verify, 1 pass as after
  expect after.lost_flushed == 0
}
"""
LAB = """[targets.drive]
serial = "{serial}"
writable = true
journal = {{ at = "{at}", key = "{key}" }}
power_control = {{ off = {off}, this_host = true, timeout = "2min" }}
"""


def test_the_host_loses_its_power(tmp_path: Path) -> None:
    """Its end is the machine's."""
    store = mount_store(make=True)
    key = shutil.copy(SHARED / "journal.key", store / "journal.key")
    off = json.dumps(["sh", "-c", 'touch "$0/die"', str(SHARED)])
    (store / "plan.ioplan").write_text(PLAN)
    lab = LAB.format(serial=SERIAL, at=AT, key=key, off=off)
    (store / "lab.toml").write_text(lab)
    reach_outside()
    done = Call(
        tmp_path,
        *("run", store / "plan.ioplan", "--json", "--backend", "io_uring", "--fresh"),
        *("--lab", store / "lab.toml", "--target", "drive", "--overwrite", SERIAL),
        *("--overwrite-data", SERIAL, "--store", store / "results.db"),
    ).end()
    raise AssertionError(f"the machine still has its power: {done}")
