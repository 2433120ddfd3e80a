"""NVMe drives that fail under I/O: bad sectors, stalls, surprise removal."""

from __future__ import annotations

from machine import NEEDS_VMLAB, check, run_in_vm

pytestmark = NEEDS_VMLAB


def test_faults(renew: bool) -> None:
    ended = run_in_vm("guest_faults.py", "bad", "slow", "nvme", "small")
    check("faults", ended, renew)
