"""A cut of ioplan's own host, within one plan: a machine, its drive, a journal outside."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from machine import CUT_OFF, NEEDS_VMLAB, QEMU, Ended, run_in_vm
from serial_link import Carrier
from served_journal import Served

from ioplan.witness.device import Device, can_mount, running
from ioplan.witness.script import Script

pytestmark = [
    *NEEDS_VMLAB,
    pytest.mark.skipif(not can_mount(), reason="LEFT OUT: there is no FUSE here"),
]
SEEN_INSIDE = "/var/tmp"
"""The machine has a /tmp of its own."""
PORT_OF_JOURNAL = (
    "-chardev socket,id=journal,path={} "
    "-device virtserialport,chardev=journal,name=journal"
)


@contextmanager
def linked(served: Served, place: Path) -> Iterator[str]:
    """The words for a machine whose serial port leads to the journal."""
    host, port = served.at.rsplit(":", 1)
    ends: list[socket.socket] = []

    def carry() -> None:
        end, _ = listening.accept()
        ends.append(end)
        Carrier(end.fileno(), lambda: socket.create_connection((host, int(port))))

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place))
        listening.listen(1)
        threading.Thread(target=carry, daemon=True).start()
        yield PORT_OF_JOURNAL.format(shlex.quote(str(place)))
    for end in ends:
        end.shutdown(socket.SHUT_RDWR)
    place.unlink()


@contextmanager
def power_of(device: Device, disks: Path, die: Path) -> Iterator[None]:
    """What takes the power of drive and machine, once, as the machine asks for it."""
    over = threading.Event()

    def listen() -> None:
        while not over.wait(0.05):
            if die.exists():
                device.tell("off")
                os.kill(machine_with(disks), signal.SIGKILL)
                return

    thread = threading.Thread(target=listen)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def machine_with(disks: Path) -> int:
    """The process of the machine that has these disks."""
    for one in Path("/proc").glob("[0-9]*"):
        words = (one / "cmdline").read_bytes().decode(errors="replace")
        if words.startswith(QEMU) and str(disks) in words:
            return int(one.name)
    raise LookupError(f"no machine has the disks in {disks}")


def booted(script: str, link: str, disks: Path, shared: Path) -> Ended:
    return run_in_vm(script, "small", "scsi", disks=disks, shared=shared, more=(link,))


def records(cache: str, tmp_path: Path) -> list[dict[str, Any]]:
    """Of the session whose host died and came back."""
    script = Script.model_validate({"size": "64MiB", "cache": {"mode": cache}})
    disks = tmp_path / "disks"
    disks.mkdir()
    with (
        TemporaryDirectory(dir=SEEN_INSIDE) as name,
        running(script, tmp_path / "device") as device,
    ):
        (disks / "small.raw").symlink_to(device.disk)
        shared = Path(name)
        served = Served(shared)
        try:
            with (
                linked(served, shared / "link") as link,
                power_of(device, disks, shared / "die"),
            ):
                died = booted("guest_host_cut.py", link, disks, shared)
            assert died.code == CUT_OFF, died.err[-4000:]
            device.tell("on")
            with linked(served, shared / "link") as link:
                after = booted("guest_host_after.py", link, disks, shared)
            assert after.code == 0, after.err[-4000:]
        finally:
            served.kill()
        found: list[dict[str, Any]] = json.loads((shared / "records.json").read_text())
    return found


@pytest.mark.parametrize("cache", ["volatile", "lying"])
def test_a_plan_survives_the_cut_of_its_own_host(cache: str, tmp_path: Path) -> None:
    both = records(cache, tmp_path)
    assert len(both) == 2, both
    cut, after = both
    assert cut["status"] == "ok" and 4 <= cut["power_cut"]["at_s"] < 30, cut
    assert any("this host lost its power" in text for text in cut["warnings"])
    found = after["backend"]["facts"]["verify"]
    assert (found["lost_flushed"] > 0) is (cache == "lying"), found
    wrong = ("lost_fua", "older_than_durable", "torn", "misdirected", "foreign")
    assert not any(found[name] for name in wrong), found
    assert found["kept"] + found["rolled_back"] > 0 or cache == "lying"
