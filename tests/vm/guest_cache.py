"""Inside the machine: an NVMe and a SCSI drive with volatile caches lose their power.

The emulator keeps each in a test device of the host outside, which has the cache. The
commands of the lab file ask for the cut there, by files in a folder that both see.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from guest import call, lab_file, plan_file

SHARED = Path(os.environ["IOPLAN_LAB_SHARED"])
TOLD = 'touch "$0/$1"; while test -e "$0/$1"; do sleep 0.1; done'
PLAN = """
  run random 16KiB 0/100, qd 4, region 0%..10%, flush every 16, verify for 1min,
    cut power at 4s..6s
  run sequential 16KiB 100/0, region 0%..10%, verify, 1 pass as after
"""


@pytest.mark.parametrize("drive", ["small", "scsi"])
def test_the_drive_loses_its_power(drive: str, tmp_path: Path) -> None:
    serial = f"VMLAB-{drive.upper()}"
    off, on = (
        json.dumps(["sh", "-c", TOLD, str(SHARED), f"{drive}-{word}"])
        for word in ("off", "on")
    )
    lab = f'[targets.drive]\nserial = "{serial}"\nwritable = true\n'
    lab += f"power_control = {{ off = {off}, on = {on} }}\n"
    done = call(
        tmp_path,
        *("run", plan_file(tmp_path, PLAN), "--json", "--backend", "io_uring"),
        *("--lab", lab_file(tmp_path, lab), "--target", "drive", "--fresh"),
        *("--overwrite-data", serial, "--overwrite", serial),
        *("--store", tmp_path / "results.db"),
    )
    print(done)
    (SHARED / f"{drive}.json").write_text(json.dumps(done.records))
    assert done.code in (0, 3), done.err
