"""The mark of a scratch file: what another program puts there is not overwritten."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import paths
import pytest
from labs import MIB, tell
from refused import refused
from test_same_target import ATTRIBUTES, without_attributes
from test_target import request

from ioplan.core.error_kinds import TargetFault
from ioplan.runner.guard.scratch_file import MARK, OLD, OPEN
from ioplan.runner.guard.target import Target, make_scratch, open_target


@pytest.fixture(params=["attribute", "file beside", "musl's Python"])
def scratch(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Path:
    if request.param == "file beside":
        without_attributes(monkeypatch)
    elif request.param == "musl's Python":
        for name in ATTRIBUTES:
            monkeypatch.delattr(os, name)
    path = tmp_path / "scratch.bin"
    make_scratch(path, 4 * MIB, lambda _: None)
    return path


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    path = tmp_path / "precious"
    path.write_bytes(os.urandom(4 * MIB))
    return path


def opened(path: Path, *given_up: Path, writes: bool = True) -> Target:
    words = {"overwrite_data": tuple(map(str, given_up))}
    return open_target(request(path, writes).model_copy(update=words))


def session(path: Path, *given_up: Path) -> None:
    """One that writes, and ends in order."""
    target = opened(path, *given_up)
    os.pwrite(target.fd, os.urandom(4096), 8192)
    target.close()


def test_session_after_session_needs_no_word(scratch: Path) -> None:
    for _ in range(3):
        session(scratch)


def test_reading_it_changes_no_mark(scratch: Path) -> None:
    session(scratch)
    opened(scratch, writes=False).close()
    session(scratch)


def test_content_of_another_program_is_kept(scratch: Path, precious: Path) -> None:
    session(scratch)
    shutil.copyfile(precious, scratch)
    with refused(TargetFault.DATA, "another program has written to"):
        opened(scratch)
    opened(scratch, writes=False).close()
    with refused(TargetFault.DATA, f"add --overwrite-data {scratch}"):
        opened(scratch)
    assert scratch.read_bytes() == precious.read_bytes()


def test_before_the_first_session_too(scratch: Path, precious: Path) -> None:
    shutil.copyfile(precious, scratch)
    with refused(TargetFault.DATA, "another program has written to"):
        opened(scratch)


def test_a_word_is_for_one_session(scratch: Path, precious: Path) -> None:
    session(scratch)
    shutil.copyfile(precious, scratch)
    session(scratch, scratch)
    with refused(TargetFault.NO_CONSENT, "did not create"):
        opened(scratch)


@pytest.mark.slow
@pytest.mark.long
def test_a_session_that_was_killed_leaves_a_file_of_ioplans(scratch: Path) -> None:
    """What it has written since is its own, and so is what the next one writes."""
    session(scratch)
    session_killed(scratch)
    for _ in range(2):
        session(scratch)


def session_killed(path: Path) -> None:
    code = (
        "import os, signal; from ioplan.backends import TargetRequest;"
        "from ioplan.runner.guard.target import open_target;"
        "from pytest import MonkeyPatch; patch = MonkeyPatch();"
        f"{without(path)}"
        f"t = open_target(TargetRequest(path={str(path)!r}, writes=True));"
        "os.pwrite(t.fd, bytes(8192), 0); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=paths.TESTS / "guard",
        env=os.environ | {"PYTHONPATH": str(paths.SUPPORT)},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL


def without(path: Path) -> str:
    """The process must see as many attributes as the test does."""
    beside = path.with_name(f".{path.name}.ioplan-scratch").exists()
    hide = "from test_same_target import without_attributes; without_attributes(patch);"
    return hide if beside else ""


@pytest.mark.slow
@pytest.mark.long
def test_a_file_system_is_kept_even_after_a_kill(scratch: Path) -> None:
    if not shutil.which("mkfs.ext4"):
        pytest.skip("LEFT OUT: mkfs.ext4 is not installed")
    session_killed(scratch)
    tell("mkfs.ext4", "-q", "-L", "photos", scratch)
    with refused(
        TargetFault.DATA, r"now contains data; .*ext4 at byte 0 \(label photos"
    ):
        opened(scratch)


@pytest.mark.slow
@pytest.mark.long
def test_an_archive_is_kept_even_after_a_kill(scratch: Path, precious: Path) -> None:
    """What is compressed or encrypted looks like what ioplan writes, but for its size."""
    session_killed(scratch)
    with precious.open("ab") as file:
        file.write(os.urandom(999))
    shutil.copyfile(precious, scratch)
    with refused(TargetFault.DATA, "another program has written to"):
        opened(scratch)


@pytest.mark.slow
def test_a_mark_of_an_older_version_is_believed(tmp_path: Path) -> None:
    path = tmp_path / "s.bin"
    make_scratch(path, MIB, lambda _: None)
    os.setxattr(path, MARK, OLD.encode())
    session(path)
    assert os.getxattr(path, MARK).startswith(b"left ")


def test_while_a_session_writes_the_mark_says_so(tmp_path: Path) -> None:
    path = tmp_path / "s.bin"
    make_scratch(path, MIB, lambda _: None)
    target = opened(path)
    assert os.getxattr(path, MARK) == f"{OPEN} {MIB}".encode()
    target.close()
    assert os.getxattr(path, MARK).startswith(b"left ")
