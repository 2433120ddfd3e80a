"""What no loop device can show: a drive's own purge, and commands it takes as they are."""

from __future__ import annotations

import pytest
from machine import check, needs_vmlab, run_in_vm


@needs_vmlab
@pytest.mark.timeout(1800)
def test_purges_and_ways_to_a_drive(renew: bool) -> None:
    scripts = "guest_purge.py guest_engine.py"
    check("nvme", run_in_vm(scripts, "nvme", "pi"), renew)
