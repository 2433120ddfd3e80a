"""What stands in /proc may be gone at the next look."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ioplan.runner.devices.mounts import mounts, unseen_namespaces
from ioplan.runner.devices.open_files import writers
from ioplan.runner.devices.proc import PROC, listed, threads
from ioplan.runner.execute.processes import descendants

LOOKS_S = 1.0
MANY_SHORT = """
import os
while True:
    for pid in [os.posix_spawn("/bin/true", ["true"], {}) for _ in range(6)]:
        os.waitpid(pid, 0)
"""


@pytest.fixture
def processes_that_end() -> Iterator[None]:
    started = [subprocess.Popen([sys.executable, "-c", MANY_SHORT]) for _ in range(2)]
    yield
    for one in started:
        one.kill()
        one.wait()


@pytest.mark.long
@pytest.mark.usefixtures("processes_that_end")
def test_processes_may_end_while_the_guard_looks() -> None:
    until_s = time.monotonic() + LOOKS_S
    while time.monotonic() < until_s:
        writers({("file", 0, 0): ""})
        mounts()
        unseen_namespaces()
        descendants()


def test_a_process_that_has_ended_has_nothing() -> None:
    assert threads(PROC / "0") == []
    assert listed(Path("/proc/self/task"))
