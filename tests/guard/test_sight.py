"""What uses a target without being seen, and what is done where it cannot be."""

import ctypes
import os
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from threading import Timer

import pytest
from command import plan_file, program
from refused import refused
from sight import SEES_ALL

from ioplan import TargetFault
from ioplan.runner.devices import open_files
from ioplan.runner.devices.open_files import unseen
from ioplan.runner.guard import open_target
from targets import MIB, NEEDS_ROOT, asked, lab_file, loop_device, tell

pytestmark = [pytest.mark.slow, *NEEDS_ROOT]

PLAN = 'test "W" { run random 4KiB 0/100 for 1MiB }'
CONTAINER = ("unshare", "--pid", "--fork", "--mount-proc")
ELSEWHERE = {
    "PID namespace": CONTAINER,
    "PID namespace, and the host's /proc": CONTAINER[:-1],
    "mount namespace": ("unshare", "--mount"),
}
ALL_ELSEWHERE = list(ELSEWHERE.values())
LOOK = """
import os, sys
from ioplan.runner.devices.open_files import other_namespaces
os.setgroups([])
os.setresuid(*3 * [int(sys.argv[1])])
print(*other_namespaces())
"""
HELD = """
import sys
with open(sys.argv[1], "r+b") as file:
    print(flush=True)
    input()
"""
IO_URING = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
ring = libc.syscall(425, 4, ctypes.create_string_buffer(120))
file = os.open(sys.argv[1], os.O_RDWR)
assert ring >= 0 and not libc.syscall(427, ring, 2, (ctypes.c_int * 1)(file), 1)
os.close(file)
print(flush=True)
input()
"""


@contextmanager
def io_uring_without_descriptor():
    """In this process, and not for long: other tests on this machine see it, too."""
    libc = ctypes.CDLL(None, use_errno=True)
    ring = libc.syscall(425, 4, ctypes.create_string_buffer(120))
    libc.mmap.restype = ctypes.c_void_p
    held = libc.mmap(None, 4096, 3, 1, ring, ctypes.c_long(0))
    assert ring >= 0 and held != ctypes.c_void_p(-1).value
    os.close(ring)
    try:
        yield
    finally:
        libc.munmap(ctypes.c_void_p(held), 4096)


@contextmanager
def in_transit(file):
    """In this process, and not for long, as above; what is given receives it."""
    first, second = socket.socketpair()
    with file.open("r+b") as opened:
        socket.send_fds(first, [b"x"], [opened.fileno()])

    def receive():
        for received in socket.recv_fds(second, 1, 1)[1]:
            os.close(received)

    with first, second:
        yield receive


@contextmanager
def held(code, *words, before=()):
    """A program that has printed a line, and lives until the end of the block."""
    command = [*before, sys.executable, "-c", code, *map(str, words)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as program:
        assert program.stdout and program.stdin
        assert program.stdout.readline() == b"\n"
        yield
        program.stdin.close()


@pytest.fixture
def file(tmp_path):
    """One that ioplan did not create, which gives no sign of data."""
    path = tmp_path / "some file"
    path.write_bytes(bytes(8 * MIB))
    return path


@pytest.fixture
def plan(tmp_path, store_path):
    return plan_file(tmp_path, PLAN)


def request(file, *, cannot_see_users=False):
    return asked(None, file, file).model_copy(
        update={"cannot_see_users": cannot_see_users}
    )


def run(where, plan, *words):
    """`ioplan run`, in a container."""
    command = [*where, sys.executable, "-m", "ioplan.cli", "run", plan, *words]
    return program(*map(str, command))


@pytest.mark.long_but_first
@pytest.mark.parametrize("where", ELSEWHERE)
@pytest.mark.promise("safety.unseen")
def test_elsewhere_a_file_of_others_is_kept(where, plan, file):
    words = ("--target", file, "--overwrite", file)
    with held(HELD, file):
        done = run(ELSEWHERE[where], plan, *words)
        assert done.returncode == 2, done.stdout
        assert not any(file.read_bytes())
    done = run(ELSEWHERE[where], plan, *words)
    assert (done.returncode, "cannot be seen" in done.stderr) == (2, True), done.stderr
    assert not any(file.read_bytes())
    done = run(ELSEWHERE[where], plan, *words, "--cannot-see-users")
    assert done.returncode == 0, done.stderr
    assert any(file.read_bytes())


@pytest.mark.long_but_first
@pytest.mark.parametrize("where", ELSEWHERE)
def test_elsewhere_a_scratch_file_needs_no_word(where, plan, tmp_path):
    for _ in range(2):
        words = ("--target", tmp_path / "scratch", "--create", "8MiB")
        done = run(ELSEWHERE[where], plan, *words)
        assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_elsewhere_a_plan_that_reads_needs_no_word(tmp_path, file):
    plan = plan_file(tmp_path, 'test "R" { run random 4KiB 100/0 for 1MiB }')
    done = run(CONTAINER, plan, "--target", file, "--store", tmp_path / "s.db")
    assert done.returncode == 0, done.stderr


@pytest.mark.long
@pytest.mark.promise("safety.unseen")
def test_elsewhere_a_device_needs_the_labs_word(plan, tmp_path):
    image = tmp_path / "disk.img"
    image.write_bytes(bytes(16 * MIB))
    said = {"backing_file": str(image), "writable": True}
    with loop_device(image) as device:
        for word in (False, True):
            lab = lab_file(tmp_path, **said, cannot_see_users=word)
            words = ("--lab", lab, "--target", device, "--overwrite", image)
            done = run(CONTAINER, plan, *words)
            assert done.returncode == (0 if word else 2), done.stderr
            assert ("cannot be seen" in done.stderr) is not word


@pytest.mark.long
def test_the_word_is_kept_for_resume_alone(plan, file):
    words = ("--target", file, "--overwrite", file, "--cannot-see-users")
    done = run(CONTAINER, plan, *words)
    assert done.returncode == 0, done.stderr
    done = run(CONTAINER, plan, *words[:-1])
    assert (done.returncode, "cannot be seen" in done.stderr) == (2, True)


USERS = pytest.mark.parametrize("user", [0, 65534])


@USERS
def test_root_and_others_know_that_they_are_elsewhere(user):
    found = [tell(*one, sys.executable, "-c", LOOK, str(user)) for one in ALL_ELSEWHERE]
    assert ["PID" in found[0], "PID" in found[1], "mount" in found[2]] == [True] * 3


@SEES_ALL
@USERS
def test_root_and_others_know_that_they_are_not(user):
    assert not tell(sys.executable, "-c", LOOK, str(user))


@SEES_ALL
def test_nothing_is_hidden_here(file):
    assert list(unseen()) == []
    open_target(request(file)).close()


MANY_SHORT = """
import os
print(flush=True)
while True:
    for pid in [os.posix_spawn("/bin/true", ["true"], {}) for _ in range(6)]:
        os.waitpid(pid, 0)
"""


@pytest.mark.long
def test_processes_may_end_while_the_guard_looks(file):
    """What stands in /proc may be gone at the next look."""
    until_s = time.monotonic() + 1
    with subprocess.Popen([sys.executable, "-c", MANY_SHORT], stdout=-1) as program:
        assert program.stdout and program.stdout.readline() == b"\n"
        while time.monotonic() < until_s:
            open_target(request(file)).close()
        program.kill()


@pytest.mark.long
def test_a_file_in_an_io_uring(file):
    with (
        held(IO_URING, file),
        refused(TargetFault.OPEN_ELSEWHERE, "is registered with an io_uring by"),
    ):
        open_target(request(file, cannot_see_users=True))
    open_target(request(file, cannot_see_users=True)).close()


def test_an_io_uring_of_another_file_is_no_obstacle(file, tmp_path):
    other = tmp_path / "other"
    other.write_bytes(bytes(MIB))
    with held(IO_URING, other):
        open_target(request(file, cannot_see_users=True)).close()


@pytest.mark.promise("safety.unseen")
def test_an_io_uring_without_a_descriptor(file, monkeypatch):
    monkeypatch.setattr(open_files, "MOMENT_S", 0.0)
    with (
        io_uring_without_descriptor(),
        refused(TargetFault.UNSEEN, "in an io_uring of .* without a descriptor"),
    ):
        open_target(request(file))


@pytest.mark.promise("safety.unseen")
def test_a_descriptor_that_waits_in_a_socket(file, monkeypatch):
    monkeypatch.setattr(open_files, "MOMENT_S", 0.0)
    with (
        in_transit(file),
        refused(TargetFault.UNSEEN, "from a socket of .* where it waits"),
    ):
        open_target(request(file))


def test_the_word_goes_past_what_waits_in_a_socket(file):
    with in_transit(file):
        open_target(request(file, cannot_see_users=True)).close()


def test_a_descriptor_on_its_way_is_waited_for(file):
    with in_transit(file) as receive:
        Timer(0.3, receive).start()
        begun_s = time.monotonic()
        open_target(request(file)).close()
        assert time.monotonic() - begun_s > 0.25


@pytest.mark.parametrize("where", [("unshare", "--mount")])
@pytest.mark.long
def test_the_upper_file_of_an_overlay_elsewhere(where, tmp_path):
    names = ("lower", "upper", "work", "merged")
    for name in names:
        (tmp_path / name).mkdir()
    upper = tmp_path / "upper/file"
    upper.write_bytes(bytes(MIB))
    parts = ",".join(f"{name}dir={tmp_path}/{name}" for name in names[:-1])
    merged = tmp_path / "merged"
    code = f"""
import subprocess
subprocess.run(["mount", "-t", "overlay", "x", "-o", "{parts}", "{merged}"], check=True)
"""
    with ExitStack() as stack:
        program = held(code + HELD, merged / "file", before=where)
        stack.enter_context(program)
        assert not (merged / "file").exists()
        with refused(
            TargetFault.OPEN_ELSEWHERE, "is open for writing as .*/merged/file"
        ):
            open_target(request(upper, cannot_see_users=True))
    open_target(request(upper, cannot_see_users=True)).close()
