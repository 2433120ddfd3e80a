"""NVMe drives that fail under I/O: bad sectors, stalls, surprise removal."""

from __future__ import annotations

import pytest
from machine import NEEDS_VMLAB, check, run_in_vm

from ioplan_testing import calmly

pytestmark = NEEDS_VMLAB


@pytest.mark.promise("errors.device")
def test_faults(renew):
    """What a drive's record says has times in it, which a busy host may stretch."""

    def checked(number):
        ended = run_in_vm("guest_faults.py", "bad", "slow", "nvme", "small")
        check("faults", ended, renew)

    calmly(checked)
