"""What no loop device can show: a drive's own purge, commands as they are, settings."""

from __future__ import annotations

from machine import NEEDS_VMLAB, check, run_in_vm

pytestmark = NEEDS_VMLAB


def test_purges_and_ways_to_a_drive(renew):
    scripts = "guest_purge.py guest_engine.py guest_host.py"
    check("nvme", run_in_vm(scripts, "nvme", "pi"), renew)
