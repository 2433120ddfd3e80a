"""A power cut in the middle of a session, and a restart that moves the drives."""

from __future__ import annotations

import pytest
from machine import CUT_OFF, NEEDS_VMLAB, Ended, check, run_in_vm

pytestmark = NEEDS_VMLAB


@pytest.mark.promise("resume.kept")
def test_power_cut(tmp_path, renew):
    first = run_in_vm("guest_cut.py", "small", "nvme", "scsi", disks=tmp_path)
    check("cut", Ended(first.code - CUT_OFF, first.out, first.err), renew=False)
    second = run_in_vm("guest_resume.py", "nvme", "small", "scsi", disks=tmp_path)
    check("resume", second, renew)
