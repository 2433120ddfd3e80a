"""How far what was written compresses, measured on the target with zstd."""

import re
import shutil
import subprocess
from typing import Any

import pytest
from fio_jobs import MIB, job, one_size, stream

from ioplan.backends import Backend, TargetRequest
from ioplan.job import Result
from ioplan_fio import FioBackend
from ioplan_io_uring import IoUringBackend

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("zstd") is None,
        reason="LEFT OUT: zstd is not installed, so nothing measured what was written",
    ),
]

SIZE = 8 * MIB
LARGE = 16 * MIB
"""For shares of blocks, which need many."""
WINDOWS = {"4 KiB": 4096, "128 KiB": 131_072, "1 MiB": MIB}
WRITES = {"random": (4096, 8), "sequential": (16384, 8), "sequential large": (MIB, 4)}
"""Block size and queue depth: slots are used again within each of the windows."""
RANDOM: dict[str, Any] = {"kind": "random"}


BACKENDS: dict[str, type[Backend]] = {"io_uring": IoUringBackend, "fio": FioBackend}


@pytest.fixture
def backend(request):
    if request.param == "fio" and shutil.which("fio") is None:
        pytest.skip("LEFT OUT: fio is not installed")
    return BACKENDS[request.param]()


def writes(way, size=SIZE, **fields):
    """One pass over the whole target."""
    size_bytes, qd = WRITES[way]
    fields |= {"pattern": way.split(maxsplit=1)[0], "write_sizes": one_size(size_bytes)}
    fields["permuted"] = fields["pattern"] == "random"
    one = stream(read_percent=0, qd=qd, region_end_bytes=size, **fields)
    return job(one, capacity_bytes=size, passes=1.0)


def written(backend, wanted, target):
    target.write_bytes(bytes(wanted.capacity_bytes))
    drive = backend.open(
        TargetRequest(path=str(target), overwrite=(str(target),), writes=True)
    )
    try:
        with drive.start(
            wanted.model_copy(update={"target": str(target)})
        ) as execution:
            last = list(execution)[-1]
    finally:
        drive.close()
    assert isinstance(last, Result), last


def share(target, window_bytes):
    """Compressed size over size, each window by itself."""
    called = subprocess.run(
        ["zstd", "-q", "-b3", "-i0", f"-B{window_bytes}", target],
        check=True,
        capture_output=True,
        text=True,
    )
    found = re.search(r"^-3\s+(\d+) \(", called.stdout, re.MULTILINE)
    assert found, called.stdout
    return int(found[1]) / SIZE


@pytest.mark.long_but_first
@pytest.mark.parametrize(
    ("backend", "way"),
    [("io_uring", "random"), ("io_uring", "sequential large"), ("fio", "sequential")],
    indirect=["backend"],
)
def test_random_data_does_not_compress(way, backend, tmp_path):
    target = tmp_path / "target.bin"
    written(backend, writes(way, data=RANDOM), target)
    shares = {name: share(target, size) for name, size in WINDOWS.items()}
    # The words of fio's generator lack some bits: 0.993.
    assert all(one > 0.99 for one in shares.values()), shares


@pytest.mark.long_but_first
@pytest.mark.parametrize(
    ("backend", "way", "data"),
    [
        ("io_uring", "sequential", RANDOM),
        ("io_uring", "random", {"kind": "compressible", "percent": 50}),
        ("fio", "random", {"kind": "compressible", "percent": 50}),
    ],
    indirect=["backend"],
)
def test_whole_writes_repeat_by_their_share(way, data, backend, tmp_path):
    target = tmp_path / "target.bin"
    written(backend, writes(way, LARGE, data=data, dedup_percent=30), target)
    content, size = target.read_bytes(), WRITES[way][0]
    found = {content[at : at + size] for at in range(0, LARGE, size)}
    count = LARGE // size
    assert abs(len(found) - 0.7 * count) < 5 * (0.3 * 0.7 * count) ** 0.5


@pytest.mark.long_but_first
@pytest.mark.parametrize(
    ("backend", "way", "percent"),
    [
        ("io_uring", "random", 20),
        ("io_uring", "sequential large", 80),
        ("fio", "sequential", 50),
    ],
    indirect=["backend"],
)
def test_compressible_data_compresses_by_its_share(way, percent, backend, tmp_path):
    target = tmp_path / "target.bin"
    data = {"kind": "compressible", "percent": percent}
    written(backend, writes(way, data=data), target)
    shares = {name: share(target, size) for name, size in WINDOWS.items()}
    off = {name: one - (1 - percent / 100) for name, one in shares.items()}
    assert all(abs(one) < 0.02 for one in off.values()), off
