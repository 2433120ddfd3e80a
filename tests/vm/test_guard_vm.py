"""The guard on NVMe drives: what no loop device can show."""

from __future__ import annotations

import pytest
from machine import NEEDS_VMLAB, check, run_in_vm

pytestmark = NEEDS_VMLAB


@pytest.mark.promise("safety.block_device")
def test_guard(renew):
    ended = run_in_vm(
        "guest_guard.py guest_paths.py guest_limits.py",
        "nvme",
        "small",
        "multi",
        "zoned",
        "pi",
    )
    check("guard", ended, renew)
