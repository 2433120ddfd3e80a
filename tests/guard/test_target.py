"""Targets: nothing is written but what ioplan made, or was told to overwrite."""

import errno
import fcntl
import os
import pty
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from command import ioplan, plan_file, program, refuse, succeed
from kinds_of_data import put
from refused import refused
from sight import WORDS

from ioplan import TargetFault
from ioplan.backends import TargetRequest
from ioplan.results.store import Store
from ioplan.runner.devices.open_files import Opener
from ioplan.runner.guard import SCRATCH_MARK, make_scratch, open_target
from ioplan.runner.guard.guard import UseWatch
from ioplan.runner.guard.shared_lock import (
    NO_PARTICIPANTS,
    Participants,
    lock,
    share_lock,
    unrelated_openers,
)
from targets import (
    MIB,
    asked,
    lab_of_file,
    loop_device,
    mounted,
    needs_root,
    put_over,
    tell,
)

pytestmark = pytest.mark.usefixtures("store_path")

WRITES = 'test "W" { run sequential 64KiB 0/100, region 0%..10%, 1 pass }'
"""By amount: on a busy machine some 50 ms have no I/O."""
READS = 'test "R" { run random 4KiB 100/0 for 1MiB }'


def request(path, writes=True, *overwrite):
    return TargetRequest(
        path=str(path), writes=writes, overwrite=tuple(map(str, overwrite))
    )


@pytest.fixture
def scratch(tmp_path):
    path = tmp_path / "scratch.bin"
    make_scratch(path, 4 * MIB, lambda _: None)
    return path


@pytest.fixture
def foreign(tmp_path):
    path = tmp_path / "thesis.img"
    path.write_bytes(os.urandom(MIB))
    return path


def test_a_scratch_file_is_written_random_and_marked(scratch):
    data = scratch.read_bytes()
    assert len(data) == 4 * MIB and os.getxattr(scratch, SCRATCH_MARK)
    blocks = {data[i : i + 4096] for i in range(0, len(data), MIB)}
    assert len(blocks) == 4 and scratch.stat().st_blocks * 512 >= 4 * MIB
    target = open_target(request(scratch))
    assert (target.facts.kind, target.facts.capacity_bytes) == ("file", 4 * MIB)
    target.close()


def test_a_scratch_file_that_cannot_be_finished_is_removed(tmp_path):
    def full(_):
        raise OSError(28, "No space left on device")

    with refused(TargetFault.NOT_CREATED, "No space left"):
        make_scratch(tmp_path / "s.bin", 4 * MIB, full)
    assert list(tmp_path.iterdir()) == []


def test_making_never_replaces_a_file(foreign):
    before = foreign.read_bytes()
    with refused(TargetFault.NOT_CREATED, "File exists"):
        make_scratch(foreign, MIB, lambda _: None)
    assert foreign.read_bytes() == before


@pytest.mark.promise("safety.file")
def test_a_foreign_file_is_refused_and_named_it_is_not(foreign):
    with refused(TargetFault.DATA, f"add --overwrite-data {foreign}"):
        open_target(request(foreign))
    for name in ("other", foreign.name):  # the name alone does not give up its data
        with refused(TargetFault.DATA, "did not create"):
            open_target(request(foreign, True, foreign.with_name(name)))
    given_up = {"overwrite_data": (str(foreign),)}
    target = open_target(request(foreign).model_copy(update=given_up))
    assert target.facts.evidence == "--overwrite-data was given for it"
    target.close()
    with refused(TargetFault.NO_CONSENT, f"add --overwrite {foreign}"):
        open_target(request(foreign))
    target = open_target(request(foreign, True, foreign))
    assert target.facts.evidence == "its content is what ioplan left there"
    target.close()
    open_target(request(foreign, False)).close()


@pytest.mark.promise("safety.file")
def test_a_copy_of_a_scratch_file_is_foreign_again(scratch):
    copy = scratch.with_name("copy.bin")
    copy.write_bytes(scratch.read_bytes())
    with refused(TargetFault.DATA, "did not create"):
        open_target(request(copy))


def test_a_link_does_not_lend_its_mark(scratch, foreign):
    link = scratch.with_name("link")
    link.symlink_to(foreign)
    with refused(TargetFault.DATA, r"thesis\.img"):
        open_target(request(link))


USES = """
import sys, time
from ioplan.backends import TargetRequest
from ioplan.runner.guard.target import open_target
target = open_target(TargetRequest.model_validate_json(sys.argv[1]))
print("open", flush=True)
while True:
    target.watch.check()
    time.sleep(0.01)
"""


@pytest.mark.slow
def test_who_waits_for_a_target_does_not_end_the_session_on_it(scratch):
    words = [sys.executable, "-c", USES, request(scratch).model_dump_json()]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as first:
        try:
            assert first.stdout and first.stdout.readline() == b"open\n"
            with refused(TargetFault.LOCKED, "another ioplan uses"):
                open_target(request(scratch))
            assert first.poll() is None
        finally:
            first.kill()
    open_target(request(scratch)).close()  # the lock ends with the process


@pytest.mark.parametrize(
    ("leads", "together", "is_shared"),
    [(False, "", False), (True, "", False), (True, "s", False), (False, "s", True)],
)
def test_only_who_follows_shares_the_lock(scratch, leads, together, is_shared):
    """Until the host that leads has checked the target."""
    wanted = TargetRequest(path=str(scratch), leads=leads, together=together)
    with scratch.open("rb") as mine, scratch.open("rb") as other:

        def is_free():
            try:
                fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            fcntl.flock(other, fcntl.LOCK_UN)
            return True

        lock(scratch, mine.fileno(), wanted)
        assert is_free() is is_shared
        share_lock(scratch, mine.fileno(), wanted)
        assert is_free() is bool(together)


@pytest.mark.parametrize(
    ("error", "is_gone"), [(errno.ENODEV, True), (errno.EACCES, False)]
)
def test_only_what_is_gone_is_left_to_the_io(scratch, error, is_gone, monkeypatch):
    def uses(_):
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(UseWatch, "_uses", uses)
    with scratch.open() as file:
        watch = UseWatch(scratch, file.fileno(), None, NO_PARTICIPANTS)
        if is_gone:
            watch.check()
            return
        with pytest.raises(PermissionError):
            watch.check()


TEXT = b"a letter that nobody else has\n" * 3000


@pytest.mark.parametrize("is_asked", [True, False])
@pytest.mark.parametrize("cut", [True, False])
@pytest.mark.promise("safety.other_writer")
def test_a_file_of_another_size_has_another_writer(scratch, cut, is_asked):
    """Whether or not anybody asks before the session ends: it is not ioplan's then."""
    target = open_target(request(scratch))
    if cut:
        os.truncate(scratch, 4096)
    else:
        with scratch.open("ab") as file:
            file.write(TEXT)
    if is_asked:
        with refused(TargetFault.OPEN_ELSEWHERE, r"was 4MiB, and is .* now"):
            target.check_use()
    target.close()
    if not cut:
        with refused(TargetFault.DATA, "that another program has written to"):
            open_target(request(scratch))
        assert scratch.read_bytes().endswith(TEXT)


@pytest.mark.slow
def test_a_participant_is_known_by_its_program_and_its_session():
    """Whoever else has the target open is none, and no session of one host has any."""
    code = "print('ready', flush=True); input()"
    words = (sys.executable, "-c", code, "a.program", "session-1")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(words, **pipes) as process:
        assert process.stdout and process.stdout.readline() == b"ready\n"
        opener = Opener(process.pid, "python")
        session = Participants("a.program", "session-1")
        assert unrelated_openers([opener], session) == []
        others = ("a.program", "session-2"), ("program", "session-1"), ("", "")
        for other in (*others, ("a.program", ""), ("", "session-1")):
            assert unrelated_openers([opener], Participants(*other)) == [opener]
        process.communicate(b"\n")
    assert unrelated_openers([opener], session) == [opener]  # it has ended


@pytest.mark.slow
@pytest.mark.promise("safety.reading")
def test_a_reading_plan_cannot_change_a_foreign_file(foreign, tmp_path):
    before = foreign.read_bytes()
    succeed("run", plan_file(tmp_path, READS), "--target", foreign)
    denied = ioplan("run", plan_file(tmp_path, WRITES), "--target", foreign, "--json")
    assert denied.code == 2 and "did not create" in denied.err
    assert [line["kind"] for line in denied.of("error")] == ["data"]
    assert foreign.read_bytes() == before
    words = ("--target", foreign, "--overwrite-data", foreign)
    consented = ioplan("run", plan_file(tmp_path, WRITES), *words)
    assert consented.code == 0 and foreign.read_bytes() != before


@needs_root
class TestLoopDevice:
    """A real block device on a file."""

    @pytest.fixture
    def backing(self, tmp_path):
        path = tmp_path / "backing"
        path.write_bytes(bytes(16 * MIB))
        return path

    @pytest.fixture
    def loop(self, backing):
        with loop_device(backing) as device:
            yield device

    @pytest.fixture
    def lab(self, backing, tmp_path):
        return lab_of_file(tmp_path, backing)

    @pytest.mark.promise("safety.reading")
    def test_reading_is_allowed_writing_is_not(self, loop, backing):
        target = open_target(request(loop, False))
        assert (target.facts.kind, target.facts.capacity_bytes) == ("block", 16 * MIB)
        assert target.facts.identity == {"backing_file": str(backing)}
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.pwrite(target.fd, b"x", 0)
        target.close()
        with refused(TargetFault.NO_ENTRY, "the lab does not name"):
            open_target(request(loop, True, backing))

    @pytest.mark.promise("safety.block_device")
    def test_told_to_it_is_written(self, loop, lab, backing, tmp_path):
        path = plan_file(tmp_path, WRITES)
        words = ("run", path, "--lab", lab, "--overwrite", backing, "--target")
        for name in ("fast", loop):
            put(backing, 0, bytes(16 * MIB))
            succeed(*words, name)
            assert any(backing.read_bytes())

    @pytest.mark.promise("safety.held")
    def test_while_it_is_held_nobody_mounts_it(self, loop, lab, backing, tmp_path):
        target = open_target(asked(lab, "fast", backing))
        try:
            subprocess.run(["mkfs.ext4", "-q", "-F", str(backing)], check=True)
            done = program("mount", str(loop), str(tmp_path))
            assert done.returncode != 0 and "already mounted or" in done.stderr
        finally:
            target.close()

    @pytest.mark.promise("plans.no_io")
    def test_a_plan_is_shown_without_any_io(self, loop, tmp_path):
        """Other programs may look at a new device meanwhile, and not each time."""
        counters = Path("/sys/block", loop.name, "stat")
        plan = plan_file(tmp_path, WRITES)
        for _ in range(5):
            before = counters.read_text()
            assert ioplan("plan", plan, "--target", loop).code == 0
            if counters.read_text() == before:
                return
        pytest.fail(f"it did I/O: {counters.read_text()}")

    def test_a_mounted_device_may_be_read(self, loop, tmp_path):
        tell("mkfs.ext4", "-q", loop)
        with mounted(loop, tmp_path / "mnt"):
            open_target(request(loop, False)).close()

    def test_a_lab_name_that_means_another_device_is_not_read(
        self, loop, lab, tmp_path
    ):
        asked_before = asked(lab, "fast").model_copy(update={"writes": False})
        other = tmp_path / "other"
        other.write_bytes(bytes(MIB))
        put_over(loop, other)
        with refused(
            TargetFault.IDENTITY_MISMATCH, "not the device that the lab names"
        ):
            open_target(asked_before)

    def test_crosscheck_takes_a_name_of_the_lab(self, loop, lab, backing, tmp_path):
        plan = plan_file(tmp_path, WRITES)
        words = ("--backends", "io_uring,sim", "--rounds", "2", "--lab", lab)
        target = ("--target", "fast", "--create", "16MiB")
        refuse(f"--overwrite {backing}", "crosscheck", plan, *words, *target)


@pytest.mark.slow
def test_a_person_may_type_the_word(foreign, tmp_path, store_path):
    """At a real terminal; anything else than the whole name refuses."""
    plan = plan_file(tmp_path, WRITES)
    command = [sys.executable, "-m", "ioplan.cli", "run", str(plan), "--quiet", *WORDS]
    before = foreign.read_bytes()
    assert at_terminal([*command, "--target", str(foreign)], "yes") == 2
    assert foreign.read_bytes() == before
    words = f"destroy the data on {foreign}"
    assert at_terminal([*command, "--target", str(foreign)], str(foreign)) == 2
    assert at_terminal([*command, "--target", str(foreign)], words) == 0
    assert foreign.read_bytes() != before
    with Store.open(store_path) as store:
        assert store.session("last").request.overwrite == (str(foreign),)


def at_terminal(command, answer):
    """Type an answer when the question has come; returns the exit code."""
    ours, theirs = pty.openpty()
    try:
        with subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs
        ) as one:
            shown = ""
            while " now: " not in shown:
                shown += os.read(ours, 4096).decode()
            os.write(ours, f"{answer}\n".encode())
            return one.wait(60)
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_file_of_less_than_a_block_is_named_so(tmp_path):
    path = tmp_path / "f"
    request = TargetRequest(path=str(path), folder=str(tmp_path / "s"), writes=True)
    for size, word in product((0, 100), ("overwrite", "overwrite_data")):
        path.write_bytes(bytes(size))
        with refused(TargetFault.BELOW_BLOCK, "is smaller than a block"):
            open_target(request.model_copy(update={word: (str(path),)}))


@pytest.mark.parametrize("part", ["", "-reserve"])
def test_results_are_never_a_target(part, tmp_path):
    """Whatever the user permits: of this store, and of another one."""
    for name in ("own.db", "other.db"):
        with Store.open(tmp_path / name) as store:
            assert store.ids() == []
        with Path(tmp_path, f"{name}{part}").open("ab") as file:
            file.truncate(8 * MIB)
        path = tmp_path / f"{name}{part}"
        before = path.read_bytes()
        plan = plan_file(tmp_path, 'test "T" { run random 4KiB 0/100 for 1s }')
        words = ("--overwrite", path, "--overwrite-data", path)
        done = ioplan(
            "run", plan, "--target", path, *words, "--store", tmp_path / "own.db"
        )
        assert (done.code, path.read_bytes() == before) == (2, True), done.err
        assert f"{path} is a store of ioplan's results, or a part of one" in done.err
