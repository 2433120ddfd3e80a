"""The guard, purges, commands and settings on NVMe drives: what no loop device can show."""

from __future__ import annotations

from machine import NEEDS_VMLAB, check, run_in_vm

pytestmark = NEEDS_VMLAB
SCRIPTS = "guest_guard.py guest_paths.py guest_purge.py guest_engine.py guest_host.py"
"""In one machine, as its start takes as long as several of these."""


def test_guard_and_ways_to_a_drive(renew: bool) -> None:
    ended = run_in_vm(SCRIPTS, "nvme", "small", "multi", "zoned", "pi")
    check("guard", ended, renew)
