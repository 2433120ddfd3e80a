"""The conformance kit over this backend: cc compiles its program."""

import atexit
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest
from ioplan_pthreads import PthreadsBackend

from ioplan.backends import TargetRequest
from ioplan_testing import Conformance

SIZE_BYTES = 8 << 20


@cache
def program() -> Path:
    """Compiled, once for all tests."""
    path = Path(mkdtemp()) / "ioplan-pthreads"
    source = Path(__file__).with_name("pthreads.c")
    subprocess.run(["cc", "-O2", "-pthread", "-o", path, source], check=True)
    atexit.register(shutil.rmtree, path.parent)
    return path


@pytest.mark.skipif(
    shutil.which("cc") is None, reason="LEFT OUT: there is no C compiler"
)
class TestPthreads(Conformance):
    queue_depth_tolerance = 0.15
    """Between two I/Os of a thread, others have the CPU: the time is in no latency."""

    def backend(self):
        return PthreadsBackend()

    def request(self, folder: Path) -> TargetRequest:
        return TargetRequest(
            path=str(folder / "scratch.bin"),
            create_bytes=SIZE_BYTES,
            writes=True,
            options={"program": str(program())},
        )
