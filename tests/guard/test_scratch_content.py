"""A scratch file is free to write while its content is ioplan's, and not a moment longer.

Each way in which its owner may put something else there, after each way in which a
session on it may have ended: refused, and untouched.
"""

import gzip
import mmap
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from command import ioplan, plan_file, succeed
from killed import kill_at_work, killed_session, wait_for_survivor
from refused import refused
from test_target import request

from ioplan import TargetFault
from ioplan.runner.guard import KILLED, SCRATCH, make_scratch, open_target
from targets import MIB, loop_device, mounted, needs_root, tell

SIZE = 4 * MIB


@pytest.fixture
def scratch(tmp_path):
    path = tmp_path / "scratch.bin"
    make_scratch(path, SIZE, lambda _: None)
    return path


def writing(path, *given_up):
    words = {"overwrite_data": tuple(map(str, given_up))}
    return request(path, True).model_copy(update=words)


def session(path, *given_up):
    """One that writes, and ends in order; why it might."""
    target = open_target(writing(path, *given_up))
    os.pwrite(target.fd, os.urandom(4096), 8192)
    target.close()
    return target.facts.evidence


# how the last session ended


def in_order(path):
    session(path)


def never_begun(path):
    pass


def killed(path):
    killed_session(writing(path))


def killed_with_all_it_started(path):
    killed_session(writing(path), survived=False)


def killed_twice(path):
    killed(path)
    killed(path)


KILLS = (killed, killed_with_all_it_started)
KNOWN = (in_order, never_begun, killed, killed_twice)


# what its owner then keeps in it


def vault():
    return os.urandom(SIZE)


def copied_over(path):
    path.write_bytes(vault())


def copied_with_an_old_time(path):
    """As `cp -p`."""
    path.write_bytes(vault())
    os.utime(path, ns=(10**18, 10**18))


def copied_with_the_time_it_had(path):
    before = path.stat()
    with path.open("r+b") as file:
        file.write(vault())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def one_block(path):
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(3 * MIB)
        file.write(os.urandom(4096))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def by_memory(path):
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[:] = vault()


def luks(path):
    path.write_bytes(b"LUKS\xba\xbe\0\2" + vault()[8:])


def zipped(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("vault", vault()[: 3 * MIB])
    os.truncate(path, SIZE)


def gzipped(path):
    path.write_bytes(gzip.compress(vault(), 1)[:SIZE])


def cut_and_grown(path):
    os.truncate(path, 0)
    os.truncate(path, SIZE)
    with path.open("r+b") as file:
        file.seek(MIB)
        file.write(os.urandom(8192))


def replaced(path):
    """By a file that may get its inode, and has its attributes."""
    other = path.with_name("other")
    shutil.copy2(path, other)
    path.unlink()
    with other.open("r+b") as file:
        file.write(vault())
    other.rename(path)


def removed_and_made(path):
    path.unlink()
    path.write_bytes(vault())


def by_another_name(path):
    other = path.with_name("other")
    other.hardlink_to(path)
    other.write_bytes(vault())
    other.unlink()


def by_a_clone(path):
    other = path.with_name("other")
    other.write_bytes(vault())
    subprocess.run(["cp", "--reflink=auto", "-p", other, path], check=True)


PUTS = (
    *(copied_over, copied_with_an_old_time, copied_with_the_time_it_had, one_block),
    *(by_memory, luks, zipped, gzipped, cut_and_grown, replaced, removed_and_made),
    *(by_another_name, by_a_clone),
)
AFTER_A_KILL = (copied_with_an_old_time, copied_with_the_time_it_had, one_block)
ATTACKS = [
    *((in_order, put) for put in PUTS),
    *((end, put) for end in KILLS for put in AFTER_A_KILL),
    (never_begun, copied_with_the_time_it_had),
]


def check_kept(path):
    """Refused, how often it is tried, and untouched."""
    before = path.read_bytes()
    for _ in range(2):
        with refused(TargetFault.DATA, f"add --overwrite-data {path}"):
            open_target(writing(path))
    assert path.read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "put"),
    [
        pytest.param(
            end,
            put,
            id=f"{end.__name__}-{put.__name__}",
            marks=[pytest.mark.long] * (end in KILLS and put is not one_block),
        )
        for end, put in ATTACKS
    ],
)
@pytest.mark.promise("safety.scratch_content")
def test_what_its_owner_keeps_in_it_is_not_overwritten(end, put, scratch):
    end(scratch)
    put(scratch)
    check_kept(scratch)


@pytest.mark.slow
@pytest.mark.parametrize(
    "end",
    [*KNOWN[:-1], pytest.param(killed_twice, marks=pytest.mark.long)],
    ids=lambda one: one.__name__,
)
@pytest.mark.promise("safety.scratch_content")
def test_untouched_it_is_free(end, scratch):
    end(scratch)
    is_killed = end in (killed, killed_twice)
    assert session(scratch) == (KILLED if is_killed else SCRATCH)
    assert session(scratch) == SCRATCH


@pytest.mark.slow
def test_reading_it_changes_nothing(scratch):
    killed(scratch)
    open_target(request(scratch, False)).close()
    scratch.read_bytes()
    assert session(scratch) == KILLED


@pytest.mark.slow
@pytest.mark.promise("safety.unknown_content")
def test_without_evidence_a_word_is_needed_once(scratch):
    killed_with_all_it_started(scratch)
    with refused(TargetFault.DATA, "what was written to it since is unknown"):
        open_target(writing(scratch))
    assert session(scratch, scratch).startswith("--overwrite-data was given")
    with refused(TargetFault.NO_CONSENT, "did not create"):
        open_target(writing(scratch))


def newest_state():
    states = Path(os.environ["XDG_STATE_HOME"]).glob("ioplan/content/*.json")
    return max(states, key=lambda one: one.stat().st_mtime_ns)


def cut_state(path):
    state = newest_state()
    state.write_bytes(state.read_bytes()[:-200])


def lost_state(path):
    newest_state().unlink()


@pytest.mark.slow
@pytest.mark.parametrize("lose", [cut_state, lost_state], ids=lambda one: one.__name__)
def test_what_is_not_known_is_not_guessed(lose, scratch):
    session(scratch)
    lose(scratch)
    with refused(TargetFault.DATA, "state folder knows nothing"):
        open_target(writing(scratch))


@pytest.mark.slow
def test_nor_by_another_user(scratch, monkeypatch):
    """Who wrote to it since, and comes back, is not believed either."""
    session(scratch)
    with monkeypatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(scratch.with_name("theirs")))
        check_kept(scratch)
        session(scratch, scratch)
    check_kept(scratch)


@pytest.mark.slow
def test_an_old_state_that_comes_back_is_not_believed(scratch):
    state = newest_state()
    old = state.read_bytes()
    session(scratch)
    state.write_bytes(old)
    check_kept(scratch)


@needs_root
@pytest.mark.slow
def test_a_file_system_whose_times_are_whole_seconds(tmp_path):
    """What is written in the second in which a session ends is somebody's, too."""
    image = tmp_path / "image"
    tell("truncate", "--size", "128M", image)
    tell("mkfs.ext4", "-q", "-F", "-I", "128", image)
    path = tmp_path / "mounted" / "scratch.bin"
    with loop_device(image) as device, mounted(device, path.parent):
        make_scratch(path, SIZE, lambda _: None)
        session(path)
        path.touch()  # as a write to a block of which no digest is kept
        with refused(TargetFault.DATA, "another program"):
            open_target(writing(path))


# during a session


@pytest.mark.slow
@pytest.mark.promise("safety.other_writer")
def test_who_writes_during_a_run_owns_what_is_there(scratch):
    target = open_target(writing(scratch))
    target.check_use()
    engine = os.open(scratch, os.O_RDWR)
    target.ignore_openings()
    scratch.write_bytes(vault())
    os.close(engine)
    target.check_use()
    target.close()
    check_kept(scratch)


@pytest.mark.slow
def test_who_reads_during_a_run_does_not(scratch):
    target = open_target(writing(scratch))
    target.check_use()
    engine = os.open(scratch, os.O_RDWR)
    target.ignore_openings()
    for _ in range(3):
        scratch.read_bytes()
    os.close(engine)
    target.check_use()
    target.close()
    assert session(scratch) == SCRATCH


IN_PRECONDITION = """precondition f { write sequential 128KiB, 90000 passes }
test "T" { after f run random 4KiB 100/0 for 1s }"""
WHILE_READING = """test "W" { run random 4KiB 0/100 for 1MiB }
test "R" { run random 4KiB 100/0 for 60s }"""
WHILE_WRITING = 'test "W" { run random 4KiB 0/100 for 60s }'


@pytest.mark.long_but_first
@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "steps"),
    [(IN_PRECONDITION, 1), (WHILE_READING, 2), (WHILE_WRITING, 1)],
    ids=["in its precondition", "while it reads", "while it writes"],
)
@pytest.mark.promise("safety.scratch_content")
def test_a_session_of_the_command_line(text, steps, tmp_path, store_path, scratch):
    words = ("--target", scratch, "--store", store_path, "--json")
    plan = plan_file(tmp_path, text)
    short = plan_file(tmp_path, 'test "S" { run random 4KiB 0/100 for 1MiB }', "s")
    kill_at_work(("run", plan, *words), tmp_path / "out", steps)
    wait_for_survivor(scratch)
    succeed("run", short, *words)
    kill_at_work(("run", plan, *words), tmp_path / "out", steps)
    scratch.write_bytes(content := vault())
    for call in (("run", short, *words), ("resume", "--store", store_path)):
        done = ioplan(*call)
        assert (done.code, "add --overwrite-data" in done.err) == (2, True), done.err
        assert scratch.read_bytes() == content
