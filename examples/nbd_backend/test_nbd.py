"""The conformance kit over this backend and nbdkit, a real NBD server."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from ioplan_nbd import NbdBackend

from ioplan.backends import TargetRequest
from ioplan_testing import Conformance

SIZE_BYTES = 8 << 20
DELAY = "1ms"
"""What a near network costs; without it, Python would be all that is measured."""


@pytest.mark.skipif(
    shutil.which("nbdkit") is None,
    reason="LEFT OUT: nbdkit is not installed, so no NBD server was used",
)
class TestNbd(Conformance):
    @pytest.fixture(autouse=True)
    def server(self, tmp_path):
        """A server of a file, for one test."""
        self.file, self.socket = tmp_path / "disk", tmp_path / "nbd.sock"
        self.file.write_bytes(os.urandom(SIZE_BYTES))
        ready = tmp_path / "ready"  # the socket is there before it is listened on
        command = ["nbdkit", "--foreground", "--exit-with-parent", "--pidfile", ready]
        command += ["--unix", self.socket, "--filter=delay", "file", self.file]
        command += [f"rdelay={DELAY}", f"wdelay={DELAY}"]
        with subprocess.Popen(command) as self.process:
            while not ready.exists() and self.process.poll() is None:
                time.sleep(0.005)
            yield
            self.process.kill()

    def backend(self):
        return NbdBackend()

    def request(self, folder: Path) -> TargetRequest:
        uri = f"nbd+unix:///?socket={self.socket}"
        return TargetRequest(path=uri, overwrite=(uri,), writes=True)

    def content(self, facts):
        return self.file.read_bytes()

    def damage(self, facts):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        return "the server was killed"
