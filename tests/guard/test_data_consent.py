"""To what content a consent belongs, and for how long."""

import os
import signal
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import PIPE, Popen

import pytest
from command import ioplan, plan_file, succeed
from killing import Forked
from kinds_of_data import database, put
from refused import refused

from ioplan import TargetFault
from ioplan.backends import TargetRequest
from ioplan.runner.guard import SCRATCH_MARK, make_scratch, open_target
from ioplan.runner.guard.errors import TargetError
from ioplan.runner.guard.pinned import pinned
from targets import MIB, asked, lab_of_file, loop_device, needs_root, sparse, tell

LONG = 'test "Long" { run random 4KiB 0/100 for 60s }'
SHORT = 'test "Short" { run random 4KiB 0/100 for 100ms }'


@pytest.fixture
def file(tmp_path):
    """A file with a database in the middle."""
    path = sparse(tmp_path / "image", 32 * MIB)
    put(path, 0, database(tmp_path))
    return path


def opened(path, *, data=False):
    """By a writing plan, with consent to the file or to its data as well."""
    words = (str(path),)
    return open_target(
        TargetRequest(
            path=str(path),
            writes=True,
            overwrite=words,
            overwrite_data=words if data else (),
        )
    )


@pytest.mark.long
@pytest.mark.promise("safety.consent_of_data")
def test_it_is_kept_for_the_data_that_was_there(file):
    with refused(TargetFault.DATA, "sqlite database at byte 0"):
        opened(file)
    opened(file, data=True).close()
    opened(file).close()
    put(file, 0, b"another database ".ljust(4096, b"-"))
    with refused(TargetFault.DATA, "data of an unknown kind from byte 0 on"):
        opened(file)


@pytest.mark.parametrize("how", ["elsewhere", "longer"])
def test_other_data_needs_another(how, file, tmp_path):
    """Also that in a file of another size; but what ioplan left there may go."""
    target = opened(file, data=True)
    os.pwrite(target.fd, b"a counter that a load generator writes".ljust(MIB, b"."), 0)
    target.close()
    opened(file).close()
    if how == "longer":
        os.truncate(file, 40 * MIB)
    put(file, 31 * MIB, database(tmp_path))
    with refused(TargetFault.DATA, "sqlite database"):
        opened(file)


@pytest.mark.long
@pytest.mark.promise("safety.consent_of_data")
def test_resume_asks_for_what_came_after_a_kill(file, tmp_path, store_path):
    os.truncate(file, 0)
    os.truncate(file, 32 * MIB)
    plan, out = plan_file(tmp_path, LONG), tmp_path / "out"
    forked = Forked(out, "run", plan, "--target", file, "--overwrite", file, "--json")
    while '"progress"' not in out.read_text():
        assert forked.ended(os.WNOHANG) is None, out.read_text()
    os.kill(forked.pid, signal.SIGKILL)
    forked.ended()
    put(file, 0, database(tmp_path))
    before = file.read_bytes()
    short = plan_file(tmp_path, SHORT, "short.ioplan")
    done = ioplan("resume", "last", "--plan", short)
    assert (done.code, "add --overwrite-data" in done.err) == (2, True), done.err
    assert file.read_bytes() == before
    succeed("resume", "last", "--plan", short, "--overwrite-data", file)


@pytest.mark.long
@needs_root
@pytest.mark.promise("safety.consent_of_session")
def test_a_device_is_asked_for_once(tmp_path, store_path):
    disk = tmp_path / "disk.img"
    disk.write_bytes(bytes(32 * MIB))
    plan = plan_file(tmp_path, SHORT)
    with loop_device(disk) as device:
        put(device, 4 * MIB, database(tmp_path) * 100)
        tell("blockdev", "--flushbufs", device)
        words = ("run", plan, "--lab", lab_of_file(tmp_path, disk), "--target", device)
        done = ioplan(*words)
        assert done.code == 2
        assert f"to allow this, add --overwrite-data {disk}" in done.err
        assert ioplan(*words, "--overwrite", disk).code == 2
        succeed(*words, "--overwrite-data", disk)
        assert ioplan(*words).code == 2, "each session names what it writes to"
        assert ioplan(*words, "--overwrite", disk).code == 0


def held_open():
    """The files that this process has open."""
    found = []
    for one in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # that of the listing itself
            found.append(str(one.readlink()))
    return found


@needs_root
@pytest.mark.slow
@pytest.mark.long
def test_an_image_under_a_part_of_it_is_asked_for(tmp_path):
    disk = tmp_path / "disk.img"
    disk.write_bytes(bytes(32 * MIB))
    put(disk, 0, database(tmp_path))
    lab = lab_of_file(tmp_path, disk)
    with loop_device(disk, "--offset", str(16 * MIB)) as device:
        request, words = asked(lab, device), (str(disk),)
        with refused(TargetFault.DATA, f"is a part of {disk}"):
            open_target(request.model_copy(update={"overwrite": words}))
        assert str(disk) not in held_open()
        open_target(request.model_copy(update={"overwrite_data": words})).close()


# names that another user can change, and files that have two of them

NOBODY = 65534
LOOKS = 50
SWAP = """
import os, sys
place, victim = sys.argv[1:]
os.symlink(victim, place + ".link")
os.lchown(place + ".link", 65534, 65534)
print(flush=True)
while True:
    os.rename(place, place + ".kept")
    os.rename(place + ".link", place)
    os.rename(place, place + ".link")
    os.rename(place + ".kept", place)
"""


def writing(path, *overwrite):
    words = tuple(map(str, overwrite))
    return TargetRequest(path=str(path), writes=True, overwrite=words)


@pytest.fixture
def folder(tmp_path):
    """One of another user."""
    path = tmp_path / "theirs"
    path.mkdir()
    os.chown(path, NOBODY, NOBODY)
    return path


@needs_root
@pytest.mark.promise("safety.foreign_link")
def test_a_link_of_another_user_is_not_followed(folder, tmp_path):
    precious = tmp_path / "precious"
    precious.write_bytes(bytes(MIB))
    link = folder / "scratch"
    link.symlink_to(precious)
    open_target(writing(link, precious)).close()
    os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
    with refused(TargetFault.FOREIGN_LINK, f"name the file to write: {precious}"):
        open_target(writing(link, precious))
    open_target(TargetRequest(path=str(link))).close()


@needs_root
@pytest.mark.slow
@pytest.mark.promise("safety.open_device")
def test_a_name_that_changes_all_the_time(folder, tmp_path):
    precious, scratch = tmp_path / "precious", folder / "scratch"
    make_scratch(precious, MIB, lambda _: None)
    make_scratch(scratch, MIB, lambda _: None)
    wanted, found = scratch.stat().st_ino, list[int]()
    with swapping(scratch, precious):
        while len(found) < LOOKS:
            with suppress(OSError, TargetError), pinned(scratch, writes=True) as pin:
                found.append(os.fstat(pin.fd).st_ino)
                assert pin.path == scratch
    assert set(found) == {wanted}


@needs_root
@pytest.mark.promise("safety.open_device")
def test_a_folder_that_becomes_a_link_once_it_was_looked_at(
    folder, tmp_path, monkeypatch
):
    """What is judged is what is opened, not what has the name a moment later."""
    real, theirs = tmp_path / "real", folder / "sub"
    for place in (real, theirs):
        place.mkdir()
        (place / "data").write_bytes(bytes(MIB))
    wanted, look = (theirs / "data").stat().st_ino, os.fstat

    def exchanged(fd):
        found = look(fd)
        if theirs.exists() and found.st_ino == theirs.lstat().st_ino:
            theirs.rename(folder / "kept")
            theirs.symlink_to(real)
            os.chown(theirs, NOBODY, NOBODY, follow_symlinks=False)
        return found

    with monkeypatch.context() as patch:
        patch.setattr("ioplan.runner.guard.pinned.os.fstat", exchanged)
        with pinned(theirs / "data", writes=True) as pin:
            assert look(pin.fd).st_ino == wanted
    with refused(TargetFault.FOREIGN_LINK, f"{theirs} is a link of another user"):
        open_target(writing(theirs / "data", real / "data"))


@contextmanager
def swapping(place, victim):
    words = [sys.executable, "-c", SWAP, place, victim]
    with Popen(words, stdout=PIPE) as program:
        assert program.stdout
        program.stdout.readline()
        try:
            yield
        finally:
            program.kill()


def test_links_in_a_circle_lead_nowhere(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.symlink_to(other)
    other.symlink_to(one)
    with pytest.raises(TargetError, match="Too many levels of symbolic links"):
        open_target(writing(one))
    (tmp_path / "file").write_bytes(bytes(MIB))
    with refused(TargetFault.NO_CONSENT, "did not create"):
        open_target(writing(tmp_path / "file", one))


@pytest.mark.promise("safety.scratch_content")
def test_a_mark_alone_is_not_believed(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(os.urandom(MIB))
    os.setxattr(path, SCRATCH_MARK, b"made")
    with refused(TargetFault.DATA, "knows nothing"):
        open_target(writing(path))


class Overlay:
    """A mount with a file in it, by both of its paths."""

    def __init__(self, folder):
        for name in ("lower", "upper", "work", "merged"):
            (folder / name).mkdir()
        self.where = folder / "merged"
        parts = (f"{name}dir={folder}/{name}" for name in ("lower", "upper", "work"))
        tell("mount", "-t", "overlay", "x", "-o", ",".join(parts), self.where)
        self.merged, self.upper = self.where / "file", folder / "upper/file"
        self.merged.write_bytes(bytes(MIB))


@pytest.fixture
def overlay(tmp_path):
    made = Overlay(tmp_path)
    yield made
    tell("umount", "-l", made.where)


@pytest.mark.long_but_first
@needs_root
@pytest.mark.slow
@pytest.mark.parametrize("turned", [False, True])
def test_a_file_of_an_overlay_has_two_paths(overlay, turned):
    target, other = overlay.upper, overlay.merged
    if turned:
        target, other = other, target
    code = "import sys; f = open(sys.argv[1], 'r+b'); print(flush=True); input()"
    with Popen([sys.executable, "-c", code, other], stdin=PIPE, stdout=PIPE) as held:
        assert held.stdout and held.stdin
        held.stdout.readline()
        with refused(TargetFault.OPEN_ELSEWHERE, f"for writing as {other} by"):
            open_target(writing(target, target))
        held.stdin.close()
    with loop_device(other), refused(TargetFault.UNDER_LOOP, "loop device"):
        open_target(writing(target, target))
    open_target(writing(target, target)).close()
    assert not any(target.read_bytes())
    put(target, 0, b"x")
