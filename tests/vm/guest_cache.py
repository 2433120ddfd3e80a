"""Inside the machine: an NVMe drive with a volatile cache whose power is cut.

The emulator keeps the drive in a test device of the host outside, which has the cache. The
commands of the lab file ask for the cut there, by files in a folder that both see.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from guest import call, lab_file, plan_file

SHARED = Path(os.environ["IOPLAN_LAB_SHARED"])
SERIAL = "VMLAB-SMALL"
TOLD = 'touch "$0/$1"; while test -e "$0/$1"; do sleep 0.1; done'
PLAN = """
  run random 16KiB 0/100, qd 4, region 0%..10%, flush every 16, verify for 1min,
    cut power at 4s..6s
  run sequential 16KiB 100/0, region 0%..10%, verify, 1 pass as after
"""


def test_the_drive_loses_its_power(tmp_path):
    off, on = (
        json.dumps(["sh", "-c", TOLD, str(SHARED), word]) for word in ("off", "on")
    )
    lab = f'[targets.drive]\nserial = "{SERIAL}"\nwritable = true\n'
    lab += f"power_control = {{ off = {off}, on = {on} }}\n"
    done = call(
        tmp_path,
        *("run", plan_file(tmp_path, PLAN), "--json", "--backend", "io_uring"),
        *("--lab", lab_file(tmp_path, lab), "--target", "drive", "--fresh"),
        *("--overwrite-data", SERIAL, "--overwrite", SERIAL),
        *("--store", tmp_path / "results.db"),
    )
    print(done)
    (SHARED / "records.json").write_text(json.dumps(done.records))
    assert done.code in (0, 3), done.err
