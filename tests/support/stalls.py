"""A device that answers nothing for a while, in the midst of a run."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

from serving import server_of

from ioplan_witness import Device


class Stall:
    """Begins once the device has seen I/O of a run, after `thread.start()`."""

    def __init__(self, device: Device, length_s: float) -> None:
        self.length_s = length_s
        self.log = Path(f"{device.folder}.iolog")
        self.pid = int(server_of(device))
        self.lasted_s = 0.0
        self.thread = threading.Thread(target=self.make, daemon=True)

    def make(self) -> None:
        began = self.log.stat().st_size
        while self.log.stat().st_size < began + 200 * 64:
            time.sleep(0.01)
        os.kill(self.pid, signal.SIGSTOP)
        since_s = time.monotonic()
        time.sleep(self.length_s)
        os.kill(self.pid, signal.SIGCONT)
        self.lasted_s = time.monotonic() - since_s
