"""Emulated drives with volatile write caches: what a cut of their power shows."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from machine import NEEDS_VMLAB, run_in_vm

from ioplan.witness.device import Device, can_mount, running
from ioplan.witness.script import Script

pytestmark = [
    *NEEDS_VMLAB,
    pytest.mark.skipif(not can_mount(), reason="LEFT OUT: there is no FUSE here"),
]


SEEN_INSIDE = "/var/tmp"
"""The machine has a /tmp of its own."""


CACHES = {"small": "volatile", "scsi": "lying"}
"""Of two drives of one machine."""


@contextmanager
def switched(devices: dict[str, Device], folder: Path) -> Iterator[None]:
    """What switches devices off and on, as it is told by files in the folder."""
    over = threading.Event()

    def listen() -> None:
        while not over.wait(0.1):
            for name, device in devices.items():
                for word in ("off", "on"):
                    if (told := folder / f"{name}-{word}").exists():
                        device.tell(word)
                        told.unlink()

    thread = threading.Thread(target=listen)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """By drive the records of a run in which it lost its power, and of reads after it."""
    folder, devices = tmp_path_factory.mktemp("cut"), {}
    (disks := folder / "disks").mkdir()
    with ExitStack() as stack:
        shared = Path(stack.enter_context(TemporaryDirectory(dir=SEEN_INSIDE)))
        for name, cache in CACHES.items():
            script = Script.model_validate({"size": "64MiB", "cache": {"mode": cache}})
            devices[name] = stack.enter_context(running(script, folder / name))
            (disks / f"{name}.raw").symlink_to(devices[name].disk)
        stack.enter_context(switched(devices, shared))
        ended = run_in_vm("guest_cache.py", *CACHES, disks=disks, shared=shared)
        assert ended.code == 0, ended.err[-4000:]
        return {n: json.loads((shared / f"{n}.json").read_text()) for n in CACHES}


@pytest.mark.parametrize("drive", CACHES)
def test_a_cut_of_a_drive(drive: str, cut: dict[str, Any]) -> None:
    writes, after = cut[drive]
    assert writes["status"] == "ok" and writes["power_cut"], writes["message"]
    assert writes["directions"]["write"]["ios"] > 50
    found = after["backend"]["facts"]["verify"]
    lying = CACHES[drive] == "lying"
    assert (found["lost_flushed"] > 0) is lying, found
    wrong = ("lost_fua", "older_than_durable", "torn", "misdirected", "foreign")
    assert not any(found[name] for name in wrong), found
    assert found["kept"] + found["rolled_back"] > 0 or lying
