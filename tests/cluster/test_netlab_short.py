"""The main path of a lab of several hosts whose worker is killed: nothing is lost.

`make test-long` has the rest, in `test_netlab.py`.
"""

from __future__ import annotations

from pathlib import Path

from netlab import NEEDS_NETNS, netlab, wait_for
from test_netlab import FEW_CELLS, attached, audit, detached, plan, stored, up

pytestmark = NEEDS_NETNS


def test_a_worker_is_killed_in_a_job(tmp_path: Path) -> None:
    with netlab(tmp_path, "h1", "h2", shared=True) as lab:
        lab.close_ports()
        up(lab)
        job = detached(lab, plan(tmp_path, "1s", FEW_CELLS))
        wait_for(lambda: stored(lab.hosts["h1"], job))
        lab.hosts["h1"].kill("worker")
        assert "h1: started" in up(lab)
        assert "h2-drive" in attached(lab, job)
        audit(lab, job, FEW_CELLS)
