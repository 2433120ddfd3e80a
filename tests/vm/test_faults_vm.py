"""NVMe drives that fail under I/O: bad sectors, stalls, surprise removal."""

from __future__ import annotations

import pytest
from machine import check, needs_vmlab, run_in_vm


@needs_vmlab
@pytest.mark.timeout(1800)
def test_faults(renew: bool) -> None:
    ended = run_in_vm("guest_faults.py", "bad", "slow", "nvme", "small")
    check("faults", ended, renew)
