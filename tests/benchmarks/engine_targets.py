"""The targets of the engine's benchmark that have to be made first."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MIB = 1 << 20
SIZE_MIB = 256
CONTROL = Path("/sys/class/zram-control")


@contextmanager
def file_target(place: Path) -> Iterator[str]:
    """A file of random bytes in that folder."""
    with tempfile.NamedTemporaryFile(dir=place) as file:
        for _ in range(SIZE_MIB):
            file.write(os.urandom(MIB))
        file.flush()
        os.fsync(file.fileno())
        yield file.name


@contextmanager
def loop_target(file: str) -> Iterator[str | None]:
    """A loop device over that file, past its page cache; None without root."""
    command = ["losetup", "--find", "--show", "--direct-io=on", file]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        yield None
        return
    device = done.stdout.strip()
    try:
        yield device
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


@contextmanager
def zram_target() -> Iterator[str | None]:
    """An unwritten device in memory, whose reads cost the least; None without root."""
    try:
        number = (CONTROL / "hot_add").read_text().strip()
    except OSError:
        yield None
        return
    device = Path(f"/dev/zram{number}")
    try:
        Path(f"/sys/block/{device.name}/disksize").write_text(f"{SIZE_MIB}M")
        yield str(device)
    finally:
        (CONTROL / "hot_remove").write_text(number)
