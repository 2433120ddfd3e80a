"""A purge of NVMe drives: what no loop device can show."""

from __future__ import annotations

import pytest
from machine import check, needs_vmlab, run_in_vm


@needs_vmlab
@pytest.mark.timeout(1800)
def test_purges(renew: bool) -> None:
    check("purge", run_in_vm("guest_purge.py", "nvme", "pi", "zoned"), renew)
