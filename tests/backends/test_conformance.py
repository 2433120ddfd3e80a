"""The conformance kit over the backends that come with ioplan."""

import shutil

import pytest

from ioplan.backends import TargetRequest, find
from ioplan_testing import Conformance

SIZE_BYTES = 8 << 20


class TestSim(Conformance):
    def backend(self):
        return find("sim")

    def request(self, folder):
        return TargetRequest(path="sim", create_bytes=SIZE_BYTES, writes=True)


@pytest.mark.long
class TestIoUring(Conformance):
    def backend(self):
        return find("io_uring")

    def request(self, folder):
        path = str(folder / "scratch.bin")
        return TargetRequest(path=path, create_bytes=SIZE_BYTES, writes=True)


@pytest.mark.skipif(
    shutil.which("fio") is None, reason="LEFT OUT: fio is not installed"
)
class TestFio(TestIoUring):
    def backend(self):
        return find("fio")
