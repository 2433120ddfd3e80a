"""An emulated NVMe drive with a volatile write cache: what a cut of its power shows."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from machine import NEEDS_VMLAB, run_in_vm

from ioplan_witness import Script
from ioplan_witness.device import can_mount, running

pytestmark = [
    *NEEDS_VMLAB,
    pytest.mark.skipif(not can_mount(), reason="LEFT OUT: there is no FUSE here"),
]


SEEN_INSIDE = "/var/tmp"
"""The machine has a /tmp of its own."""


@contextmanager
def switched(device, folder):
    """What switches the device off and on, as it is told by files in the folder."""
    over = threading.Event()

    def listen():
        while not over.wait(0.1):
            for word in ("off", "on"):
                if (folder / word).exists():
                    device.tell(word)
                    (folder / word).unlink()

    thread = threading.Thread(target=listen)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def cut_records(cache, tmp_path):
    """The records of a run whose drive lost its power, and of reads after it."""
    script = Script.model_validate({"size": "64MiB", "cache": {"mode": cache}})
    disks = tmp_path / "disks"
    disks.mkdir()
    with (
        TemporaryDirectory(dir=SEEN_INSIDE) as name,
        running(script, tmp_path / "device") as device,
        switched(device, shared := Path(name)),
    ):
        (disks / "small.raw").symlink_to(device.disk)
        ended = run_in_vm("guest_cache.py", "small", disks=disks, shared=shared)
        assert ended.code == 0, ended.err[-4000:]
        found: list[dict[str, Any]] = json.loads((shared / "records.json").read_text())
    return found


@pytest.mark.parametrize("cache", ["volatile", "lying"])
def test_a_cut_of_an_nvme_drive(cache, tmp_path):
    writes, after = cut_records(cache, tmp_path)
    assert writes["status"] == "ok" and writes["power_cut"], writes["message"]
    assert writes["directions"]["write"]["ios"] > 50
    found = after["backend"]["facts"]["verify"]
    assert (found["lost_flushed"] > 0) is (cache == "lying"), found
    wrong = ("lost_fua", "older_than_durable", "torn", "misdirected", "foreign")
    assert not any(found[name] for name in wrong), found
    assert found["kept"] + found["rolled_back"] > 0 or cache == "lying"
