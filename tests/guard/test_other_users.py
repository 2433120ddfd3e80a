"""Names that another user can change, and files that have two of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import PIPE, Popen

import pytest
from kinds_of_data import put
from refused import refused

from ioplan import TargetFault
from ioplan.backends import TargetRequest
from ioplan.runner.guard import SCRATCH_MARK, make_scratch, open_target
from ioplan.runner.guard.errors import TargetError
from ioplan.runner.guard.pinned import pinned
from targets import MIB, loop_device, needs_root, tell

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


def asked(path: Path, *overwrite: Path) -> TargetRequest:
    words = tuple(map(str, overwrite))
    return TargetRequest(path=str(path), writes=True, overwrite=words)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One of another user."""
    path = tmp_path / "theirs"
    path.mkdir()
    os.chown(path, NOBODY, NOBODY)
    return path


@needs_root
@pytest.mark.promise("safety.foreign_link")
def test_a_link_of_another_user_is_not_followed(folder: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(bytes(MIB))
    link = folder / "scratch"
    link.symlink_to(precious)
    open_target(asked(link, precious)).close()
    os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
    with refused(TargetFault.FOREIGN_LINK, f"name the file to write: {precious}"):
        open_target(asked(link, precious))
    open_target(TargetRequest(path=str(link))).close()


@needs_root
@pytest.mark.slow
@pytest.mark.promise("safety.open_device")
def test_a_name_that_changes_all_the_time(folder: Path, tmp_path: Path) -> None:
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
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is judged is what is opened, not what has the name a moment later."""
    real, theirs = tmp_path / "real", folder / "sub"
    for place in (real, theirs):
        place.mkdir()
        (place / "data").write_bytes(bytes(MIB))
    wanted, look = (theirs / "data").stat().st_ino, os.fstat

    def exchanged(fd: int) -> os.stat_result:
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
        open_target(asked(theirs / "data", real / "data"))


@contextmanager
def swapping(place: Path, victim: Path) -> Iterator[None]:
    words = [sys.executable, "-c", SWAP, place, victim]
    with Popen(words, stdout=PIPE) as program:
        assert program.stdout
        program.stdout.readline()
        try:
            yield
        finally:
            program.kill()


def test_links_in_a_circle_lead_nowhere(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.symlink_to(other)
    other.symlink_to(one)
    with pytest.raises(TargetError, match="Too many levels of symbolic links"):
        open_target(asked(one))
    (tmp_path / "file").write_bytes(bytes(MIB))
    with refused(TargetFault.NO_CONSENT, "did not create"):
        open_target(asked(tmp_path / "file", one))


@pytest.mark.promise("safety.scratch_content")
def test_a_mark_alone_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(MIB))
    os.setxattr(path, SCRATCH_MARK, b"made")
    with refused(TargetFault.DATA, "knows nothing"):
        open_target(asked(path))


class Overlay:
    """A mount with a file in it, by both of its paths."""

    def __init__(self, folder: Path) -> None:
        for name in ("lower", "upper", "work", "merged"):
            (folder / name).mkdir()
        self.where = folder / "merged"
        parts = (f"{name}dir={folder}/{name}" for name in ("lower", "upper", "work"))
        tell("mount", "-t", "overlay", "x", "-o", ",".join(parts), self.where)
        self.merged, self.upper = self.where / "file", folder / "upper/file"
        self.merged.write_bytes(bytes(MIB))


@pytest.fixture
def overlay(tmp_path: Path) -> Iterator[Overlay]:
    made = Overlay(tmp_path)
    yield made
    tell("umount", "-l", made.where)


@pytest.mark.long_but_first
@needs_root
@pytest.mark.slow
@pytest.mark.parametrize("turned", [False, True])
def test_a_file_of_an_overlay_has_two_paths(overlay: Overlay, turned: bool) -> None:
    target, other = overlay.upper, overlay.merged
    if turned:
        target, other = other, target
    code = "import sys; f = open(sys.argv[1], 'r+b'); print(flush=True); input()"
    with Popen([sys.executable, "-c", code, other], stdin=PIPE, stdout=PIPE) as held:
        assert held.stdout and held.stdin
        held.stdout.readline()
        with refused(TargetFault.OPEN_ELSEWHERE, f"for writing as {other} by"):
            open_target(asked(target, target))
        held.stdin.close()
    with loop_device(other), refused(TargetFault.UNDER_LOOP, "loop device"):
        open_target(asked(target, target))
    open_target(asked(target, target)).close()
    assert not any(target.read_bytes())
    put(target, 0, b"x")
