"""Real block devices that fail as they are told, without a virtual machine."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from labs import loop_device, marked
from msgspec import Struct

from ioplan_witness import Script
from ioplan_witness.device import can_mount, running

SIZE = "64M"
PROGRAMS = ("nbdkit", "nbdfuse", "losetup")
MISSING = [program for program in PROGRAMS if not shutil.which(program)]
if not Path("/dev/fuse").exists():
    MISSING.append("/dev/fuse")
if os.geteuid():
    MISSING.append("root")
NEEDS_FAULTY = [
    pytest.mark.machine,
    pytest.mark.skipif(
        bool(MISSING),
        reason=f"LEFT OUT: devices that fail are made with {', '.join(MISSING)}",
    ),
]


NEEDS_FUSE = pytest.mark.skipif(
    not can_mount(), reason="LEFT OUT: there is no FUSE for this user"
)


def needs_faulty(test: Any) -> Any:
    """Marks a test that has such a device."""
    return marked(test, NEEDS_FAULTY)


class Faulty(Struct, frozen=True):
    """A loop device on what nbdkit serves."""

    path: str
    backing: str
    server: int

    def vanish(self) -> None:
        """End what is behind the device."""
        os.kill(self.server, signal.SIGKILL)


@contextmanager
def faulty(
    folder: Path, *filters: str, plugin: tuple[str, ...] = ("memory", SIZE)
) -> Iterator[Faulty]:
    """Everything is given back, whatever happens."""
    with (
        served(folder, *filters, plugin=plugin) as file,
        loop_device(Path(file.path), "--direct-io=on") as device,
    ):
        yield Faulty(str(device), file.path, file.storage)


@contextmanager
def slow(folder: Path, latency: str) -> Iterator[Path]:
    """A file of ioplan's own device, each of whose reads takes so long."""
    script = {"size": "64MiB", "latency": [{"direction": "read", "value": latency}]}
    with running(Script.model_validate(script), folder / "slow") as device:
        yield device.disk


class Served(Struct, frozen=True):
    """A file that the process `server` serves by FUSE; `storage` has its data."""

    path: str
    server: int
    storage: int

    def vanish(self) -> None:
        """From now on every call on it fails, also of what is open."""
        os.kill(self.server, signal.SIGKILL)


@contextmanager
def served(
    folder: Path, *filters: str, plugin: tuple[str, ...] = ("memory", SIZE)
) -> Iterator[Served]:
    """A file of a server that may end."""
    folder.mkdir(exist_ok=True)
    point = folder / "disk"
    point.touch()
    command = ["nbdfuse", point, "--command", "nbdkit", "-s", *plugin, *filters]
    with subprocess.Popen(
        command, stderr=subprocess.DEVNULL, start_new_session=True
    ) as fuse:
        try:
            wait_for(lambda: point.stat().st_size > 0)
            children = Path(f"/proc/{fuse.pid}/task/{fuse.pid}/children").read_text()
            yield Served(str(point), fuse.pid, int(children.split()[0]))
        finally:
            with suppress(ProcessLookupError):
                os.killpg(fuse.pid, signal.SIGTERM)
            subprocess.run(["umount", "-l", point], capture_output=True, check=False)


@contextmanager
def unfaithful(folder: Path, writes: str, trigger: Path) -> Iterator[Faulty]:
    """A device of 1 MiB that does one of four writes otherwise, once the trigger is
    there: `writes` is what a shell does with them first. It has $at and $length."""
    folder.mkdir(exist_ok=True)
    data = folder / "data"
    data.write_bytes(bytes(1 << 20))
    quiet = "conv=notrunc status=none"
    does = f"""at=$4; length=$3
if [ -e {trigger} ] && [ $(($4 / 65536 % 4)) = 1 ]; then {writes}; fi
dd of={data} seek=$at count=$length oflag=seek_bytes iflag=count_bytes,fullblock {quiet}
cat >/dev/null"""
    reads = f"dd if={data} skip=$4 count=$3 iflag=count_bytes,skip_bytes status=none"
    size = f"get_size=stat -c %s {data}"
    plugin = ("eval", size, f"pread={reads}", f"pwrite={does}")
    with faulty(folder, plugin=plugin) as device:
        yield device


@contextmanager
def pausing(folder: Path) -> Iterator[tuple[Faulty, Pause]]:
    """A device that hangs from `pause.begin` on; it goes on at the end."""
    pause = Pause(folder / "pause")
    control = ("--filter=pause", f"pause-control={pause.socket}")
    folder.mkdir(exist_ok=True)
    with faulty(folder, *control) as device:
        try:
            yield device, pause
        finally:
            pause.end()


class Pause:
    """Of nbdkit's filter: no request is answered meanwhile."""

    def __init__(self, path: Path) -> None:
        self.socket = path

    def begin(self) -> None:
        """Answer nothing more."""
        self._tell(b"p")

    def end(self) -> None:
        """Answer all that is waiting."""
        self._tell(b"r")

    def _tell(self, word: bytes) -> None:
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(str(self.socket))
            control.send(word)
            control.recv(1)


def wait_for(holds: object, most_s: float = 10.0) -> None:
    """Wait until it holds."""
    assert callable(holds)
    deadline_s = time.monotonic() + most_s
    while not holds():
        assert time.monotonic() < deadline_s, "it did not come to that"
        time.sleep(0.02)
