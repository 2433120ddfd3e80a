"""A target whose server ends, at any moment: a FUSE server here, as a network's elsewhere.

Every call on it fails from then on, of what is open, too. What is said is why, and
that of the target; ioplan itself does not fail.
"""

import fcntl
import os
import time
from errno import ECONNABORTED, EIO, ENOTCONN
from pathlib import Path
from random import Random
from threading import Timer

import pytest
from command import ioplan, plan_file

from ioplan import TargetFault
from ioplan.backends import TargetRequest
from ioplan.cli import RUN_FAILED, USAGE
from ioplan.runner.guard import TargetError, make_scratch, open_target
from targets import needs_faulty, served, wait_for

pytestmark = pytest.mark.usefixtures("store_path")

MIB = 1 << 20
MOMENTS = 4
PLAN = """precondition filled { write sequential 64KiB, qd 2, 1 pass }
test "T" {
  after filled
  run random 4KiB, qd 4 for 80ms
  vary read in 100%, 0%
}"""
PURGED = PLAN.replace("{ write", "{\n  purge\n  write")
REASONS = [os.strerror(number) for number in (ENOTCONN, ECONNABORTED, EIO)]


@pytest.fixture
def target(tmp_path):
    with served(tmp_path / "server", plugin=("memory", "8M")) as file:
        yield file


def gone(target):
    """Beyond the second for which the kernel knows its attributes."""
    target.vanish()
    wait_for(lambda: _fails(target.path))


def _fails(path):
    try:
        Path(path).stat()
    except OSError as error:
        return error.errno == ENOTCONN
    return False


def asked(target):
    named = (target.path,)
    return TargetRequest(
        path=target.path, writes=True, overwrite=named, overwrite_data=named
    )


@needs_faulty
@pytest.mark.parametrize("known", [True, False])
def test_what_is_gone_is_closed(known, target):
    opened = open_target(asked(target))
    if not known:
        opened.known = None
    fd = opened.fd
    gone(target)
    with pytest.raises(TargetError, match="is gone") as told:
        opened.check_name()
    assert told.value.kind == TargetFault.REPLACED
    opened.close()
    opened.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


@needs_faulty
def test_what_is_gone_is_no_place_for_a_file(target):
    gone(target)
    with pytest.raises(TargetError, match=REASONS[0]):
        make_scratch(Path(target.path) / "below", MIB, lambda _: None)
    plan = plan_file(Path(target.path).parent, PLAN)
    for words in (("targets", "--map"), ("plan", plan, "--target")):
        done = ioplan(*words, target.path)
        assert done.code == USAGE and REASONS[0] in done.err


def call(words, plan, target):
    consent = ("--overwrite", target.path, "--overwrite-data", target.path)
    return ioplan(words[0], plan, *words[1:], "--target", target.path, *consent)


CALLS = {
    "run": ("run", "--backend", "io_uring"),
    "fio": ("run", "--backend", "fio"),
    "crosscheck": ("crosscheck", "--backends", "io_uring,fio", "--rounds", "2"),
}


@pytest.mark.long
@needs_faulty
@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(pytest.param(name, PLAN, id=f"{name}-filled") for name in ("run", "fio")),
        *(pytest.param(name, PURGED, id=f"{name}-purged") for name in ("run", "fio")),
        pytest.param("crosscheck", PLAN, id="crosscheck"),
    ],
)
def test_a_target_that_vanishes_at_any_moment(name, text, tmp_path):
    draw, plan, words = Random(f"{name} {text}"), plan_file(tmp_path, text), CALLS[name]
    codes, whole_s = [], 0.0
    for number in range(MOMENTS + 1):
        with served(tmp_path / str(number), plugin=("memory", "8M")) as target:
            at_s = whole_s * (number - draw.random()) / MOMENTS if number else 3600
            killer = Timer(at_s, target.vanish)
            killer.start()
            begun_s = time.monotonic()
            done = call(words, plan, target)
            whole_s = whole_s or time.monotonic() - begun_s
            killer.cancel()
            killer.join()
        codes.append(done.code)
        assert "itself failed" not in done.err, done.err
        if done.code in (USAGE, RUN_FAILED):
            assert any(reason in done.err for reason in (*REASONS, "is gone")), done.err
        assert '"running"' not in ioplan("ls", "--format", "jsonl").out
    assert codes[0] not in (USAGE, RUN_FAILED)
    assert {USAGE, RUN_FAILED} & {*codes[1:]}


# right before each call: drawn moments miss what is done in microseconds

OF_OS = """access fstat fstatvfs fsync ftruncate getxattr listxattr lseek lstat open
posix_fallocate pread pwrite readlink stat statvfs"""
ASKED = {os: OF_OS.split(), fcntl: ["fcntl", "flock", "ioctl"]}
REAL_READLINK = os.readlink
EACH = {
    "run": ("run", "--backend", "io_uring"),
    "create": ("run", "--backend", "io_uring", "--create", "8MiB"),
}


class Calls:
    """Counts the calls of this process on a target, which vanishes before one."""

    def __init__(self, target, last):
        self.target, self.last, self.made = target, last, 0

    def count(self, subject):
        if self._is_target(subject):
            self.made += 1
            if self.made == self.last:
                gone(self.target)

    def _is_target(self, subject):
        if self.made >= self.last:
            return False
        if isinstance(subject, int):
            try:
                subject = REAL_READLINK(f"/proc/self/fd/{subject}")
            except OSError:
                return False
        return isinstance(subject, str | os.PathLike) and self.target.path in str(
            subject
        )

    def counted(self, call):
        def counting(*arguments, **options):
            if arguments:
                self.count(arguments[0])
            return call(*arguments, **options)

        return counting


def called(words, plan, folder, last):
    """What it came to."""
    with (
        served(folder, plugin=("memory", "8M")) as target,
        pytest.MonkeyPatch.context() as patch,
    ):
        calls = Calls(target, last)
        for module, names in ASKED.items():
            for name in names:
                patch.setattr(module, name, calls.counted(getattr(module, name)))
        return call(words, plan, target), calls


@pytest.mark.long
@needs_faulty
@pytest.mark.parametrize(
    ("name", "text"), [("run", PURGED), ("create", PLAN)], ids=["run", "create"]
)
def test_a_target_that_vanishes_before_any_call(name, text, tmp_path):
    plan, codes = plan_file(tmp_path, text), []
    while True:
        number = len(codes) + 1
        done, calls = called(EACH[name], plan, tmp_path / str(number), number)
        assert "itself failed" not in done.err, (number, done.err)
        if calls.made < number:
            break
        codes.append(done.code)
        if done.code in (USAGE, RUN_FAILED):
            assert any(reason in done.err for reason in (*REASONS, "is gone")), done.err
    print(codes)
    assert done.code not in (USAGE, RUN_FAILED)
    assert {USAGE, RUN_FAILED} <= {*codes}
