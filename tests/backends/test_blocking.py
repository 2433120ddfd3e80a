"""The example of blocking reads and writes, here of a file."""

import os
import sys
import threading
import time

import pytest
from paths import ROOT

from ioplan.backends import BackendError, TargetRequest
from ioplan.job import Failure, Result
from ioplan.runner.guard import TargetError
from ioplan_testing import Conformance, job, sizes, stream

sys.path.append(str(ROOT / "examples/nbd_backend"))
from ioplan_blocking import BlockingBackend

pytestmark = pytest.mark.slow

SIZE_BYTES = 8 << 20
MS_NS = 1_000_000


class FileDevice:
    """A file, as slow as a disk."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self.size_bytes = os.fstat(self.fd).st_size

    def read(self, offset, size):
        time.sleep(0.001)
        if len(os.pread(self.fd, size, offset)) < size:
            raise OSError("the file ends before")

    def write(self, offset, data):
        time.sleep(0.001)
        if os.fstat(self.fd).st_size < offset + len(data):
            raise OSError("the file ends before")
        os.pwrite(self.fd, data, offset)

    def close(self):
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class FileBackend(BlockingBackend):
    """Of files, or of devices of another kind."""

    name, version = "file", "1"
    device: type[FileDevice] = FileDevice

    def connect(self, path, options):
        return self.device(path)


def with_device(device):
    backend = FileBackend()
    backend.device = device
    return backend


def named(folder):
    path = folder / "disk"
    if not path.exists():
        path.write_bytes(os.urandom(SIZE_BYTES))
    return TargetRequest(path=str(path), overwrite=(str(path),), writes=True)


@pytest.mark.long
class TestFile(Conformance):
    def backend(self):
        return FileBackend()

    def request(self, folder):
        return named(folder)


def events(backend, folder, **fields):
    drive = backend.open(named(folder))
    asked = job(drive.facts, stream(drive.facts, qd=4, read_percent=50), **fields)
    return taken(backend, folder, asked)


def taken(backend, folder, asked):
    with backend.open(named(folder)).start(asked) as execution:
        return list(execution)


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (ConnectionResetError("gone"), "target-lost"),
        (OSError(5, "input/output error"), "target-lost"),
        (ValueError("a defect"), "backend-error"),
    ],
)
def test_a_device_that_fails(error, cause, tmp_path):
    class Broken(FileDevice):
        def read(self, offset, size):
            raise error

        write = read

    last = events(with_device(Broken), tmp_path, run_ns=20_000 * MS_NS)[-1]
    assert isinstance(last, Failure) and last.cause == cause


def test_single_errors_are_counted(tmp_path):
    class Sometimes(FileDevice):
        count = 0

        def read(self, offset, size):
            Sometimes.count += 1
            if Sometimes.count % 10 == 0:
                raise OSError("bad sector")

    result = events(with_device(Sometimes), tmp_path)[-1]
    assert isinstance(result, Result)
    done = result.streams[0].directions["read"]
    assert done.errors == pytest.approx(Sometimes.count / 10, abs=1) and done.ios > 0
    first = result.facts["first_error"]
    assert first["name"] == "bad sector" and first["direction"] == "read"


@pytest.mark.long
def test_what_hangs_does_not_outlast_stop(tmp_path):
    freed = threading.Event()

    class Hanging(FileDevice):
        def read(self, offset, size):
            freed.wait()
            raise ConnectionError("closed")

        def close(self):
            freed.set()
            super().close()

    drive = with_device(Hanging).open(named(tmp_path))
    freed.clear()
    with drive.start(job(drive.facts)) as execution:
        threading.Timer(0.1, execution.stop).start()
        *_, last = execution
    assert (
        isinstance(last, Result)
        and last.stopped
        and "not come back" in last.warnings[0]
    )


def test_random_offsets_reach_the_whole_region(tmp_path):
    """Also with alignment to other than the size."""
    seen: set[int] = set()

    class Noting(FileDevice):
        def read(self, offset, size):
            seen.add(offset)

    backend = with_device(Noting)
    facts = backend.open(named(tmp_path)).facts
    part = {"region_start_bytes": 512, "region_end_bytes": 512 * 41}
    one = stream(facts, read_sizes=sizes(b2048=100), align_bytes=1024, **part)
    taken(backend, tmp_path, job(facts, one, limit_bytes=2048 * 2000))
    assert seen == set(range(1024, 512 * 41 - 2048 + 1, 1024))


def test_a_write_needs_leave(tmp_path):
    request = named(tmp_path).model_copy(update={"overwrite": ("/other",)})
    with pytest.raises(TargetError, match="--overwrite"):
        FileBackend().open(request)
    with pytest.raises(TargetError, match="no target"):
        FileBackend().open(TargetRequest())
    with pytest.raises(TargetError, match="cannot connect"):
        FileBackend().open(TargetRequest(path=str(tmp_path / "none")))
    with pytest.raises(BackendError, match="cannot purge"):
        FileBackend().open(named(tmp_path)).purge()


def test_a_target_that_goes_before_the_run(tmp_path):
    drive = FileBackend().open(named(tmp_path))
    (tmp_path / "disk").unlink()
    with drive.start(job(drive.facts)) as execution:
        (last,) = execution
    assert isinstance(last, Failure) and last.cause == "open"
