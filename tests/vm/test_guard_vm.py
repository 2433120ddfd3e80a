"""The guard on NVMe drives: what no loop device can show."""

from __future__ import annotations

import pytest
from machine import check, needs_vmlab, run_in_vm


@needs_vmlab
@pytest.mark.timeout(1800)
def test_guard(renew: bool) -> None:
    ended = run_in_vm("guest_guard.py", "nvme", "small", "multi", "zoned", "pi")
    check("guard", ended, renew)
