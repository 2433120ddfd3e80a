"""`ioplan journal serve`, as on another host, and the death of this one."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

from ioplan.core.state_folder import state_folder
from ioplan.runner.state.host_cut import IN_USE_AT

PROGRAM = [sys.executable, "-m", "ioplan.cli"]


class Served:
    """`ioplan journal serve`, as on another host."""

    def __init__(self, home: Path, listen: str = "127.0.0.1:0") -> None:
        self.folder, self.key = home / "journals", home / "journal.key"
        words = ("journal", "serve", self.folder, "--listen", listen, "--key", self.key)
        self.process = subprocess.Popen(
            [*PROGRAM, *map(str, words)], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout
        self.at = self.process.stdout.readline().split()[2].rstrip(",")

    @property
    def file(self) -> Path:
        (one,) = self.folder.iterdir()
        return one

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def host_dies(served: Served) -> None:
    """Nothing of it is left, and it comes back in another boot."""
    shutil.rmtree(state_folder() / "stamps")
    in_another_boot(served.file)


def in_another_boot(journal: Path) -> None:
    """The journal was in use, but not since this boot."""
    with journal.open("rb+") as file:
        os.pwrite(file.fileno(), struct.pack("<Q", 1), IN_USE_AT)
