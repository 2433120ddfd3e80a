"""Targets to try on: files, block devices of every kind, and lab files that let them be
written.

Loop devices and file systems need root; `faulty`, `served` and `device` need FUSE.
"""

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from command import program
from msgspec import Struct
from sight import ELSEWHERE

from ioplan.backends import TargetRequest
from ioplan.runner import read_lab
from ioplan.runner.guard.resolve import resolve_target
from ioplan_witness import Script
from ioplan_witness.device import can_mount, is_mounted, running, start

MIB = 1 << 20

NEEDS_ROOT = [
    pytest.mark.machine,
    pytest.mark.skipif(os.geteuid() != 0, reason="LEFT OUT: loop devices need root"),
]


def needs_root(test):
    """Marks a test that makes loop devices, mounts and the like."""
    return marked(test, NEEDS_ROOT)


def marked(test, marks):
    """A test or a class of tests with several markers."""
    for mark in marks:
        test = mark(test)
    return test


def tell(*command):
    """Run a program; what it says on standard output."""
    done = program(*command)
    assert done.returncode == 0, f"{done.args}: {done.stderr}{done.stdout}"
    return done.stdout.strip()


def sparse(path, size_bytes):
    """A new file without data."""
    with path.open("xb") as file:
        file.truncate(size_bytes)
    return path


def filled(path, size_bytes=64 * MIB):
    """A file without holes; reading those would be no I/O."""
    block = os.urandom(MIB)
    with path.open("wb") as file:
        for _ in range(size_bytes // MIB):
            file.write(block)
    return path


@contextmanager
def loops_held():
    """No other test takes a loop device meanwhile."""
    with Path("/dev/loop-control").open("rb") as control:
        fcntl.flock(control, fcntl.LOCK_EX)
        yield


def put_over(device, other):
    """The loop device on another file; nobody can have it in between."""
    with loops_held():
        tell("losetup", "-d", device)
        tell("losetup", device, other)


@contextmanager
def loop_device(backing, *options):
    """A loop device on a file or a device; given back whatever happens."""
    with loops_held():
        device = Path(tell("losetup", "-f", "--show", *options, backing))
    try:
        _forget_partitions(device)
        yield device
    finally:
        tell("losetup", "-d", device)


def _forget_partitions(device):
    """The kernel keeps those of the last user, if a test was killed before it did."""
    for entry in Path("/sys/block", device.name).glob(f"{device.name}p*"):
        remove_partition(device, int((entry / "partition").read_text()))


def remove_partition(device, number, patience_s=30):
    """It is busy while any program looks at the disks of the machine."""
    command = ["delpart", str(device), str(number)]
    deadline_s = time.monotonic() + patience_s
    while (done := program(*command)).returncode:
        assert time.monotonic() < deadline_s, f"{command}: {done.stderr}"
        time.sleep(0.05)


@contextmanager
def mounted(device, where, *options):
    """A mount of it."""
    where.mkdir(exist_ok=True)
    tell("mount", *options, device, where)
    try:
        yield where
    finally:
        tell("umount", where)


@contextmanager
def tmpfs(where, size="50%"):
    """A file system of memory, which can be filled."""
    where.mkdir(exist_ok=True)
    tell("mount", "-t", "tmpfs", "-o", f"size={size}", "none", where)
    try:
        yield where
    finally:
        tell("umount", "--lazy", where)


def fill_up(folder):
    """No room is left on the file system."""
    room = os.statvfs(folder)
    with suppress(OSError):  # it is full before, where others write to it meanwhile
        (folder / "filler").write_bytes(bytes(room.f_bavail * room.f_frsize))


ZRAM_CONTROL = Path("/sys/class/zram-control")


@contextmanager
def zram(size_bytes):
    """A block device in memory, which merges and has no scheduler."""
    if not ZRAM_CONTROL.exists():
        pytest.skip("LEFT OUT: this kernel has no zram")
    number = (ZRAM_CONTROL / "hot_add").read_text().strip()
    try:
        Path(f"/sys/block/zram{number}/disksize").write_text(str(size_bytes))
        yield Path(f"/dev/zram{number}")
    finally:
        _patiently(lambda: (ZRAM_CONTROL / "hot_remove").write_text(number))


def _patiently(act, patience_s=10):
    """Other programs look at a device for a moment when it is closed."""
    deadline_s = time.monotonic() + patience_s
    while True:
        try:
            act()
            return
        except OSError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.05)


def lab_file(folder, name="fast", **said):
    """A lab with one target, which only the test uses."""
    said = ({"cannot_see_users": True} if ELSEWHERE else {}) | said
    lines = [f"{key} = {json.dumps(value)}" for key, value in said.items()]
    path = folder / "lab.toml"
    path.write_text("\n".join([f"[targets.{name}]", *lines, ""]))
    return path


def lab_of_file(folder, backing):
    """A lab that lets the loop device on a file be written."""
    return lab_file(folder, backing_file=str(backing), writable=True)


def asked(lab, word, *overwrite):
    """What a writing plan asks of a target, as the command line would."""
    path, entry = resolve_target(str(word), read_lab(lab))
    return TargetRequest(
        path=path,
        entry=entry,
        lab=str(lab) if lab else None,
        overwrite=tuple(map(str, overwrite)),
        writes=True,
    )


SIZE = "64M"
PROGRAMS = ("nbdkit", "nbdfuse", "losetup")
MISSING = [program for program in PROGRAMS if not shutil.which(program)]
if not Path("/dev/fuse").exists():
    MISSING.append("/dev/fuse")
if os.geteuid():
    MISSING.append("root")
NEEDS_FAULTY = [
    pytest.mark.machine,
    pytest.mark.skipif(
        bool(MISSING),
        reason=f"LEFT OUT: devices that fail are made with {', '.join(MISSING)}",
    ),
]


NEEDS_FUSE = pytest.mark.skipif(
    not can_mount(), reason="LEFT OUT: there is no FUSE for this user"
)


def needs_faulty(test):
    """Marks a test that has such a device."""
    return marked(test, NEEDS_FAULTY)


class Faulty(Struct, frozen=True):
    """A loop device on what nbdkit serves."""

    path: str
    backing: str
    server: int

    def vanish(self):
        """End what is behind the device."""
        os.kill(self.server, signal.SIGKILL)


@contextmanager
def faulty(folder, *filters, plugin=("memory", SIZE)):
    """Everything is given back, whatever happens."""
    with (
        served(folder, *filters, plugin=plugin) as file,
        loop_device(Path(file.path), "--direct-io=on") as device,
    ):
        yield Faulty(str(device), file.path, file.storage)


@contextmanager
def slow(folder, latency):
    """A file of ioplan's own device, each of whose reads takes so long."""
    script = {"size": "64MiB", "latency": [{"direction": "read", "value": latency}]}
    with running(Script.model_validate(script), folder / "slow") as device:
        yield device.disk


class Served(Struct, frozen=True):
    """A file that the process `server` serves by FUSE; `storage` has its data."""

    path: str
    server: int
    storage: int

    def vanish(self):
        """From now on every call on it fails, also of what is open."""
        os.kill(self.server, signal.SIGKILL)


@contextmanager
def served(folder, *filters, plugin=("memory", SIZE)):
    """A file of a server that may end."""
    folder.mkdir(exist_ok=True)
    point = folder / "disk"
    point.touch()
    command = ["nbdfuse", point, "--command", "nbdkit", "-s", *plugin, *filters]
    with subprocess.Popen(
        command, stderr=subprocess.DEVNULL, start_new_session=True
    ) as fuse:
        try:
            wait_for(lambda: point.stat().st_size > 0)
            children = Path(f"/proc/{fuse.pid}/task/{fuse.pid}/children").read_text()
            yield Served(str(point), fuse.pid, int(children.split()[0]))
        finally:
            with suppress(ProcessLookupError):
                os.killpg(fuse.pid, signal.SIGTERM)
            subprocess.run(["umount", "-l", point], capture_output=True, check=False)


@contextmanager
def unfaithful(folder, writes, trigger):
    """A device of 1 MiB that does one of four writes otherwise, once the trigger is
    there: `writes` is what a shell does with them first. It has $at and $length."""
    folder.mkdir(exist_ok=True)
    data = folder / "data"
    data.write_bytes(bytes(1 << 20))
    quiet = "conv=notrunc status=none"
    does = f"""at=$4; length=$3
if [ -e {trigger} ] && [ $(($4 / 65536 % 4)) = 1 ]; then {writes}; fi
dd of={data} seek=$at count=$length oflag=seek_bytes iflag=count_bytes,fullblock {quiet}
cat >/dev/null"""
    reads = f"dd if={data} skip=$4 count=$3 iflag=count_bytes,skip_bytes status=none"
    size = f"get_size=stat -c %s {data}"
    plugin = ("eval", size, f"pread={reads}", f"pwrite={does}")
    with faulty(folder, plugin=plugin) as device:
        yield device


@contextmanager
def pausing(folder):
    """A device that hangs from `pause.begin` on; it goes on at the end."""
    pause = Pause(folder / "pause")
    control = ("--filter=pause", f"pause-control={pause.socket}")
    folder.mkdir(exist_ok=True)
    with faulty(folder, *control) as device:
        try:
            yield device, pause
        finally:
            pause.end()


class Pause:
    """Of nbdkit's filter: no request is answered meanwhile."""

    def __init__(self, path):
        self.socket = path

    def begin(self):
        """Answer nothing more."""
        self._tell(b"p")

    def end(self):
        """Answer all that is waiting."""
        self._tell(b"r")

    def _tell(self, word):
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(str(self.socket))
            control.send(word)
            control.recv(1)


def wait_for(holds, most_s=10.0):
    """Wait until it holds."""
    assert callable(holds)
    deadline_s = time.monotonic() + most_s
    while not holds():
        assert time.monotonic() < deadline_s, "it did not come to that"
        time.sleep(0.02)


@pytest.fixture(name="can_mount")
def fuse():
    """Leaves out what needs FUSE where there is none."""
    if not can_mount():
        pytest.skip("LEFT OUT: there is no FUSE for this user")


@pytest.fixture
def device(tmp_path, can_mount):
    """Starts scripted devices of 4 MiB, but for what is given; they are stopped
    whatever happens."""
    started = []

    def begin(**script):
        values = {"size": "4MiB", **script}
        made = start(Script.model_validate(values), tmp_path / f"device{len(started)}")
        started.append(made)
        return made

    yield begin
    for one in started:
        if is_mounted(one.folder):
            one.stop()


def server_of(one):
    """The process that serves the device."""
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = place.read_bytes().split(b"\0")
            if "ioplan-device" in str(words[0]) and bytes(one.folder) in words:
                return place.parent.name
    raise AssertionError(f"nothing serves {one.folder}")


class Stall:
    """Begins once the device has seen I/O of a run, after `thread.start()`."""

    def __init__(self, device, length_s):
        self.length_s = length_s
        self.log = Path(f"{device.folder}.iolog")
        self.pid = int(server_of(device))
        self.lasted_s = 0.0
        self.thread = threading.Thread(target=self.make, daemon=True)

    def make(self):
        began = self.log.stat().st_size
        while self.log.stat().st_size < began + 200 * 64:
            time.sleep(0.01)
        os.kill(self.pid, signal.SIGSTOP)
        since_s = time.monotonic()
        time.sleep(self.length_s)
        os.kill(self.pid, signal.SIGCONT)
        self.lasted_s = time.monotonic() - since_s
