"""The main path of a lab of several hosts whose worker is killed: nothing is lost.

`make test-long` has the rest, in `test_netlab.py`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from netlab import NEEDS_NETNS, NetLab, netlab, wait_for
from test_netlab import FEW_CELLS, attached, audit, detached, plan, stored, up

pytestmark = NEEDS_NETNS


def no_drive_is_written_before_all_may_be(lab: NetLab, folder: Path) -> None:
    """The second host has somebody's archive on its drive, and says so."""
    first, second = (folder / f"{name}-drive.img" for name in ("h1", "h2"))
    with second.open("r+b") as disk:
        disk.write((b"PK\x03\x04" + b"precious" * 512)[:4096])
    before = first.read_bytes(), second.read_bytes()
    done = lab.coordinator.ioplan(*lab.run(plan(folder, "200ms", 1), "all"))
    assert done.returncode == 2
    assert "h2: " in done.stderr and f"--overwrite-data {second}" in done.stderr
    assert (first.read_bytes(), second.read_bytes()) == before
    with second.open("r+b") as disk:
        disk.write(bytes(4096))


def a_list_is_made_of_what_hosts_say(lab: NetLab, folder: Path) -> None:
    """They have no lab file; their parts of this one go with the question."""
    out = folder / "drives.json"
    words = ("lab", "consent", "drives", "all", "--lab", lab.file, "-o", out)
    done = lab.coordinator.ioplan(*words)
    assert done.returncode == 0, done.stderr
    rows = json.loads(out.read_text())
    assert [row["name"] for row in rows] == ["h1-drive", "h2-drive"]
    assert {row["verdict"] for row in rows} == {"writable"}


def drive_states(lab: NetLab) -> set[str]:
    """As a shell says it of both drives, from what their hosts wrote."""
    done = lab.coordinator.ioplan("lab", "drives", "--json", "--lab", lab.file)
    assert done.returncode == 0, done.stderr
    return {json.loads(line)["state"] for line in done.stdout.splitlines()}


@pytest.mark.long
def test_a_worker_is_killed_in_a_job(tmp_path: Path) -> None:
    with netlab(tmp_path, "h1", "h2", shared=True) as lab:
        lab.close_ports()
        up(lab)
        no_drive_is_written_before_all_may_be(lab, tmp_path)
        a_list_is_made_of_what_hosts_say(lab, tmp_path)
        job = detached(lab, plan(tmp_path, "1s", FEW_CELLS))
        wait_for(lambda: drive_states(lab) == {"busy"})
        wait_for(lambda: stored(lab.hosts["h1"], job))
        lab.hosts["h1"].kill("worker")
        assert "h1: started" in up(lab)
        assert "h2-drive" in attached(lab, job)
        audit(lab, job, FEW_CELLS)
        wait_for(lambda: drive_states(lab) == {"free"})
