"""`ioplan trace record`: what the kernel says was asked of a loop device is all of it."""

import fcntl
import mmap
import os
import random
import signal
import struct
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from command import ioplan, plan_file

from ioplan.trace import DISCARD, FLUSH, READ, WRITE, Prepared, TraceError, record
from targets import loop_device, mounted, needs_root, sparse, tell

MIB = 1 << 20
BLKDISCARD = 0x1277
Io = tuple[int, int, int]


@pytest.fixture(scope="module")
def tracing(tmp_path_factory):
    """The kernel's tracing, mounted."""
    if " tracefs " in Path("/proc/self/mounts").read_text():
        yield
        return
    place = tmp_path_factory.mktemp("tracing")
    tell("mount", "-t", "tracefs", "nodev", place)
    yield
    tell("umount", place)


@pytest.fixture
def device(tmp_path):
    with loop_device(sparse(tmp_path / "disk.img", 8 * MIB)) as found:
        yield found


def asked(device, count):
    """Does I/O of each kind, one at a time; kind, offset and size of each."""
    rng, done = random.Random(1), list[Io]()
    buffer = mmap.mmap(-1, 64 << 10)
    fd = os.open(device, os.O_RDWR | os.O_DIRECT)
    for _ in range(count):
        kind = rng.choice((READ, WRITE, WRITE, FLUSH, DISCARD))
        size = rng.choice((4, 8, 64)) << 10
        offset = rng.randrange(8 * MIB // size) * size
        if kind == READ:
            os.preadv(fd, [memoryview(buffer)[:size]], offset)
        elif kind == WRITE:
            os.pwritev(fd, [memoryview(buffer)[:size]], offset)
        elif kind == DISCARD:
            fcntl.ioctl(fd, BLKDISCARD, struct.pack("QQ", offset, size))
        else:
            os.fdatasync(fd)
        done.append((kind, 0, 0) if kind == FLUSH else (kind, offset, size))
    os.close(fd)
    return done


@contextmanager
def started(device, out, *more):
    """A recorder that records already."""
    words = ["trace", "record", str(device), "-o", str(out), *more]
    made = subprocess.Popen(
        [sys.executable, "-m", "ioplan.cli", *words], stdout=subprocess.PIPE, text=True
    )
    enabled = instance_of(made.pid) / "events/block/block_bio_queue/enable"
    while made.poll() is None and not is_on(enabled):
        time.sleep(0.01)
    try:
        yield made
    finally:
        made.kill()
        made.wait()


def instance_of(pid):
    """What the kernel has of a recorder."""
    mounts = map(str.split, Path("/proc/self/mounts").read_text().splitlines())
    place = next(words[1] for words in mounts if words[2] == "tracefs")
    return Path(place) / f"instances/ioplan-{pid}"


def is_on(enabled):
    try:
        return enabled.read_text().strip() == "1"
    except FileNotFoundError:
        return False


@needs_root
@pytest.mark.long_but_first
@pytest.mark.usefixtures("tracing")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_all_that_is_asked_is_recorded_in_its_order(number, device, tmp_path):
    """With how long each took: it is complete before the next one, and waits for that.

    Other programs may look at the device before and behind; between they do not."""
    out = tmp_path / "o.iotrace"
    with started(device, out) as recorder:
        expected = asked(device, 300)
        recorder.send_signal(number)
        told, _ = recorder.communicate()
    assert recorder.returncode == 0 and "left out" not in told, told
    ios = Prepared.open(out).ios
    seen = [(int(k), int(o), int(s)) for _, o, s, k, *_ in ios.tolist()]
    places = range(len(seen) - len(expected) + 1)
    found = [at for at in places if seen[at : at + len(expected)] == expected]
    assert found, (len(seen), len(expected))
    own = ios[found[0] : found[0] + len(expected)]
    moving = own["kind"][:-1] != FLUSH
    took, gaps = own["response_ns"][:-1][moving], np.diff(own["time_ns"])[moving]
    assert (took > 0).all() and (took <= gaps).all()
    plan = plan_file(
        tmp_path,
        'trace web = "o.iotrace"\ntest "A" { run replay web after completion }',
    )
    target = ("--backend", "io_uring", "--target", tmp_path / "scratch.bin")
    done = ioplan("run", plan, *target, "--create", "8MiB", "--json")
    facts = done.record["backend"]["facts"]
    assert facts["lateness"]["main"]["waited"] > 0.6
    assert (ios["time_ns"][1:] >= ios["time_ns"][:-1]).all()


@needs_root
@pytest.mark.slow
@pytest.mark.usefixtures("tracing")
def test_it_ends_by_itself_and_leaves_nothing(device, tmp_path):
    out = tmp_path / "o.iotrace"
    with started(device, out, "--for", "1s") as recorder:
        count = len(asked(device, 20))
        assert recorder.wait() == 0
    assert count <= Prepared.open(out).header.count
    assert {*tmp_path.iterdir()} == {out, tmp_path / "disk.img"}
    assert not instance_of(recorder.pid).exists()


@needs_root
@pytest.mark.slow
@pytest.mark.usefixtures("tracing")
@pytest.mark.long
def test_what_a_killed_one_has_left_the_next_removes(device, tmp_path):
    with started(device, tmp_path / "o") as killed:
        killed.kill()
    assert instance_of(killed.pid).exists()
    with started(device, tmp_path / "p") as recorder:
        assert not instance_of(killed.pid).exists()
        asked(device, 2)
        recorder.terminate()
        assert recorder.wait() == 0


@needs_root
@pytest.mark.slow
@pytest.mark.usefixtures("tracing")
def test_what_it_cannot_record(device, tmp_path):
    out = tmp_path / "o.iotrace"

    def refused(*words):
        done = ioplan("trace", "record", *words, "-o", out)
        assert done.code == 2 and not out.exists()
        assert {*tmp_path.iterdir()} == {tmp_path / "disk.img"}
        return " ".join(done.err.split())

    assert "it is no block device" in refused(tmp_path / "disk.img")
    assert "No such file" in refused(tmp_path / "none")
    assert "'10' is no time, as 10s is" in refused(device, "--for", "10")
    assert "'0s' is no time" in refused(device, "--for", "0s")
    # who looks at a new device may just have been answered
    idle = refused(device, "--for", "10ms")
    assert "nothing was asked of it" in idle or "there is no I/O in it" in idle
    out.write_text("mine")
    done = ioplan("trace", "record", device, "-o", out, "--for", "1s")
    assert done.code == 2 and "--force" in done.err
    assert out.read_text() == "mine"


@pytest.mark.parametrize(
    ("mounts", "says"),
    [
        ("proc /proc proc rw 0 0", "sudo mount -t tracefs nodev /sys/kernel/tracing"),
        ("nodev {folder} tracefs rw 0 0", "this kernel has no events of block devices"),
    ],
)
def test_a_host_without_tracing(mounts, says, tmp_path, monkeypatch):
    (tmp_path / "mounts").write_text(mounts.format(folder=tmp_path))
    monkeypatch.setattr(record, "MOUNTS", tmp_path / "mounts")
    with pytest.raises(TraceError, match=says):
        record.instances_folder()


@pytest.mark.skipif(
    os.geteuid() != 0, reason="LEFT OUT: root alone can be another user"
)
def test_another_user_is_told_that_it_needs_root(monkeypatch):
    """A folder that only root may enter stands for the kernel's."""
    with TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "own").mkdir(mode=0o700)
        (folder / "mounts").write_text(f"nodev {folder}/own tracefs rw 0 0")
        monkeypatch.setattr(record, "MOUNTS", folder / "mounts")
        os.seteuid(65534)
        try:
            with pytest.raises(TraceError, match="to record a device needs root"):
                record.instances_folder()
        finally:
            os.seteuid(0)


@needs_root
@pytest.mark.slow
@pytest.mark.usefixtures("tracing")
def test_a_trace_does_not_record_itself(device, tmp_path):
    tell("mkfs.ext4", "-q", device)
    with mounted(device, tmp_path / "mounted") as folder:
        done = ioplan("trace", "record", device, "-o", folder / "o", "--for", "1s")
        assert done.code == 2 and "would record itself" in " ".join(done.err.split())
