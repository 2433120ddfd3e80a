"""All faults, and what is demanded of each."""

from __future__ import annotations

import time
from pathlib import Path

from faults import Fault
from netlab import NetLab
from test_netlab import audit

from fault_rows import on_database, on_desks, on_hosts
from fault_rows.moments import Moments
from fault_rows.scene import Scene

FAULTS = on_hosts.FAULTS | on_database.FAULTS | on_desks.FAULTS
COMPLETE_S = 420
"""A store that was restored is noticed within 5 minutes."""


def row(lab: NetLab, folder: Path, fault: Fault) -> str:
    """The cells of the table after the fault's name. Raises AssertionError."""
    with Moments(lab) as moments:
        scene = Scene(lab, folder, moments)
        fault.happen(scene)
        ended_s = time.monotonic()
        scene.until_complete(COMPLETE_S)
        took_s = time.monotonic() - ended_s
    for job in scene.jobs:
        audit(lab, job, scene.cells)
    assert not moments.wrong, moments.wrong[0]
    stored = len(scene.jobs) * len(lab.hosts) * scene.cells
    return f"{stored} of {stored} | {moments} | {took_s:.0f} s | {fault.by_hand}"
